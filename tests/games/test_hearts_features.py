"""What the rules of Hearts tell of a history, against the history read in plain Python and against the true hands."""

import numpy as np

from games.compiled import blank
from games.hearts.cards import EOS, JACK_OF_DIAMONDS, QUEEN_OF_SPADES, VOCABULARY, card_id
from games.hearts.game import HeartsGame
from games.hearts.state import STATE, deal_hands
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


def order_of(row: int) -> list[int]:
    """The seats of all 52 plays of a history."""
    _, plays, start = parts(row, int(LENGTHS[row]) - 1)
    turn, order = ["self", "left", "across", "right"].index(VOCABULARY.name(TOKENS[row, start - 1])), list[int]()
    for first in range(0, 52, 4):
        whole = plays[first : first + 4]
        order += [(turn + place) % 4 for place in range(4)]
        turn = (turn + whole.index(max(card for card in whole if card % 4 == whole[0] % 4))) % 4
    return order


def cases() -> list[tuple[int, int]]:
    return [(row, length) for row in range(10) for length in range(1, int(LENGTHS[row]))]


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
        _, plays, start = parts(row, length)
        feature = told("voids", row, length)
        if length < start:
            assert not feature.any()
            continue
        order = order_of(row)
        for place, card in enumerate(plays):
            led = plays[place // 4 * 4] % 4
            if card % 4 != led and order[place] != 0:
                assert feature[order[place] - 1, led] == 1
                shown += 1
        for place in range(len(plays), 52):  # what it plays later, it holds now
            if order[place] != 0:
                assert feature[order[place] - 1, TOKENS[row, start + place] % 4] == 0
    assert shown > 50


# ---- choices -------------------------------------------------------------------------------------------------------

HANDS = (
    "2C 9C 4D JD 3H 9H KH 2S 6S 9S JS KS AS",
    "QC KC AC 2D 3D 5D 6D 7D 8D 9D TD 2H 4H",
    "3C 4C 5C 6C QD 5H 6H 7H 8H 3S 4S 5S QS",
    "7C 8C TC JC KD AD TH JH QH AH 7S 8S TS",
)


def choices(seat: int, plays: str) -> np.ndarray:
    """What ``choices`` tells a seat of ``HANDS``, dealt without passing, once these cards were played."""
    states = blank(STATE, GAME.template, EOS, 1)
    deal_hands(states[0], 0, np.array([sum(1 << card_id(card) for card in hand.split()) for hand in HANDS]))
    for card in plays.split():
        GAME.play(states, np.array([card_id(card)]))
    return GAME.features["choices"].encode(GAME.views(*GAME.histories(states, np.array([seat]))))[0]


def test_choices_tell_what_every_card_in_hand_means() -> None:
    """The first five numbers are the card's kind and my others of its suit, the next four those of the others."""
    numbers = choices(2, "2C AC")
    assert numbers[card_id("QS")].tolist() == [0, 1, 0, 3, 2, 7, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    assert numbers[card_id("3C")].tolist() == [0, 0, 3, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0]
    assert numbers[card_id("5H")].tolist() == [1, 0, 3, 0, 6, 3, 0, 0, 0, 0, 1, 0, 1, 1, 1]
    # Left could not follow spades twice; the king and seven other spades are gone, the five and the queen are out.
    numbers = choices(0, "2C AC 3C 7C 2D QD KD 4D 7S KS 4H 3S 2S 2H 4S 8S TS")
    held = {"9C", "JD", "3H", "9H", "KH", "6S", "9S", "JS", "AS"}
    assert {VOCABULARY.name(card) for card in np.flatnonzero(numbers.any(axis=1))} == held
    assert numbers[card_id("AS")].tolist() == [0, 0, 0, 3, 0, 2, 1, 1, 1, 1, 0, 0, 2, 0, 1]
    assert numbers[card_id("9S")].tolist() == [0, 0, 2, 1, 1, 1, 1, 1, 1, 0, 0, 0, 2, 1, 1]
    assert numbers[card_id("KH")].tolist() == [1, 0, 0, 2, 1, 7, 0, 0, 0, 0, 1, 0, 2, 2, 2]
    # Now all spades but mine are gone, and the queen of hearts lies on the table.
    numbers = choices(0, "2C AC 3C 7C 2D QD KD 4D 7S KS 4H 3S 2S 2H 4S 8S TS 6S TD QS 5S QH")
    assert numbers[card_id("JS")].tolist() == [0, 0, 1, 1, 0, 0, 0, 3, 1, 1, 1, 0, 1, 0, 0]
    # To lead, every card is the best so far; where somebody else is to play, nothing is said.
    assert choices(0, "")[card_id("2C")].tolist() == [0, 0, 1, 0, 11, 0, 0, 0, 0, 1, 0, 0, 3, 3, 0]
    assert not choices(1, "").any()


def test_choices_are_what_plain_python_reads_off_the_cards() -> None:
    """Who holds a card can hold it: for the last two numbers the true hands say the least that can be told."""
    compared = 0
    for row, length in cases():
        _, plays, start = parts(row, length)
        numbers, order = told("choices", row, length), order_of(row)
        to_come = [(order[place], int(TOKENS[row, start + place])) for place in range(len(plays), 52)]
        hand = set(np.flatnonzero(told("hand", row, length))) if length >= 14 else set[int]()
        others = [card for card in range(52) if card not in hand and card not in plays]
        trick = plays[len(plays) // 4 * 4 :] if plays or length == start else []
        playing = length >= start and to_come != [] and order[len(plays)] == 0
        assert not numbers[[card for card in range(52) if card not in hand]].any()
        if not playing and not 14 <= length < 17 <= start - 4:
            assert not numbers.any()
            continue
        for card in hand:
            compared += 1
            mine, left = ([o for o in cards if o % 4 == card % 4] for cards in (hand - {card}, others))
            expected = [card % 4 == 2, card == QUEEN_OF_SPADES, *split(mine, card), *split(left, card)]
            assert numbers[card, :7].tolist() == [*expected, QUEEN_OF_SPADES in left]
            voids = told("voids", row, length)[:, card % 4]
            assert numbers[card, 7] == voids.sum() <= 3
            if not playing:
                assert not numbers[card, 8:].any()
                continue
            whole, behind = [*trick, card], range(1, 4 - len(trick))
            best = max(other for other in whole if other % 4 == whole[0] % 4)
            expected = [trick != [] and trick[0] % 4 == card % 4, best == card, sum(o % 4 == 2 for o in whole)]
            assert numbers[card, 8:13].tolist() == [*expected, QUEEN_OF_SPADES in whole, len(behind)]
            held = [[o for seat, o in to_come if seat == other and o % 4 == card % 4] for other in behind]
            least = np.array([[above > 0, below > 0] for above, below in (split(cards, card) for cards in held)])
            most = len(behind) - voids[: len(behind)].sum()
            assert (numbers[card, 13:] <= most).all() and (numbers[card, 13:] >= least.reshape(-1, 2).sum(axis=0)).all()
    assert compared > 1000


def split(cards: list[int], card: int) -> tuple[int, int]:
    """How many of these lie above a card, and below."""
    return sum(other > card for other in cards), sum(other < card for other in cards)
