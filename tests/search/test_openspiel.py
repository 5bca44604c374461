"""OpenSpiel's bots at our tables, and our players as bots of OpenSpiel's."""

import random
import subprocess
import sys

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms.evaluate_bots import evaluate_bots

from games.game import Game
from games.openspiel_counterpart import counterpart
from games.registry import make_game
from games.rng import derive_many
from learner.config import EngineConfig
from search.config import SearchConfig
from search.openspiel_bot import KibitzBot
from search.players.player import Player
from search.players.table import answers, play_table, turns_at
from search.roster.registry import make_players
from tests.search.material import sure
from tests.search.turns import Recorder

HEARTS = make_game("hearts")
LEDUC = make_game("openspiel:leduc_poker")


def players_of(game: Game, *names: str, checkpoint: str = "") -> list[Player]:
    return make_players(names, game, SearchConfig(), checkpoint, EngineConfig(device="cpu"))


# ---- our players as bots


def test_a_deal_of_hearts_goes_in_openspiel_as_at_our_tables(tmp_path) -> None:
    network = sure(HEARTS, tmp_path / "tiny")
    names = ("hearts_rules", "argmax_val", "hearts_rules", "argmax_val")
    seeds = derive_many(1, 6)
    at_our_table = play_table(
        HEARTS, players_of(HEARTS, *names, checkpoint=network), [[0, 1, 2, 3]] * 6, seeds, secret=1
    )
    bots = [KibitzBot(HEARTS, player, seed=1) for player in players_of(HEARTS, *names, checkpoint=network)]
    dealt = counterpart(HEARTS).to_spiel(HEARTS.deal(seeds))
    assert {state.history()[0] for state in dealt} == {0, 1, 2, 3}, "every pass direction is played"
    returns = [evaluate_bots(state, bots, np.random.RandomState(0)) for state in dealt]
    np.testing.assert_array_equal(26 - np.array(returns), at_our_table.points)


@pytest.mark.parametrize(("game", "deals"), [(LEDUC, 20), (HEARTS, 4)], ids=["leduc_poker", "hearts"])
def test_a_bot_decides_as_its_player_does_where_its_seat_has_seen_the_same(tmp_path, game, deals) -> None:
    network, rng = sure(game, tmp_path / "tiny"), random.Random(2)
    player, twin = players_of(game, "argmax_val", "argmax_val", checkpoint=network)
    pair, bot, decided, number = counterpart(game), KibitzBot(game, player, seed=1), 0, np.zeros(1, np.int64)
    for _ in range(deals):
        state = pair.spiel.new_initial_state()
        twin.start(game, 1)
        while not state.is_terminal():
            action = rng.choice(state.legal_actions())
            if not state.is_chance_node():
                states = pair.replay([state.history()])
                turns = turns_at(game, states, number, game.to_move(states).astype(np.int64), number, secret=0)
                assert bot.step(state) == answers(twin, turns, number, states)[0] - pair.first_action
                decided += 1
            state.apply_action(action)
    assert decided > 2 * deals


def test_a_player_that_is_a_bot_is_not_told_hidden_cards() -> None:
    recorder, pair = Recorder(), counterpart(LEDUC)
    bot = KibitzBot(LEDUC, recorder, seed=1)
    for own in range(6):
        for other in (card for card in range(6) if card != own):
            state = pair.spiel.new_initial_state()
            for action in (own, other):
                state.apply_action(action)
            bot.step(state)
    seen = [tuple(turns.tokens[0, : turns.lengths[0]].tolist()) for turns in recorder.seen]
    assert len(seen) == 30 and len(set(seen)) == 6
    assert seen[0] == tuple(LEDUC.vocabulary.names.index(name) for name in ("seat 0", "chance 0", "turn"))


PLAY = {
    "Python": lambda state, bots: evaluate_bots(state, bots, np.random.RandomState(0)),
    "C++": lambda state, bots: list(pyspiel.evaluate_bots(state, bots, 0)),
}


