"""What a seat cannot see changes no decision of any player, with the real network, through the real table."""

from dataclasses import replace

import numpy as np
import pytest

from games.conformance import Decide, check_no_leak
from games.game import Game
from games.hearts.game import HeartsGame
from games.rng import mix
from learner.config import EngineConfig, ModelConfig
from learner.model.checkpoint import save_weights
from learner.model.network import PolicyValueNet, architecture, initialise
from search.config import GoMctsConfig, SearchConfig
from search.players.player import Player, Turns
from search.players.random_player import RandomPlayer
from search.players.registry import make_players
from search.table import play_table

NAMES = ("random", "hearts_rules", "argmax_val", "imitation", "go_mcts")


class DecidedError(Exception):
    """Ends a table after its first decisions."""


class FirstDecision:
    """Another player's first decisions at a table, with given seeds (a table's own follow from the seat's number, which
    differs between worlds that look alike); then the table ends."""

    def __init__(self, player: Player, seeds: np.ndarray) -> None:
        self.name, self.sees_hidden = player.name, player.sees_hidden
        self.actions = np.empty(0, np.int64)
        self._player, self._seeds = player, seeds

    def start(self, game: Game, num_games: int) -> None:
        self._player.start(game, num_games)

    def act(self, turns: Turns) -> np.ndarray:
        self.actions = self._player.act(replace(turns, seeds=self._seeds))
        raise DecidedError


class Dealt(HeartsGame):
    """Hearts in which every table goes on from given states."""

    def __init__(self, states: np.ndarray) -> None:
        super().__init__()
        self._states = states

    def deal(self, seeds: np.ndarray) -> np.ndarray:
        return self._states.copy()


class PeeksLeft(RandomPlayer):
    """Looks at the hand on its left to choose among its legal actions."""

    sees_hidden = True

    def act(self, turns: Turns) -> np.ndarray:
        assert turns.hidden is not None
        left = turns.hidden["hands"][np.arange(len(turns.seat)), (turns.seat + 1) % 4]
        return super().act(replace(turns, seeds=mix(left.view(np.uint64), 1)))


def decisions_of(player: Player) -> Decide:
    """What ``player`` does at a table that stands at the given states."""

    def decide(states: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        first = FirstDecision(player, seeds)
        with pytest.raises(DecidedError):
            play_table(Dealt(states), [first], np.zeros((len(states), 4), int), seeds)
        return first.actions

    return decide


@pytest.fixture(scope="module")
def players(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Player]:
    """Every kind of player; the network is untrained, with weights so large that all it sees makes a difference."""
    game = HeartsGame()
    net = PolicyValueNet(architecture(game, ModelConfig(n_layer=1, n_head=2, n_embd=16, initializer_range=0.5)))
    initialise(net, 1)
    path = tmp_path_factory.mktemp("networks") / "tiny"
    save_weights(path, net, game)
    search = SearchConfig(go_mcts=GoMctsConfig(num_runs=6))
    made = make_players(NAMES, game, search, str(path), EngineConfig(device="cpu"))
    return dict(zip(NAMES, made, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_what_a_seat_cannot_see_changes_no_decision(players: dict[str, Player], name: str) -> None:
    assert not players[name].sees_hidden
    check_no_leak(HeartsGame(), num_deals=3, seed=5, players=[decisions_of(players[name])])


def test_a_player_that_looks_at_a_foreign_hand_is_found_out() -> None:
    with pytest.raises(AssertionError, match="player 0 decides by what it cannot see"):
        check_no_leak(HeartsGame(), num_deals=3, seed=5, players=[decisions_of(PeeksLeft())])
