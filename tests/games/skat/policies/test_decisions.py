"""Features and labels of paper 004 against plain Python over the course of deals, and by hand."""

import numpy as np
import pytest

from games.bits import BIT
from games.registry import make_game
from games.shards import Sequences
from games.skat.cards import NUM_CARDS, VOCABULARY
from games.skat.game import SkatGame
from games.skat.policies.decisions import decisions_of, inputs, observed, soloist_values
from games.skat.policies.features import card_bits
from games.skat.policies.points import DECISION_TYPES, DISCARD, MOST_DECISIONS
from games.skat.policies.walk import pair_of
from games.skat.replay import actions_of, new_state, replay
from search.config import SearchConfig
from search.players.table import play_table
from search.roster.registry import make_players
from tests.games.skat.policies.plain import CARDS, Deal

GAME = SkatGame()
EOS = GAME.vocabulary.eos


@pytest.fixture(scope="module")
def deals() -> np.ndarray:
    """Final states of 300 deals by rules of thumb, bold and noisy, and 100 by random players: jumps, ouvert and all."""
    players = make_players(
        ["skat_rules:noise=3:aggression=0.9:explore=0.2", "random"], make_game("skat"), SearchConfig()
    )
    seating = np.repeat([[0, 0, 0], [1, 1, 1]], (300, 100), axis=0)
    return play_table(GAME, players, seating, np.arange(400, dtype=np.uint64), 128, secret=3).states


