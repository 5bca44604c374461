"""What Hearts tells of a history and of a deal: which outcomes can still come, features, and the 472 numbers of paper
002, against the history read in plain Python."""

from itertools import product

import numpy as np
import pytest

from games.hearts.cards import DIRECTIONS, JACK_OF_DIAMONDS, QUEEN_OF_SPADES, RANKS, SUITS, VOCABULARY
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many
from tests.games.material import decisions, histories_of, members
from tests.games.test_state_features import encoded

HEARTS, QUEEN = {VOCABULARY.names.index(f"{rank}H") for rank in "23456789TJQKA"}, VOCABULARY.names.index("QS")
SHARES = [
    (hearts, owner)
    for hearts in product(range(14), repeat=4)
    if sum(hearts) == 13
    for owner in range(4)
]  # fmt: skip


def parts(tokens: list[int]) -> tuple[list[int], list[int]]:
    """The cards played in a history, and the seats (relative to the observer) that played them; behind the last the
    seat that is next."""
    start = 15 if VOCABULARY.name(tokens[0]) == "hold" else 21
    if len(tokens) < start:
        return [], []
    plays, seats = tokens[start:], []
    turn = ["self", "left", "across", "right"].index(VOCABULARY.name(tokens[start - 1]))
    for first in range(0, len(plays) + 1, 4):
        trick = plays[first : first + 4]
        seats += [(turn + place) % 4 for place in range(min(len(trick) + 1, 4))]
        if len(trick) == 4:
            turn = seats[first + max(range(4), key=lambda at: (trick[at] % 4 == trick[0] % 4, trick[at]))]
    return plays, seats


def taken(tokens: list[int]) -> list[set[int]]:
    """The cards each seat (relative to the observer) has won with the plays of a history."""
    plays, seats = parts(tokens)
    won: list[set[int]] = [set(), set(), set(), set()]
    for first in range(0, len(plays) - 3, 4):
        trick = plays[first : first + 4]
        best = max(card for card in trick if card % 4 == trick[0] % 4)
        won[seats[first + trick.index(best)]] |= set(trick)
    return won


def ends(tokens: list[int], moon: str) -> set[tuple[float, ...]]:
    """Points of all seats in every end that what is left of the hearts and the queen can come to."""
    won, found = taken(tokens), set()
    for hearts, owner in SHARES:
        enough = all(hearts[seat] >= len(won[seat] & HEARTS) for seat in range(4))
        if enough and all(QUEEN not in won[seat] or seat == owner for seat in range(4)):
            points = [hearts[seat] + 13 * (seat == owner) for seat in range(4)]
            if 26 in points:
                others, shooter = (26, 0) if moon == "others_plus_26" else (0, -26)
                points = [shooter if p == 26 else others for p in points]
            found.add(tuple(map(float, points)))
    return found


@pytest.mark.parametrize("moon", ["others_plus_26", "shooter_minus_26"])
def test_an_outcome_is_possible_if_what_is_left_can_come_to_it(moon: str) -> None:
    game = HeartsGame(moon=moon)
    tokens, lengths = histories_of(game, 12, 5)
    cuts = np.random.default_rng(2).integers(25, lengths + 1)
    possible = game.view_outcomes(game.views(tokens, cuts))
    for row in range(12):
        history = [t for t in tokens[row, : cuts[row]].tolist() if t != VOCABULARY.eos]
        assert {tuple(game.outcomes.points[label]) for label in np.flatnonzero(possible[row])} == ends(history, moon)


def test_an_impossible_history_rules_out_nothing() -> None:
    game = HeartsGame()
    tokens, lengths = game.histories(game.deal(derive_many(5, 1)), np.zeros(1, np.int64))
    tokens[0, 2] = tokens[0, 1]  # dealt a card twice
    assert game.view_outcomes(game.views(tokens, lengths)).all()


GAME = HeartsGame()
TOKENS, LENGTHS = histories_of(GAME, 10, 3)
CASES = [(row, length) for row in range(10) for length in range(1, int(LENGTHS[row]), 3)]


