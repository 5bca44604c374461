"""What Skat games are worth, against the rules written down a second time, and the table of outcomes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.skat.cards import ALL_CARDS, GAMES, MODIFIERS, RANKS, SUITS, card_id, matadors_of, points_of
from games.skat.outcomes import build, game_results, key_of
from games.skat.values import BIDS, NULL_VALUES, judge, raised

# The list of the reference, typed in rather than derived.
LISTED = """18 20 22 23 24 27 30 33 35 36 40 44 45 46 48 50 54 55 59 60 63 66 70 72 77 80 81 84 88 90 96 99 100 108 110
117 120 121 126 130 132 135 140 143 144 150 153 154 156 160 162 165 168 170 176 180 187 192 198 204 216 240 264"""
BASE = {"diamonds": 9, "hearts": 10, "spades": 11, "clubs": 12, "grand": 24}
DECKS = st.permutations(range(32))


def test_bids_are_the_63_of_the_rules() -> None:
    assert BIDS.tolist() == [int(value) for value in LISTED.split()] and len(BIDS) == 63


def test_points_are_those_of_the_cards() -> None:
    worth = {"A": 11, "T": 10, "K": 4, "Q": 3, "J": 2}
    for name in (suit + rank for suit in SUITS for rank in RANKS):
        assert points_of(1 << card_id(name)) == worth.get(name[1], 0)
    assert points_of(ALL_CARDS) == 120


def plain_matadors(game: str, twelve: set[str]) -> int:
    """How many of the highest trumps in a row the soloist has, or lacks."""
    if game == "null":
        return 0
    order = ["CJ", "SJ", "HJ", "DJ"]
    if game != "grand":
        order += [game[0].upper() + rank for rank in "ATKQ987"]
    has = [card in twelve for card in order]
    run = has.index(not has[0]) if (not has[0]) in has else len(has)
    return run if has[0] else -run


@settings(max_examples=200)
@given(DECKS, st.sampled_from(GAMES), st.integers(0, 12))
def test_matadors_are_counted_from_the_highest_trump(deck, game, forced) -> None:
    """``forced`` of the highest trumps come to the front of the deck, since long runs are rare."""
    deck = (
        sorted(deck, key=lambda card: (RANKS[card & 7] != "J", card >> 3 != GAMES.index(game), -card))[:forced] + deck
    )
    twelve = list(dict.fromkeys(deck))[:12]
    names = {SUITS[card >> 3] + RANKS[card & 7] for card in twelve}
    as_set = sum(1 << card for card in twelve)
    assert matadors_of(GAMES.index(game), as_set) == plain_matadors(game, names)
    assert matadors_of(GAMES.index(game), ALL_CARDS & ~as_set) == -plain_matadors(game, names)


def plain_result(game, matadors, hand, announced, points, tricks, bid):
    """The rules' text once more: whether the soloist wins, and the value of the game."""
    if game == "null":
        values = {(False, "plain"): 23, (True, "plain"): 35, (False, "ouvert"): 46, (True, "ouvert"): 59}
        return tricks == 0, values[hand, announced]
    made_schneider = min(points, 120 - points) <= 30
    made_schwarz = tricks in (0, 10)
    said_schneider = announced in ("schneider", "schwarz", "ouvert")
    said_schwarz = announced in ("schwarz", "ouvert")
    steps = [
        made_schneider or said_schneider,
        said_schneider,
        made_schwarz or said_schwarz,
        said_schwarz,
        announced == "ouvert",
        hand,
    ]
    value = BASE[game] * (abs(matadors) + 1 + sum(steps))
    won = points > 60
    if said_schneider:
        won = points >= 90
    if said_schwarz:
        won = tricks == 10
    if value >= bid:
        return won, value
    multiple = next(BASE[game] * n for n in range(1, 40) if BASE[game] * n >= bid)
    return False, multiple