def histories_of(deals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and lengths of all seats, one deal after the other."""
    tokens = Sequences.of_deals(GAME, deals, np.arange(len(deals), dtype=np.uint64), "x").tokens
    return tokens, (tokens != EOS).sum(axis=1)


def names_of(cards: int) -> set[str]:
    return {CARDS[card] for card in range(NUM_CARDS) if int(cards) & int(BIT[card])}


def plain(state: np.void) -> Deal:
    actions, seats = actions_of(state)
    course = [(int(seat), VOCABULARY.name(int(token))) for seat, token in zip(seats, actions, strict=True)]
    return Deal([names_of(hand) for hand in state["dealt"]], names_of(state["talon"]), course)


def test_widths_are_the_papers() -> None:
    widths = {point.name: point.bits + point.numbers for point in DECISION_TYPES}
    assert widths["bid"] == 35 and widths["discard_null"] == 32 + 3 + 64 + 64 + 1
    for kind, soloist, defender in (("suit", 387, 389), ("grand", 383, 385), ("null", 351, 353)):
        assert (widths[f"card_{kind}_soloist"], widths[f"card_{kind}_defender"]) == (soloist, defender)
    assert card_bits(True, False, False) == max(point.bits for point in DECISION_TYPES)


def test_features_and_labels_are_those_of_plain_python(deals: np.ndarray) -> None:
    found = decisions_of(*histories_of(deals))
    bits = np.unpackbits(found.bits, axis=1, bitorder="little")
    expected = [
        (3 * deal + seat, *rest) for deal, state in enumerate(deals) for seat, *rest in plain(state).decisions()
    ]
    expected.sort(key=lambda decision: decision[0])  # histories one after the other; each in its order
    assert len(expected) == len(found)
    seen = set()
    for place, (row, name, features, numbers, label) in enumerate(expected):
        point = DECISION_TYPES[found.point[place]]
        seen.add(name)
        assert (point.name, found.row[place], found.label[place]) == (name, row, label)
        assert bits[place, : point.bits].tolist() == features[: point.bits], (place, name)
        assert found.numbers[place, : point.numbers].tolist() == numbers
    assert seen == {point.name for point in DECISION_TYPES}


def test_a_seats_turn_has_the_features_of_its_training(deals: np.ndarray) -> None:
    tokens, lengths = histories_of(deals[:100])
    found = decisions_of(tokens, lengths)
    for row in range(0, 300, 7):
        cards = np.flatnonzero((found.row == row) & (found.point >= 10))
        turns = [place for place in range(1, lengths[row]) if len(cards)]
        views, logs = observed(np.repeat(tokens[row : row + 1], len(turns), axis=0), np.array(turns, np.int64))
        own = (views["public"]["phase"] == 5) & (views["public"]["turn"] == views["seat"]) & (views["due"] == 0)
        bits, numbers = inputs(views[own], logs[own], np.zeros(own.sum(), np.bool_))
        assert (np.packbits(bits, axis=1, bitorder="little") == found.bits[cards]).all()
        assert (numbers == found.numbers[cards]).all()


@pytest.mark.parametrize("survivors", [False, True])
def test_a_history_that_breaks_off_gives_the_decisions_until_then(deals: np.ndarray, survivors: bool) -> None:
    """All whose label the tokens up to there show: a game by hand shows it at its modifier, discards at the game."""
    tokens, lengths = histories_of(deals[:50])
    whole = decisions_of(tokens, lengths, survivors)
    for row in range(len(lengths)):
        own = whole.label[whole.row == row]
        counts = []
        for cut in range(lengths[row] + 1):
            part = decisions_of(tokens[row : row + 1], np.array([cut]), survivors)
            counts.append(len(part))
            assert (part.label == own[: len(part)]).all()
        assert counts[0] == 0 and counts[-1] == len(own) and (np.diff(counts) >= 0).all()
        cards = (whole.point[whole.row == row] >= 10).sum()
        assert (np.diff(counts) == 1).sum() >= cards  # each card as soon as it is played


def test_values_are_the_games_or_the_points_and_pairs_are_numbered_through() -> None:
    points = np.array([50 + 48.0, -50 - 2 * 48.0, 0.0])
    assert soloist_values(points, "classic").tolist() == [48, -96, 0]
    assert soloist_values(points, "tournament").tolist() == [98, -146, 0]
    numbers = [int(pair_of(low, high)) for high in range(32) for low in range(high)]
    assert numbers == list(range(496)) and DECISION_TYPES[DISCARD].actions == 496


BID, CONTINUE = 0, 1
TOKENS = {name: token for token, name in enumerate(VOCABULARY.names)}
TEN = [0b11_1111_1111 << 10 * seat for seat in range(3)]
"""Hands of the auctions below: each seat has the ten cards from ten times its number on."""
AUCTIONS = {
    # bids 18, 20, 22, 23, 24, 27 are limits 1, 2, 3, 4, 5, 6; (seat, duel) -> limit, and of the winner the least
    "1 18 0 hold 1 20 0 hold 1 pass 2 22 0 hold 2 23 0 pass": (
        2,
        {(1, BID): 2, (0, CONTINUE): 3},
        {(0, BID): 2, (2, CONTINUE): 4},
    ),
    "1 18 0 hold 1 20 0 pass 2 22 1 hold 2 23 1 hold 2 pass": (
        1,
        {(0, BID): 1, (2, CONTINUE): 4},
        {(1, BID): 2, (1, CONTINUE): 4},
    ),
    "1 24 0 pass 2 27 1 pass": (0, {(0, BID): 0, (1, CONTINUE): 5}, {(1, BID): 5, (2, CONTINUE): 6}),
    "1 pass 2 18 0 hold 2 20 0 pass": (0, {(1, BID): 0, (0, CONTINUE): 1}, {(2, CONTINUE): 2}),
    "1 pass 2 18 0 hold 2 pass": (0, {(1, BID): 0, (2, CONTINUE): 1}, {(0, CONTINUE): 1}),
    # Nothing is called in the second duel: its winner shows nothing more than in the first.
    "1 18 0 hold 1 pass 2 pass": (1, {(1, BID): 1, (2, CONTINUE): 0}, {(0, BID): 1}),
    "1 18 0 pass 2 pass": (0, {(0, BID): 0, (2, CONTINUE): 0}, {(1, BID): 1}),
    # Forehand alone: no duel.
    "1 pass 2 pass 0 18": (0, {(1, BID): 0, (2, CONTINUE): 0}, {}),
    "1 pass 2 pass 0 pass": (0, {(1, BID): 0, (2, CONTINUE): 0}, {}),
    # Auctions that broke off.
    "1 18 0 hold": (0, {}, {}),
    "1 18 0 hold 1 pass 2 20": (1, {(1, BID): 1}, {(0, BID): 1}),
}


@pytest.mark.parametrize("calls", AUCTIONS)
def test_auctions_show_the_limits_of_losers_and_the_least_of_winners(calls: str) -> None:
    first_limit, losers, winners = AUCTIONS[calls]
    words = calls.split()
    state, seats = new_state(), np.array([int(word) for word in words[::2]])
    assert replay(state, np.array(TEN), seats, np.array([TOKENS[word] for word in words[1::2]])) == -1
    for survivors in (False, True):
        found = decisions_of(state["tokens"], state["lengths"], survivors)
        bits, limits = np.unpackbits(found.bits, axis=1, bitorder="little"), {}
        for place, (seat, point) in enumerate(zip(found.row.tolist(), found.point.tolist(), strict=True)):
            limits[seat, point] = found.label[place]
            assert found.censored[place] == ((seat, point) in winners)
            cards, position = set(range(10 * seat, 10 * seat + 10)), {32 + seat}
            assert set(np.flatnonzero(bits[place])) == cards | position | ({35 + first_limit} if point else set())
        assert limits == losers | (winners if survivors else {}) and len(limits) == len(found)


def test_winners_of_duels_are_those_of_plain_python(deals: np.ndarray) -> None:
    found = decisions_of(*histories_of(deals), survivors=True)
    bits = np.unpackbits(found.bits, axis=1, bitorder="little")
    expected = {
        (3 * deal + seat, DECISION_TYPES[BID if point == "bid" else CONTINUE].name): (features, limit)
        for deal, state in enumerate(deals)
        for seat, point, features, limit in plain(state).survivors()
    }
    places = np.flatnonzero(found.censored)
    assert len(places) == len(expected) > 300
    for place in places:
        features, limit = expected[found.row[place], DECISION_TYPES[found.point[place]].name]
        assert found.label[place] == limit > 0 and not found.numbers[place].any()
        assert bits[place, : len(features)].tolist() == features and not bits[place, len(features) :].any()
    assert {DECISION_TYPES[point].name for point in found.point[places]} == {"bid", "continue"}
    assert np.bincount(found.row).max() == MOST_DECISIONS  # of a soloist that has won two duels


def test_a_winner_is_learned_with_the_features_of_its_own_calls(deals: np.ndarray) -> None:
    """What the player asks its network with at each of its turns in the duel."""
    (tokens, lengths), turns = histories_of(deals), 0
    found = decisions_of(tokens, lengths, survivors=True)
    for place in np.flatnonzero(found.censored)[::5]:
        row = found.row[place]
        ends = np.arange(11, lengths[row], dtype=np.int64)
        views, logs = observed(np.repeat(tokens[row : row + 1], len(ends), axis=0), ends)
        public = views["public"]
        own = (public["phase"] == 0) & (public["turn"] == views["seat"]) & (public["duel"] == found.point[place])
        bits, _ = inputs(views[own], logs[own], np.zeros(own.sum(), np.bool_))
        assert (np.packbits(bits, axis=1, bitorder="little") == found.bits[place]).all() and own.any()
        last_call = tokens[row, ends[own][-1]]
        bid = np.flatnonzero(own)[-1]
        hold = last_call == TOKENS["hold"]
        called = public["bid"][bid] if hold else last_call - TOKENS["18"]
        assert found.label[place] == called + 1
        turns += own.sum()
    assert turns > 100
