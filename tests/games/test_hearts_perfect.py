"""The 472 numbers of paper 002: by hand in one position, and against plain Python in thousands."""

import numpy as np
import pytest

from games.hearts.cards import RANKS, SUITS, card_id
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many
from tests.games.material import decisions, members
from tests.games.test_hearts_outcomes import parts, taken

NO_PASS = {"pass_cards": False, "no_pts_on_first_trick": False, "must_break_hearts": False, "free_first_lead": True}
NAMES = [rank + suit for rank in RANKS for suit in SUITS]


def encoded(game: HeartsGame, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
    features = game.state_features
    assert features is not None and features.size == 472
    numbers = features.encode(states, seats)
    assert numbers.shape == (len(states), 472) and numbers.dtype == np.uint8
    return numbers


def test_every_number_of_one_position_by_hand() -> None:
    game = HeartsGame(**NO_PASS)
    state = game.deal(np.arange(1, dtype=np.uint64))
    hands = ["2C 3C 4C 5C 2D 3D 4D 2H 3H 4H QS KS 2S", "6C 7C 8C 9C 5D 6D 7D 5H 6H 7H 3S 4S 5S"]
    hands += ["TC JC QC KC 8D 9D TD 8H 9H TH 6S 7S 8S", "AC JD QD KD AD JH QH KH AH 9S TS JS AS"]
    state["hands"] = [sum(1 << card_id(name) for name in hand.split()) for hand in hands]
    for name in ["2H", "5H", "8H", "JH", "AS", "2S", "3S"]:  # seat 3 wins four hearts, and leads spades
        game.play(state, np.array([card_id(name)]))
    assert game.to_move(state)[0] == 2
    (numbers,) = encoded(game, state, np.array([2]))
    expected = np.zeros(472, np.uint8)
    left = [hands[2], hands[3], hands[0], hands[1]]  # seat 2 first, then clockwise
    gone = ["2H", "5H", "8H", "JH", "AS", "2S", "3S"]
    for position, hand in enumerate(left):
        for name in hand.split():
            expected[52 * position + card_id(name)] = name not in gone
    for position, name in ((1, "AS"), (2, "2S"), (3, "3S")):
        expected[208 + 52 * position + card_id(name)] = 1
    for heart in (0, 3, 6, 9):  # two, five, eight and jack, behind the queen of spades
        expected[416 + 14 * 1 + 1 + heart] = 1
    assert numbers.tolist() == expected.tolist()
    assert expected.sum() == 52 - 7 + 3 + 4


def plainly(state: np.void, observer: int) -> list[int]:
    """The same numbers from the history of seat 0 alone, card by card."""
    tokens = state["tokens"][0, : state["lengths"][0]].tolist()
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
