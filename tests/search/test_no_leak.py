"""What a seat cannot see changes no decision of any player, with the real network, whatever its caches hold."""

from dataclasses import replace

import numpy as np
import pytest

from games.conformance import Decide, check_no_leak
from games.game import Game, Next
from games.hearts.game import HeartsGame
from games.rng import derive_many, keyed_hash, mix
from learner.config import EngineConfig
from search.alphahearts.config import AlphaHeartsConfig, QValuesConfig
from search.alphahearts.player import AlphaHearts, QValues
from search.config import SearchConfig
from search.go_mcts.config import GoMctsConfig
from search.pimc.config import PimcConfig
from search.players.player import Player, Turns
from search.players.random_player import RandomPlayer
from search.players.table import play_table
from search.roster.registry import make_players
from tests.search.state_models import LinearStates
from tests.search.turns import Recorder, turns_in

NAMES = (
    "random",
    "hearts_rules",
    "hearts_simple",
    "hearts_complex",
    "argmax_val",
    "imitation",
    "go_mcts",
    "pimc",
    "pimc:worlds=2:candidates=4",
    "pimc:worlds=4:candidates=8:evaluator=playouts:beliefs=scripted:confidence=0.1:runs=2000",
    "openspiel:simulations=3",
)

STATE_PLAYERS = ("alphahearts", "q_values")
"""Those that judge sampled deals by a network of true states."""


class Gossip(RandomPlayer):
    """Decides by what another seat of the same deal asked about last, as a shared cache might let it."""

    def start(self, game: Game, num_games: int) -> None:
        self._heard = np.zeros(num_games, np.uint64)

    def act(self, turns: Turns) -> np.ndarray:
        actions = super().act(replace(turns, seeds=turns.seeds ^ self._heard[turns.game]))
        self._heard[turns.game] = mix(turns.tokens.astype(np.uint64).sum(1), 1)
        return actions


class PeeksLeft(RandomPlayer):
    """Looks at the hand on its left to choose among its legal actions."""

    sees_hidden = True

    def act(self, turns: Turns) -> np.ndarray:
        assert turns.hidden is not None
        left = turns.hidden["hands"][np.arange(len(turns.seat)), (turns.seat + 1) % 4]
        return super().act(replace(turns, seeds=mix(left.view(np.uint64), 1)))