@settings(max_examples=500)
@given(
    st.sampled_from(GAMES),
    st.integers(1, 11),
    st.booleans(),
    st.sampled_from(MODIFIERS),
    st.integers(0, 120),
    st.integers(0, 10),
    st.sampled_from(LISTED.split()),
)
def test_values_are_those_of_the_rules(game, matadors, hand, announced, points, tricks, bid) -> None:
    if game == "null":
        announced = "ouvert" if announced == "ouvert" else "plain"
        if int(bid) > NULL_VALUES[int(hand), int(announced == "ouvert")]:
            return  # never declared
    elif not hand:
        announced = "plain"
    if game == "grand":
        matadors = min(matadors, 4)
    number, modifier = GAMES.index(game), MODIFIERS.index(announced)
    for sign in (1, -1):
        won, value, overbid = judge(number, sign * matadors, int(hand), modifier, points, tricks, 10 - tricks, int(bid))
        assert (won, value) == plain_result(game, sign * matadors, hand, announced, points, tricks, int(bid))
        assert value >= int(bid) and not (overbid and won)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        # (game, matadors, hand, modifier, points, tricks won, bid), as the server scored them
        ((0, -1, 0, 0, 75, 7, 36), (False, 36, True)),  # overbid, lost with 75 points
        ((4, 1, 0, 0, 12, 1, 48), (False, 72, False)),  # schneider against the soloist counts
        ((3, 1, 1, 3, 30, 2, 18), (False, 96, False)),  # announced levels count once when lost
        ((3, 3, 1, 2, 120, 10, 40), (True, 108, False)),
        ((4, 1, 1, 3, 120, 10, 18), (True, 192, False)),
        ((1, -1, 0, 0, 89, 9, 30), (False, 30, True)),
        ((1, -1, 0, 0, 90, 9, 30), (True, 30, False)),  # schneider rescues the bid
        ((5, 0, 1, 3, 12, 1, 18), (False, 59, False)),
        ((0, 1, 1, 1, 89, 10, 18), (False, 54, False)),  # every trick, yet not the 90 points announced
    ],
)
def test_values_of_known_deals(form, expected) -> None:
    game, matadors, hand, modifier, points, tricks, bid = form
    assert judge(game, matadors, hand, modifier, points, tricks, 10 - tricks, bid) == expected


def test_an_overbid_costs_the_smallest_multiple_that_reaches_the_bid() -> None:
    assert [int(raised(base, 264)) for base in (9, 10, 11, 12, 24)] == [270, 270, 264, 264, 264]
    assert [int(raised(base, 36)) for base in (9, 10, 11, 12, 24)] == [36, 40, 44, 36, 48]


# ---- outcomes ------------------------------------------------------------------------------------------------------


def test_without_trump_ouvert_there_are_the_papers_397_outcomes() -> None:
    results = game_results(trump_ouvert=False)
    assert (sum(won for won, _ in results), sum(not won for won, _ in results)) == (60, 72)
    assert build(0, trump_ouvert=False)[0].num_labels == 397


@pytest.mark.parametrize("scoring", [0, 1])
def test_the_rules_give_412_outcomes_valued_by_equation_5(scoring: int) -> None:
    results = game_results()
    assert {value for won, value in results if won} == set(BIDS.tolist())
    table, keys = build(scoring)
    assert table.num_labels == len(np.unique(table.points, axis=0)) == 1 + 3 * len(results) == 412
    assert (np.diff(keys) > 0).all()
    expected = (table.points[:, 0] - table.points[:, 1:].mean(axis=1)) / 100
    np.testing.assert_allclose(table.utility(), expected, rtol=1e-6)
    np.testing.assert_allclose(table.utility("own"), table.points[:, 0] / 100)
    for row, key in zip(table.points, keys, strict=True):
        assert key_of(row.astype(np.int64), 0) == key
        for seat in range(3):
            assert key_of(row.astype(np.int64), seat) in keys


def test_without_overbids_there_would_be_379_outcomes() -> None:
    table, _ = build(1)
    kept = [row for row in table.points.astype(int) if row.min() >= 0 or -row.min() // 2 in BIDS]
    assert len(kept) == 379
