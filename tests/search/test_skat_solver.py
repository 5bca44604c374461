"""The open-hand solver of Skat against plain minimax over the rules, and against itself over whole deals."""

import subprocess
import sys

import numpy as np
import pytest

from games.bits import BIT, lowest
from games.compiled import blank
from games.compiling import kernel
from games.rng import derive_many
from games.skat.cards import EOS, GRAND, NULL, NUM_CARDS, SCHNEIDER, SCHWARZ, STRENGTH
from games.skat.game import SkatGame
from games.skat.rules import OVER, PLAY, template
from games.skat.state import STATE, act, legal, result_of
from games.skat.values import BIDS
from search.players.random_player import choose_uniformly
from search.scripted.skat.solved import line
from search.scripted.skat.solver.minimax import GENERATIONS
from search.scripted.skat.solver.solve import Solver

GAME = SkatGame()
CONTRACTS = {
    "suit": {"game": 2},
    "grand": {"game": GRAND},
    "null": {"game": NULL},
    "schneider announced": {"game": 1, "picked_up": 0, "modifier": SCHNEIDER},
    "schwarz announced": {"game": GRAND, "picked_up": 0, "modifier": SCHWARZ},
    "a bid above the game": {"game": 0, "bid": int(np.searchsorted(BIDS, 40))},
}
"""What differs from a game after the pickup that was bid at 18."""
EVERY_TRICK = "schwarz announced"