def decisions_of(player: Player) -> Decide:
    """What ``player`` does in the given states, of which it is shown what it declares, as at tables."""

    def decide(states: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        player.start(HeartsGame(), len(states))
        turns = turns_in(HeartsGame(), states, seeds)
        return player.act(turns if player.sees_hidden else replace(turns, hidden=None))

    return decide


@pytest.fixture(scope="module")
def players(sure_network: str) -> dict[str, Player]:
    """Every kind of player; the network is untrained, with weights so large that all it sees makes a difference."""
    game = HeartsGame()
    search = SearchConfig(go_mcts=GoMctsConfig(num_runs=3), pimc=PimcConfig(worlds=3, runs=20))
    made = make_players(NAMES, game, search, sure_network, EngineConfig(device="cpu"))
    states = LinearStates(game)
    made += [AlphaHearts(states, AlphaHeartsConfig(worlds=2, iterations=3)), QValues(states, QValuesConfig(worlds=3))]
    return dict(zip((*NAMES, *STATE_PLAYERS), made, strict=True))


@pytest.mark.parametrize("deals", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [*NAMES, *STATE_PLAYERS])
def test_what_a_seat_cannot_see_changes_no_decision(players: dict[str, Player], name: str, deals: int) -> None:
    assert not players[name].sees_hidden
    check_no_leak(HeartsGame(), num_deals=deals, seed=5, players=[decisions_of(players[name])])


def test_a_player_that_looks_at_a_foreign_hand_is_found_out() -> None:
    with pytest.raises(AssertionError, match="player 0 decides by what it cannot see"):
        check_no_leak(HeartsGame(), num_deals=3, seed=5, players=[decisions_of(PeeksLeft())])


def decisions_through_the_deal(player: Player, states: np.ndarray, seat: np.ndarray) -> list[np.ndarray]:
    """What ``player``, in every seat of these finished or half-played deals, decides at every turn of ``seat`` (one for
    each deal), its caches warm from all turns of all seats before."""
    game, decided = HeartsGame(), []
    rows = np.arange(len(states))
    seen = [game.histories(states, (seat + others) % 4) for others in range(4)]
    player.start(game, len(states))
    for length in range(1, game.max_length - 1):
        for others, (tokens, lengths) in list(enumerate(seen))[::-1]:  # the seat itself comes last
            known = np.where(np.arange(tokens.shape[1]) < length, tokens, game.vocabulary.eos)
            views = game.views(known, np.minimum(lengths, length))
            acts = rows[(game.next(views) == Next.ACTION) & (length < lengths)]
            if len(acts) == 0:
                continue
            seats = (seat[acts] + others) % 4
            legal = game.view_legal(views[acts])
            seeds = mix(mix(acts.astype(np.uint64), others), length)
            turns = Turns(acts, seats, known[acts], np.full(len(acts), length, np.int32), legal, seeds)
            actions = player.act(turns)
            decided += [actions] if others == 0 else []
    return decided


def worlds_that_look_alike(count: int, plays: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Half-played deals, a seat of each, and deals with other hidden cards in which seat 0 has seen the same."""
    game = HeartsGame()
    states, seat = game.deal(derive_many(3, count)), np.arange(count) % 4
    while (states["public"]["num_played"] < plays).any():
        legal = game.legal(states)
        game.play(states, np.array([np.flatnonzero(row)[len(np.flatnonzero(row)) // 2] for row in legal]))
    tokens, lengths = game.histories(states, seat)
    others, _ = game.determinize(game.views(tokens, lengths), derive_many(4, count))
    np.testing.assert_array_equal(game.histories(others, np.zeros(count, np.int64))[0], tokens)
    return states, seat, others


@pytest.mark.parametrize("count", [2, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [*NAMES, *STATE_PLAYERS])
def test_a_whole_deal_with_warm_caches_tells_nothing_of_the_other_seats(players, name, count) -> None:
    states, seat, others = worlds_that_look_alike(count, plays=34)
    before = decisions_through_the_deal(players[name], states, seat)
    after = decisions_through_the_deal(players[name], others, np.zeros(count, np.int64))
    assert len(before) > 10
    for mine, theirs in zip(before, after, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_player_that_hears_what_other_seats_ask_is_found_out() -> None:
    states, seat, others = worlds_that_look_alike(count=6, plays=34)
    before = decisions_through_the_deal(Gossip(), states, seat)
    after = decisions_through_the_deal(Gossip(), others, np.zeros(6, np.int64))
    assert any((mine != theirs).any() for mine, theirs in zip(before, after, strict=True))


def unmixed(mixed: np.ndarray, salt: np.ndarray) -> np.ndarray:
    """The seeds that ``mix(seeds, salt)`` was made from."""
    seeds = []
    for z, s in zip(mixed.tolist(), salt.tolist(), strict=True):
        z ^= z >> 31 ^ z >> 62
        z = z * pow(0x94D049BB133111EB, -1, 1 << 64) % (1 << 64)
        z ^= z >> 27 ^ z >> 54
        z = z * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) % (1 << 64)
        z ^= z >> 30 ^ z >> 60
        seeds.append((z - (s + 1) * 0x9E3779B97F4A7C15) % (1 << 64))
    return np.array(seeds, np.uint64)


def test_the_random_number_of_a_decision_does_not_give_the_deal_away() -> None:
    seeds, attacker = derive_many(7, 5), Recorder()
    salt = np.arange(5, dtype=np.uint64)
    np.testing.assert_array_equal(unmixed(mix(seeds, salt), salt), seeds)  # mix can be undone
    play_table(HeartsGame(), [attacker], np.zeros((5, 4), int), seeds, secret=3)
    guesses = list[int]()
    for turns in attacker.seen:
        salts = turns.lengths.astype(np.uint64), (turns.seat + 1).astype(np.uint64)
        guesses += unmixed(unmixed(turns.seeds, salts[0]), salts[1]).tolist()
    assert len(guesses) > 250 and not set(guesses) & set(seeds.tolist())


def test_decisions_draw_from_other_numbers_where_secret_deal_seat_or_length_differ() -> None:
    columns = np.array([[9, 0, 20], [8, 0, 20], [9, 1, 20], [9, 0, 21]], np.uint64).T
    numbers = [*keyed_hash(1, *columns).tolist(), *keyed_hash(2, *columns).tolist()]
    assert len(set(numbers)) == 8