def test_a_token_s_type_says_what_it_is_and_who_made_it() -> None:
    names = ["my play", "left's play", "across's play", "right's play"]
    for row, length in enumerate(LENGTHS):
        history = TOKENS[row, : length - 1].tolist()
        wanted = ["pass direction", *["card dealt to me"] * 13]
        if VOCABULARY.name(history[0]) != "hold":
            wanted += [*["card I pass"] * 3, *["card passed to me"] * 3]
        wanted += ["who leads first", *(names[seat] for seat in parts(history)[1][:52]), "end"]
        types = GAME.next_type(GAME.views(np.repeat(TOKENS[row : row + 1], length, axis=0), np.arange(length)))
        assert [GAME.token_types[kind] for kind in types] == wanted


def test_features_are_what_plain_python_reads_off_the_history() -> None:
    shown = 0
    for row, length in CASES:
        history, views = TOKENS[row, :length].tolist(), GAME.views(TOKENS[row : row + 1], np.array([length]))
        hand, gone, trick, points, voids = (
            GAME.features[name].encode(views)[0] for name in ("hand", "gone", "trick", "points", "voids")
        )
        (plays, seats), dealt = parts(history), set(history[1:14])
        hold = VOCABULARY.name(history[0]) == "hold"
        held = dealt if hold else dealt - set(history[14:17]) | set(history[17:20])
        assert set(np.flatnonzero(hand)) == held - set(plays) and set(np.flatnonzero(gone)) == set(plays)
        first = len(plays) // 4 * 4
        lying = plays[first:]
        assert set(np.flatnonzero(trick[:52])) == set(lying) and trick.any() == bool(lying)
        if lying:  # who is winning, and with what
            best = max(card for card in lying if card % 4 == lying[0] % 4)
            winner = seats[first + lying.index(best)]
            assert np.flatnonzero(trick[52:]).tolist() == [winner, 4 + best // 4, 17 + best % 4]
        for seat, won in enumerate(taken(history)):
            hearts, others = len(won & HEARTS), [QUEEN_OF_SPADES in won, JACK_OF_DIAMONDS in won]
            assert points[seat].tolist() == [1] * hearts + [0] * (13 - hearts) + others
        # A seat that did not follow suit is void, and nobody is who still holds the suit.
        for place, (card, seat) in enumerate(zip(*parts(TOKENS[row, : LENGTHS[row] - 1].tolist()), strict=False)):
            if seat and place >= len(plays):  # what it plays later, it holds now
                assert voids[seat - 1, card % 4] == 0
            elif seat and card % 4 != (led := plays[place // 4 * 4] % 4):
                assert voids[seat - 1, led] == 1
                shown += 1
    assert shown > 50


NO_PASS = {"pass_cards": False, "no_pts_on_first_trick": False, "must_break_hearts": False, "free_first_lead": True}
NAMES = [rank + suit for rank in RANKS for suit in SUITS]


def plainly(state: np.void, observer: int) -> list[int]:
    """The same numbers from the history of seat 0 alone, card by card."""
    first = 15 if state["tokens"][0, 0] == DIRECTIONS else 21
    tokens = state["tokens"][0, : first + int(state["public"]["num_played"])].tolist()
    plays, order = parts(tokens)
    trick = [(seat, NAMES[card]) for seat, card in zip(order, plays, strict=False)][len(plays) // 4 * 4 :]
    won = [{NAMES[card] for card in cards} for cards in taken(tokens)]
    hands = [{NAMES[card] for card in members(cards)} for cards in state["hands"]]
    seats = [(observer + position) % 4 for position in range(4)]
    numbers = [int(name in hands[seat]) for seat in seats for name in NAMES]
    numbers += [int((seat, name) in trick) for seat in seats for name in NAMES]
    return numbers + [int(name in won[seat]) for seat in seats for name in ["QS", *(rank + "H" for rank in RANKS)]]


@pytest.mark.parametrize("deals", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_a_hundred_positions_a_deal_against_plain_python(deals: int) -> None:
    rng, positions = np.random.default_rng(5), 0
    for game in (HeartsGame(**NO_PASS), HeartsGame()):
        for states, _, _ in decisions(game, deals, 3):
            if (states["public"]["turn"] >= 0).all():
                seats = rng.integers(0, 4, len(states))
                assert encoded(game, states, seats).tolist() == [
                    plainly(*row) for row in zip(states, seats, strict=True)
                ]
                positions += len(states)
    assert positions >= 100 * deals


def test_the_games_of_paper_002_begin_with_any_card_of_seat_0() -> None:
    game = make_game("hearts", NO_PASS)
    states = game.deal(derive_many(1, 50))
    assert (game.to_move(states) == 0).all()
    assert (game.legal(states).sum(axis=1) == 13).all()
