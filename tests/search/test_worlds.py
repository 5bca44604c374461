"""Weighted worlds: weights by hand and by a plain loop, tempering, resampling, the exact posterior; PIMC on them."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from games.game import Game
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many
from search.pimc.config import PimcConfig
from search.pimc.player import Pimc
from search.players.beliefs import by_network, by_player
from search.players.player import ChoosingPlayer
from search.players.support import Support
from search.players.worlds import effective_size, log_likelihoods, resample, tempered, weighted_worlds
from search.roster.kinds import support_of
from tests.search.models import FunctionModel, History, Model, hash_model
from tests.search.state_models import NO_PASS
from tests.search.toy import FOLLOWS, LEADS, ToyWorlds, movers, other_hands, toy_state
from tests.search.turns import Lowest, turns_at, turns_of

TOY = ToyWorlds()


def midway(game: Game, count: int, plies: int) -> tuple[np.ndarray, np.ndarray]:
    """Views of the seats to act, of random deals after so many actions, and these states."""
    states = game.deal(derive_many(3, count))
    for ply in range(plies):
        legal = game.legal(states)
        game.play(states, (legal * derive_many(ply, legal.shape[1]).astype(np.float64)).argmax(axis=1))
    return game.views(*game.histories(states, game.to_move(states).astype(np.int64))), states


# ---- likelihoods


def test_a_likelihood_by_hand() -> None:
    """Seat 0 has led card 2. With card 0 in its other place the model would lead 2 with 0.6 and 0 with 0.2, which is
    3/4 of what is legal; with card 4 there it would never lead it. One action in ten is anybody's: half of those."""
    chances = {(LEADS, 0, 2): {0: 0.2, 2: 0.6, 3: 0.2}, (LEADS, 2, 4): {4: 1.0}}

    def answer(history: History) -> tuple[np.ndarray, float]:
        return np.array([chances[history].get(token, 0.0) for token in range(TOY.vocabulary.size)], np.float32), 0.0

    states = np.concatenate([toy_state(((0, 2), (1, 3)), [2]), toy_state(((2, 4), (1, 3)), [2])])
    logs = log_likelihoods(TOY, by_network(FunctionModel(answer)), states[None], np.ones((1, 2), np.int8))
    np.testing.assert_allclose(np.exp(logs), [[0.9 * 0.75 + 0.05, 0.05]], rtol=1e-6)
    # The lowest card would have been card 0, which leaves half of one in ten, and with card 4 it is card 2.
    logs = log_likelihoods(TOY, by_player(lambda game: Lowest()), states[None], np.ones((1, 2), np.int8))
    np.testing.assert_allclose(np.exp(logs), [[0.05, 0.95]])


Policy = Callable[[History, np.ndarray], np.ndarray]
"""Weights of the legal actions behind a history."""


def plain_log_likelihood(game: Game, policy: Policy, states: np.ndarray, row: int, seat: int) -> tuple[float, int]:
    """The same for one of several candidates, one action at a time, and how many choices were left out."""
    total, hidden = 0.0, 0
    for other in (other for other in range(game.num_players) if other != seat):
        every, lengths = game.histories(states, np.full(len(states), other))
        for place in range(int(lengths[row])):
            history = tuple(int(token) for token in every[row, :place])
            legal = np.flatnonzero(game.view_legal(game.views(every[row : row + 1], np.array([place])))[0])
            if len(legal) < 2:
                continue
            if len(set(every[:, place].tolist())) > 1:
                hidden += 1
                continue
            weights = policy(history, legal)
            total += math.log(0.9 * weights[legal == every[row, place]][0] / weights.sum() + 0.1 / len(legal))
    return total, hidden


def played_by(game: Game, player: ChoosingPlayer) -> Policy:
    """All weight on what a player does."""
    player.start(game, 1)
    seed = np.zeros(1, np.uint64)
    return lambda history, legal: (legal == player.act(turns_at(game, [history], seed))[0]).astype(float)