@pytest.mark.parametrize("play", PLAY.values(), ids=PLAY.keys())
def test_random_numbers_follow_from_the_bots_seed_and_the_number_of_its_deal(play) -> None:
    (start,) = counterpart(HEARTS).to_spiel(HEARTS.deal(derive_many(3, 1)))

    def played(seed: int, deals: int) -> list[list[float]]:
        bots = [KibitzBot(HEARTS, player, seed) for player in players_of(HEARTS, *["random"] * 4)]
        return [play(start.clone(), bots) for _ in range(deals)]

    first = played(1, 3)
    assert first == played(1, 3)
    assert first[0] != first[1] and first[0] != played(2, 1)[0]


def test_a_bot_refuses_the_state_of_another_game() -> None:
    bot = KibitzBot(HEARTS, players_of(HEARTS, "random")[0], seed=1)
    other = pyspiel.load_game("hearts(jd_bonus=True)").new_initial_state()
    with pytest.raises(ValueError, match=r"this bot plays hearts.*, not hearts\(jd_bonus=True\); make it with"):
        bot.step(other)


# ---- OpenSpiel's bots as players


JACK, QUEEN, KING = range(3)
PASS, BET = range(2)


@pytest.mark.parametrize(
    ("own", "before", "best"),
    [(JACK, [BET], PASS), (KING, [BET], BET), (KING, [PASS], BET), (JACK, [PASS, BET], PASS), (KING, [PASS, BET], BET)],
)
def test_is_mcts_never_takes_an_action_of_kuhn_poker_that_another_dominates(own, before, best) -> None:
    game = make_game("openspiel:kuhn_poker")
    (player,) = players_of(game, "openspiel:simulations=60")
    seat, others = len(before) % 2, [card for card in (JACK, QUEEN, KING) if card != own]
    deals = [(own, other) if seat == 0 else (other, own) for other in others]
    states = game.replay([[*deal, *before] for deal in deals])
    seats, places = game.to_move(states).astype(np.int64), np.arange(2)
    assert (seats == seat).all()
    for secret in range(5):
        turns = turns_at(game, states, places, seats, places, secret)
        assert (player.act(turns) == game.first_action + best).all()


def decided(table_size: int) -> bytes:
    """Two deals of is_mcts against itself, at a table of all or of fewer."""
    seats, seeds = np.zeros((2, 4), int), np.arange(2, dtype=np.uint64)
    players = players_of(HEARTS, "openspiel:simulations=4")
    return play_table(HEARTS, players, seats, seeds, table_size, secret=1).states["tokens"].tobytes()


@pytest.mark.slow
def test_is_mcts_plays_the_same_in_another_process_and_at_a_smaller_table() -> None:
    code = "from tests.search.test_openspiel import decided; print(decided(0).hex())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert bytes.fromhex(other.stdout) == decided(1)


class MirrorBot(pyspiel.Bot):
    """Stands in for xinxin, which builds of pyspiel seldom have: follows what it is told, as xinxin does, and plays its
    highest legal card."""

    def __init__(self, params, uct_num_runs, uct_c_val, iimc_num_worlds, use_threads) -> None:
        super().__init__()
        assert params["pass_cards"] and (uct_num_runs, uct_c_val, iimc_num_worlds, use_threads) == (7, 0.4, 3, False)
        self._mirror = pyspiel.load_game("hearts", params).new_initial_state()

    def inform_action(self, state, player_id, action) -> None:
        assert str(state) == str(self._mirror) and state.current_player() == player_id
        self._mirror.apply_action(action)

    def step(self, state) -> int:
        assert str(state) == str(self._mirror)
        return state.legal_actions()[-1]


def test_xinxin_is_told_all_that_has_happened_in_a_deal_that_agrees_with_what_its_seat_saw(monkeypatch) -> None:
    monkeypatch.setattr(pyspiel, "make_xinxin_bot", MirrorBot, raising=False)
    players = players_of(HEARTS, "openspiel:xinxin:simulations=7:worlds=3", "hearts_rules")
    result = play_table(HEARTS, players, [[0, 1, 0, 1]] * 4, derive_many(5, 4), secret=1)
    assert result.decisions[0] == 4 * 2 * 16 - sum(state["public"]["direction"] == 0 for state in result.states) * 6
    with pytest.raises(ValueError, match="openspiel:xinxin plays hearts only, not openspiel:leduc_poker"):
        players_of(LEDUC, "openspiel:xinxin")
