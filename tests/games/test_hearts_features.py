"""What the rules of Hearts tell of a history, against the history read in plain Python and against the true hands."""

import numpy as np

from games.hearts.cards import JACK_OF_DIAMONDS, QUEEN_OF_SPADES, VOCABULARY
from games.hearts.game import HeartsGame
from tests.games.material import played
from tests.games.test_hearts_outcomes import HEARTS, parts, taken

GAME = HeartsGame()
TOKENS, LENGTHS = GAME.histories(played(GAME, 10, 3), np.arange(10) % 4)
CASES = [(row, length) for row in range(10) for length in range(1, int(LENGTHS[row]), 3)]


def told(name: str, row: int, length: int) -> np.ndarray:
    """A feature of the beginning of a history."""
    return GAME.features[name].encode(GAME.views(TOKENS[row : row + 1], np.array([length])))[0]


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


def test_hand_and_gone_are_the_cards_held_and_the_cards_played() -> None:
    for row, length in CASES:
        history = TOKENS[row, :length].tolist()
        plays, hold = set(parts(history)[0]), VOCABULARY.name(history[0]) == "hold"
        held = set(history[1:14]) if hold else set(history[1:14]) - set(history[14:17]) | set(history[17:20])
        assert set(np.flatnonzero(told("hand", row, length))) == held - plays
        assert set(np.flatnonzero(told("gone", row, length))) == plays


def test_trick_is_what_lies_on_the_table_and_who_is_winning() -> None:
    for row, length in CASES:
        plays, seats = parts(TOKENS[row, :length].tolist())
        feature, first = told("trick", row, length), len(plays) // 4 * 4
        trick = plays[first:]
        if not trick:
            assert not feature.any()
            continue
        best = max(card for card in trick if card % 4 == trick[0] % 4)
        assert set(np.flatnonzero(feature[:52])) == set(trick)
        assert np.flatnonzero(feature[52:56]).tolist() == [seats[first + trick.index(best)]]
        assert np.flatnonzero(feature[56:]).tolist() == [best // 4, 13 + best % 4]


def test_points_are_the_hearts_the_queen_and_the_jack_that_each_seat_has_taken() -> None:
    for row, length in CASES:
        for seat, won in enumerate(taken(TOKENS[row, :length].tolist())):
            feature, hearts = told("points", row, length)[seat], len(won & HEARTS)
            assert feature[:13].tolist() == [1] * hearts + [0] * (13 - hearts)
            assert feature[13:].tolist() == [QUEEN_OF_SPADES in won, JACK_OF_DIAMONDS in won]


def test_a_seat_that_did_not_follow_suit_is_void_and_nobody_is_who_still_holds_the_suit() -> None:
    shown = 0
    for row, length in CASES:
        feature, seen = told("voids", row, length), len(parts(TOKENS[row, :length].tolist())[0])
        plays, seats = parts(TOKENS[row, : LENGTHS[row] - 1].tolist())
        for place, (card, seat) in enumerate(zip(plays, seats, strict=False)):
            led = plays[place // 4 * 4] % 4
            if seat and place < seen and card % 4 != led:
                assert feature[seat - 1, led] == 1
                shown += 1
            if seat and place >= seen:  # what it plays later, it holds now
                assert feature[seat - 1, card % 4] == 0
    assert shown > 50
