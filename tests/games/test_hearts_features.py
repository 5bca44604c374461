"""What the rules of Hearts tell of a history, against the history read in plain Python and against the true hands."""

import numpy as np

from games.hearts.cards import JACK_OF_DIAMONDS, QUEEN_OF_SPADES, VOCABULARY
from games.hearts.game import HeartsGame
from games.rng import derive_many
from tests.games.test_hearts_outcomes import HEARTS, taken

GAME = HeartsGame()
STATES = GAME.deal(derive_many(3, 10))
GAME.playout(STATES, derive_many(4, 10))
TOKENS, LENGTHS = GAME.histories(STATES, np.arange(10) % 4)


def told(name: str, row: int, length: int) -> np.ndarray:
    """A feature of the beginning of a history."""
    return GAME.features[name].encode(GAME.views(TOKENS[row : row + 1], np.array([length])))[0]


def parts(row: int, length: int) -> tuple[list[int], list[int], int]:
    """The beginning of a history, the cards played in it, and the place of the first of them."""
    history = TOKENS[row, :length].tolist()
    start = 15 if VOCABULARY.name(TOKENS[row, 0]) == "hold" else 21
    return history, history[start:], start


def cases() -> list[tuple[int, int]]:
    return [(row, length) for row in range(10) for length in range(1, int(LENGTHS[row]), 3)]


def test_a_token_s_type_says_what_it_is_and_who_made_it() -> None:
    seats = ["my play", "left's play", "across's play", "right's play"]
    for row in range(10):
        hold = VOCABULARY.name(TOKENS[row, 0]) == "hold"
        wanted = ["pass direction", *["card dealt to me"] * 13]
        wanted += [] if hold else [*["card I pass"] * 3, *["card passed to me"] * 3]
        wanted.append("who leads first")
        plays = TOKENS[row, len(wanted) : LENGTHS[row] - 1].tolist()
        turn = ["self", "left", "across", "right"].index(VOCABULARY.name(TOKENS[row, len(wanted) - 1]))
        for first in range(0, 52, 4):
            trick = plays[first : first + 4]
            wanted += [seats[(turn + place) % 4] for place in range(4)]
            best = max(card for card in trick if card % 4 == trick[0] % 4)
            turn = (turn + trick.index(best)) % 4
        wanted.append("end")
        lengths = np.arange(LENGTHS[row])
        types = GAME.next_type(GAME.views(np.repeat(TOKENS[row : row + 1], len(lengths), axis=0), lengths))
        assert [GAME.token_types[kind] for kind in types] == wanted


def test_hand_and_gone_are_the_cards_held_and_the_cards_played() -> None:
    for row, length in cases():
        history, plays, start = parts(row, length)
        held = set(history[1:14]) - set(history[14:17] if start == 21 else [])
        held |= set(history[17:20] if start == 21 else [])
        assert set(np.flatnonzero(told("hand", row, length))) == held - set(plays)
        assert set(np.flatnonzero(told("gone", row, length))) == set(plays)


def test_trick_is_what_lies_on_the_table_and_who_is_winning() -> None:
    for row, length in cases():
        history, plays, start = parts(row, length)
        feature, trick = told("trick", row, length), plays[len(plays) // 4 * 4 :]
        if not trick:
            assert not feature.any()
            continue
        turn = ["self", "left", "across", "right"].index(VOCABULARY.name(history[start - 1]))
        for first in range(0, len(plays) // 4 * 4, 4):
            whole = plays[first : first + 4]
            turn = (turn + whole.index(max(card for card in whole if card % 4 == whole[0] % 4))) % 4
        best = max(card for card in trick if card % 4 == trick[0] % 4)
        assert set(np.flatnonzero(feature[:52])) == set(trick)
        assert np.flatnonzero(feature[52:56]).tolist() == [(turn + trick.index(best)) % 4]
        assert np.flatnonzero(feature[56:69]).tolist() == [best // 4]
        assert np.flatnonzero(feature[69:]).tolist() == [best % 4]


def test_points_are_the_hearts_the_queen_and_the_jack_that_each_seat_has_taken() -> None:
    for row, length in cases():
        history, _, _ = parts(row, length)
        for seat, won in enumerate(taken(history)):
            feature, hearts = told("points", row, length)[seat], len(won & HEARTS)
            assert feature[:13].tolist() == [1] * hearts + [0] * (13 - hearts)
            assert feature[13:].tolist() == [QUEEN_OF_SPADES in won, JACK_OF_DIAMONDS in won]


def test_a_seat_that_did_not_follow_suit_is_void_and_nobody_is_who_still_holds_the_suit() -> None:
    shown = 0
    for row, length in cases():
        history, plays, start = parts(row, length)
        feature = told("voids", row, length)
        if length < start:
            assert not feature.any()
            continue
        turn = ["self", "left", "across", "right"].index(VOCABULARY.name(history[start - 1]))
        order = []
        for first in range(0, 52, 4):
            whole = TOKENS[row, start + first : start + first + 4].tolist()
            order += [(turn + place) % 4 for place in range(4)]
            turn = (turn + whole.index(max(card for card in whole if card % 4 == whole[0] % 4))) % 4
        for place, card in enumerate(plays):
            led = plays[place // 4 * 4] % 4
            if card % 4 != led and order[place] != 0:
                assert feature[order[place] - 1, led] == 1
                shown += 1
        for place in range(len(plays), 52):  # what it plays later, it holds now
            if order[place] != 0:
                assert feature[order[place] - 1, TOKENS[row, start + place] % 4] == 0
    assert shown > 50