@pytest.mark.parametrize("name", ["hearts", "skat", "crew"])
def test_likelihoods_are_those_of_the_player_asked_one_decision_at_a_time(name: str) -> None:
    game = make_game(name)
    scripted, views = support_of(game).scripted, midway(game, 1, 20)[0]
    states, seats = game.determinize(np.repeat(views, 8), derive_many(5, 8))
    found = log_likelihoods(game, by_player(scripted), states[None], seats[None])[0]
    policy = played_by(game, scripted(game))
    for row in range(8):
        assert found[row] == pytest.approx(plain_log_likelihood(game, policy, states, row, int(seats[0]))[0])


@pytest.mark.parametrize(("name", "plies"), [("hearts", 26), ("hearts", 45), ("skat", 12), ("crew", 12)])
def test_what_the_seat_has_seen_of_the_others_counts_and_nothing_else(name: str, plies: int) -> None:
    game, count = make_game(name), 5
    views, _ = midway(game, 1, plies)
    states, seats = game.determinize(np.repeat(views, count), derive_many(1, count))
    table = hash_model(game, 0.1)
    model = FunctionModel(table)
    found = log_likelihoods(game, by_network(model), states[None], seats[None])[0]
    policy: Policy = lambda history, legal: table(history)[0][legal]  # noqa: E731
    wanted = [plain_log_likelihood(game, policy, states, row, int(seats[row])) for row in range(count)]
    np.testing.assert_allclose(found, [total for total, _ in wanted], rtol=1e-5)
    assert not model.held
    assert all(hidden for _, hidden in wanted) == (name == "hearts"), [hidden for _, hidden in wanted]


# ---- tempering


def test_tempering_by_hand() -> None:
    """Likelihoods of 16 to 1: to the power of 1/2 the weights are 0.8 and 0.2, which say as much as 1 / 0.68."""
    weights, exponent = tempered(np.log([[16.0, 1.0]]), 1 / 0.68)
    np.testing.assert_allclose(weights, [[0.8, 0.2]], atol=1e-5)
    np.testing.assert_allclose(exponent, [0.5], atol=1e-5)


@given(st.lists(st.lists(st.floats(-60, 0), min_size=8, max_size=8), min_size=1, max_size=4), st.floats(1, 8))
def test_the_exponent_is_the_largest_that_keeps_the_floor(rows: list[list[float]], floor: float) -> None:
    logs = np.array(rows)
    weights, exponent = tempered(logs, floor)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert (effective_size(weights) >= floor * (1 - 1e-9)).all() and (exponent <= 1).all()
    for row, power in zip(logs, exponent, strict=True):
        more = np.exp((row - row.max()) * min(1.0, power + 1e-5))
        assert power == 1 or more.sum() ** 2 / np.square(more).sum() <= floor * (1 + 1e-9)


# ---- resampling


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=20), st.integers(1, 40), st.integers(0, 2**64 - 1))
def test_a_candidate_comes_its_share_of_times_rounded_up_or_down(shares: list[float], worlds: int, seed: int) -> None:
    weights = np.array([shares]) / sum(shares)
    picked = resample(weights, worlds, np.array([seed], np.uint64))
    times, wanted = np.bincount(picked[0], minlength=len(shares)), worlds * weights[0]
    assert picked.shape == (1, worlds)
    assert (times >= np.floor(wanted - 1e-9)).all() and (times <= np.ceil(wanted + 1e-9)).all()


# ---- all of it


@pytest.mark.parametrize(
    ("hand", "plays"),
    [
        ([1, 3], [2]),
        pytest.param([0, 4], [1], marks=pytest.mark.slow),
        pytest.param([0, 3], [3, 1], marks=pytest.mark.slow),
    ],
)
def test_worlds_are_drawn_by_the_exact_posterior(hand: list[int], plays: list[int]) -> None:
    """Against the enumeration of the other seat's hands, each as likely as its actions are in it."""
    table, draws = hash_model(TOY, 0.2), 300
    seat = movers(plays, 0)[-1]
    hands = other_hands(seat, hand, plays)
    chances = np.array([likelihood(table, 1 - seat, other, plays) for other in hands])
    tokens = np.array([[LEADS if seat == 0 else FOLLOWS, *hand, *plays]])
    views = TOY.views(np.repeat(tokens, draws, axis=0), np.full(draws, tokens.shape[1]))
    found = weighted_worlds(TOY, by_network(FunctionModel(table)), views, derive_many(8, draws), 1, 100)
    assert (found.exponent == 1).all()
    drawn = [tuple(other) for other in found.states["hands"][:, 0, 1 - seat].tolist()]
    times = [drawn.count(other) for other in hands]
    assert sum(times) == draws and chisquare(times, chances / chances.sum() * draws).pvalue > 1e-3
    assert chisquare(times).pvalue < 1e-3  # and not all alike