def positions(contract: str, count: int, cards: int, seed: int) -> np.ndarray:
    """``STATE[count]``: up to ``cards`` cards a hand, those before taken by anybody, but so that a game that one trick
    can lose is not lost; a third each at the lead, after one card, and after two."""
    states = blank(STATE, template(), EOS, count)
    public = states["public"]
    for name, value in {"phase": PLAY, "bid": 0, "picked_up": 1, **CONTRACTS[contract]}.items():
        public[name] = value
    for row in range(count):
        _give_out(states[row], contract, cards, np.random.default_rng((seed, row)))
    for started in (-(-count // 3), -(-2 * count // 3)):
        legal_now = GAME.legal(states[started:])
        GAME.play(states[started:], choose_uniformly(legal_now, derive_many(seed + started, count - started)))
    return states


def _give_out(state: np.void, contract: str, cards: int, rng: np.random.Generator) -> None:
    public, seats = state["public"], rng.permutation(3)
    public["soloist"] = seats[0]
    leaning = rng.permutation(NUM_CARDS) + (2 * STRENGTH[public["game"]] if contract == EVERY_TRICK else 0)
    strongest = np.argsort(-leaning)
    deck = np.concatenate([strongest[:cards], rng.permutation(strongest[cards:])])
    held, gone, aside = np.split(deck, [3 * cards, 30])
    for place, seat in enumerate(seats):
        state["hands"][seat] = BIT[held[place * cards : (place + 1) * cards]].sum()
        public["shown"][seat] = BIT[gone[place::3]].sum()
        state["dealt"][seat] = state["hands"][seat] | public["shown"][seat]
    state["talon"] = BIT[aside].sum()
    state["laid"] = state["talon"] if public["picked_up"] else 0
    shares = {"null": 0, "suit": 2, "grand": 2}.get(contract, 12)  # of the soloist, a defender having one
    takers = seats[:1] if contract == EVERY_TRICK else np.concatenate([seats[:1].repeat(shares), seats[1:]])
    for trick in gone.reshape(-1, 3):
        winner = rng.choice(takers)
        public["taken"][winner] |= BIT[trick].sum()
        public["tricks"][winner] += 1
    public["num_played"], public["turn"] = 30 - 3 * cards, rng.integers(3)


# ---- plain minimax ---------------------------------------------------------------------------------------------------


@kernel
def minimax(states, depth, best):
    """Write into ``best[depth]`` whether the soloist wins ``states[depth]``, and its card points at the end, each with
    best play for it; the rows below are scratch."""
    public = states[depth]["public"]
    if public["phase"] == OVER:
        best[depth, 0], best[depth, 1] = result_of(states[depth])[0], result_of(states[depth])[4]
        return
    alone = public["turn"] == public["soloist"]
    best[depth] = -1 if alone else 1000
    cards = legal(states[depth])[1]
    while cards != 0:
        states[depth + 1] = states[depth]
        act(states[depth + 1], lowest(cards))
        minimax(states, depth + 1, best)
        for i in range(2):
            found = best[depth + 1, i]
            best[depth, i] = max(best[depth, i], found) if alone else min(best[depth, i], found)
        cards &= cards - 1


@kernel
def minimax_batch(states, scratch, best, wins, points):
    """``minimax`` after each legal card of every row."""
    for row in range(len(states)):
        cards = legal(states[row])[1]
        while cards != 0:
            card = lowest(cards)
            scratch[0] = states[row]
            act(scratch[0], card)
            minimax(scratch, np.int64(0), best)
            wins[row, card], points[row, card] = best[0, 0] == 1, best[0, 1]
            cards &= cards - 1


def plain(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``card_wins`` and ``card_points`` of the solver, by minimax."""
    wins = np.zeros((len(states), NUM_CARDS), np.bool_)
    points = np.full((len(states), NUM_CARDS), -1)
    minimax_batch(states, np.zeros(20, STATE), np.zeros((20, 2), np.int64), wins, points)
    return wins, points


def plain_python(state: np.ndarray) -> tuple[int, int]:
    """Win and card points of one state (``STATE[1]``) through the contract of games, without a kernel of its own."""
    soloist = state["public"]["soloist"][0]
    if GAME.to_move(state)[0] < 0:
        won = GAME.outcomes.points[GAME.outcome(state)[0, soloist]][0] > 0
        return int(won), result_of(state[0])[4]
    found = []
    for card in np.flatnonzero(GAME.legal(state)[0]):
        after = state.copy()
        GAME.play(after, np.array([card]))
        found.append(plain_python(after))
    better = max if GAME.to_move(state)[0] == soloist else min
    return better(won for won, _ in found), better(points for _, points in found)


@pytest.fixture(scope="module")
def solver() -> Solver:
    return Solver()


def best_of(states: np.ndarray, values: np.ndarray) -> np.ndarray:
    """What the seat to act makes of the values of its cards."""
    legal_now = GAME.legal(states)[:, :NUM_CARDS]
    alone = GAME.to_move(states) == states["public"]["soloist"]
    most, least = np.where(legal_now, values, -1).max(1), np.where(legal_now, values, 1000).min(1)
    return np.where(alone, most, least)


def card_points(solver: Solver, states: np.ndarray) -> np.ndarray:
    """``int64[B, 32]``: the soloist's points after each card; -1 for cards that may not be played."""
    legal_now = GAME.legal(states)[:, :NUM_CARDS]
    rows, cards = np.nonzero(legal_now)
    after, points = states[rows], np.full(legal_now.shape, -1, np.int64)
    GAME.play(after, cards)
    points[rows, cards] = solver.points(after)
    return points


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize(
    ("cards", "count"), [(1, 60), (2, 200), (3, 400), (4, 300), pytest.param(5, 60, marks=pytest.mark.slow)]
)
def test_every_card_is_worth_what_plain_minimax_says(solver: Solver, contract: str, cards: int, count: int) -> None:
    states = positions(contract, count if contract != EVERY_TRICK else count // 5, cards, seed=cards)
    wins, points = plain(states)
    np.testing.assert_array_equal(solver.card_wins(states), wins)
    np.testing.assert_array_equal(solver.wins(states), best_of(states, wins))
    if contract in ("null", EVERY_TRICK):
        points = np.where(points < 0, -1, wins)
    if contract != "a bid above the game":  # whether points matter there differs from deal to deal
        np.testing.assert_array_equal(card_points(solver, states), points)
        np.testing.assert_array_equal(solver.points(states), best_of(states, points))


@pytest.mark.parametrize("contract", ["suit", "grand", "null"])
def test_positions_are_worth_what_minimax_in_python_says(solver: Solver, contract: str) -> None:
    states = positions(contract, 40, cards=3, seed=7)
    found = np.array([plain_python(states[row : row + 1]) for row in range(len(states))])
    np.testing.assert_array_equal(solver.wins(states), found[:, 0])
    np.testing.assert_array_equal(solver.points(states), found[:, 0 if contract == "null" else 1])


# ---- lines of perfect play -------------------------------------------------------------------------------------------


def nothing_played(states: np.ndarray) -> np.ndarray:
    """``real`` of lines where nothing is known of what was played."""
    return np.full((len(states), 3, 0), -1)


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("cards", [1, 2, 3, 4])
def test_every_card_of_a_line_is_legal_and_keeps_what_plain_minimax_says(contract: str, cards: int) -> None:
    states = positions(contract, 12, cards, seed=20 + cards)
    by_wins = contract in ("null", EVERY_TRICK, "a bid above the game")  # whether points matter in the last differs
    played, kept = line(GAME, states, nothing_played(states)), np.full(12, -1)
    for place in range(3 * cards):
        running = np.flatnonzero(GAME.to_move(states) >= 0)
        some, now = states[running], played[running, place]
        values = best_of(some, plain(some)[0 if by_wins else 1])
        assert (values == kept[running]).all() or place == 0
        kept[running] = values
        assert GAME.legal(some)[np.arange(len(some)), now].all()
        GAME.play(some, now)
        states[running] = some
        over = GAME.to_move(states) < 0
        assert (played[over, place + 1 :] == -1).all()
    assert over.all() and [result_of(state)[0 if by_wins else 4] for state in states] == kept.tolist()


def test_a_line_prefers_the_card_that_was_played_then_the_lowest() -> None:
    states = positions("suit", 60, cards=4, seed=9)
    legal_now, (_, points) = GAME.legal(states)[:, :NUM_CARDS], plain(states)
    equal = legal_now & (points == best_of(states, points)[:, None])
    lowest_card, highest_card = equal.argmax(1), NUM_CARDS - 1 - equal[:, ::-1].argmax(1)
    assert (lowest_card != highest_card).sum() > 10
    np.testing.assert_array_equal(line(GAME, states, nothing_played(states))[:, 0], lowest_card)
    real = np.full((len(states), 3, 1), -1)
    real[np.arange(len(states)), GAME.to_move(states), 0] = highest_card
    np.testing.assert_array_equal(line(GAME, states, real)[:, 0], highest_card)
    worse = legal_now & (points >= 0) & ~equal
    real[:, :, 0] = worse.argmax(1)[:, None]  # of a card that is not as good nothing is kept
    rows = worse.any(1)
    np.testing.assert_array_equal(line(GAME, states, real)[rows, 0], lowest_card[rows])


@pytest.mark.parametrize("contract", ["suit", "grand", "null"])
def test_a_deal_that_was_played_perfectly_is_its_own_line(contract: str) -> None:
    """All of ten cards, and what is left of them in the middle of a trick."""
    states = positions(contract, 4, cards=10, seed=4)
    played = line(GAME, states, nothing_played(states))
    for done in (0, 4):
        some, turns, real = states.copy(), np.zeros((4, 3), np.int64), np.full((4, 3, 10), -1)
        for place in range(done):
            GAME.play(some, played[:, place])
        later = some.copy()
        for place in range(done, played.shape[1]):
            rows = np.flatnonzero(GAME.to_move(later) >= 0)
            seats = GAME.to_move(later)[rows]
            real[rows, seats, turns[rows, seats]] = played[rows, place]
            turns[rows, seats] += 1
            GAME.play(later, played[:, place])
        left = line(GAME, some, real)
        np.testing.assert_array_equal(left[:, : 30 - done], played[:, done:])


# ---- whole deals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contract", ["suit", "grand", "null"])
def test_whole_deals_end_with_the_value_they_began_with_when_the_best_cards_are_played(solver, contract) -> None:
    states = positions(contract, 6, cards=10, seed=3)
    value = solver.points(states)
    np.testing.assert_array_equal(solver.wins(states), value >= (1 if contract == "null" else 61))
    while (running := GAME.to_move(states) >= 0).any():
        open_ = states[running]
        points = card_points(solver, open_)
        best = best_of(open_, points)
        np.testing.assert_array_equal(best, value[running])
        GAME.play(open_, (points == best[:, None]).argmax(1))
        states[running] = open_
    np.testing.assert_array_equal(solver.points(states), value)
    won = [result_of(state)[0] for state in states]
    np.testing.assert_array_equal(solver.wins(states), won)


def test_what_a_table_remembers_changes_no_answer() -> None:
    small, used = Solver(entries=2), Solver()
    for contract in ("suit", "null"):
        states = positions(contract, 30, cards=5, seed=5)
        first = card_points(used, states)
        np.testing.assert_array_equal(card_points(used, states[::-1])[::-1], first)
        np.testing.assert_array_equal(card_points(small, states), first)


def test_entries_are_gone_when_their_generation_comes_again() -> None:
    solver, one = Solver(), positions("suit", 20, cards=4, seed=6)[:7]
    other = one.copy()  # the same cards are left, in other hands
    other["hands"] = np.roll(one["hands"], 1, axis=1)
    expected = Solver().points(other)
    assert (solver.points(one) != expected).any()
    finished = positions("suit", 1, cards=0, seed=6)
    solver.points(np.repeat(finished, GENERATIONS - 1 - len(one)))
    np.testing.assert_array_equal(solver.points(other), expected)


# ---- use -------------------------------------------------------------------------------------------------------------


def test_states_without_a_declared_game_and_tables_of_other_sizes_than_powers_of_two_are_refused(solver) -> None:
    states = np.concatenate([positions("suit", 1, cards=2, seed=1), GAME.deal(derive_many(1, 1))])
    with pytest.raises(ValueError, match="row 1: the solver needs a declared game"):
        solver.card_wins(states)
    with pytest.raises(ValueError, match=r"entries=1000: .* power of two"):
        Solver(entries=1000)


def test_kernels_that_call_themselves_load_from_disk_in_another_process(solver: Solver) -> None:
    solver.card_wins(positions("suit", 1, cards=2, seed=1))
    code = "from tests.search.test_skat_solver import *; print(Solver().card_wins(positions('suit', 1, 2, 1)).shape)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert ran.stdout == "(1, 32)\n", ran.stderr