def likelihood(table: Model, seat: int, hand: tuple[int, ...], plays: list[int]) -> float:
    """Of the plays of one seat of the toy."""
    chance, left = 1.0, set(hand)
    for place, (card, mover) in enumerate(zip(plays, movers(plays, 0), strict=False)):
        if mover == seat:
            policy = table(((LEADS if seat == 0 else FOLLOWS), *hand, *plays[:place]))[0]
            share = float(policy[card]) / sum(float(policy[other]) for other in left)
            chance *= 0.9 * share + 0.1 / len(left) if len(left) > 1 else 1.0
            left.remove(card)
    return chance


@pytest.mark.parametrize(("candidates", "floor"), [(60, 25), (30, 15)])
def test_weights_that_would_collapse_are_tempered_to_the_floor(candidates: int, floor: float) -> None:
    game = HeartsGame()

    def certain(history: History) -> tuple[np.ndarray, float]:
        legal = game.view_legal(game.views(np.array([history]), np.array([len(history)])))[0]
        return (np.arange(len(legal)) == legal.argmax()).astype(np.float32), 0.0

    views, _ = midway(game, 2, 40)
    found = weighted_worlds(game, by_network(FunctionModel(certain)), views, derive_many(2, 2), 1, candidates)
    assert (found.exponent < 1).all()
    np.testing.assert_allclose(found.effective, floor, rtol=1e-3)


def test_worlds_agree_with_what_the_seat_has_seen_no_handle_is_kept_and_few_slots_only_make_more_queries() -> None:
    game, table = HeartsGame(), hash_model(HeartsGame(), 0.1)
    views, states = midway(game, 2, 30)
    tokens, _ = game.histories(states, game.to_move(states))
    models = FunctionModel(table), FunctionModel(table, limit=2 * game.max_length)
    wide, narrow = (weighted_worlds(game, by_network(model), views, derive_many(1, 2), 3, 5) for model in models)
    assert wide.states.shape == (2, 3) and not any(model.held for model in models)
    for world in range(3):
        np.testing.assert_array_equal(game.histories(wide.states[:, world], np.zeros(2, np.int64))[0], tokens)
    for mine, theirs in zip(wide, narrow, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def weighing(model: FunctionModel, candidates: int) -> Pimc:
    return Pimc(model, PimcConfig(worlds=4, candidates=candidates, runs=10), Support())


def test_weighing_the_worlds_counts_as_time_of_the_decision() -> None:
    class Timed(FunctionModel):
        seconds = 0.0

        def query(self, *given: Any, **asked: Any) -> Any:
            began = time.monotonic()
            answer = super().query(*given, **asked)
            self.seconds += time.monotonic() - began
            return answer

    turns, left, weighed = turns_of(NO_PASS, 3, 36), list[float](), list[float]()
    model = Timed(hash_model(NO_PASS, 0.1))
    player = weighing(model, 6)
    player.start(NO_PASS, 3)
    judge = player.evaluate

    def evaluate(worlds: np.ndarray, considered: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
        left.append(seconds)
        weighed.append(model.seconds)
        return judge(worlds, considered, seeds, seconds)

    player.evaluate = evaluate  # type: ignore[method-assign]
    for limit in (60.0, 1e-12, 0.0):
        player._seconds = limit
        player.values(turns)
    assert 0 < left[0] <= 60.0 * len(turns.seeds) - weighed[0]
    assert 0 < left[1] <= 1e-9 and left[2] == 0.0  # 0 is for no limit
    assert model.seconds > 0
