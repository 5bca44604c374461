"""The 472 numbers of paper 002: by hand in one position, and against plain Python in thousands."""

import numpy as np

from games.hearts.cards import DIRECTIONS, POSITIONS, RANKS, SUITS, card_id
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many

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
    tokens = state["tokens"][0].tolist()
    first = 15 if tokens[0] == DIRECTIONS else 21
    plays = tokens[first : first + int(state["public"]["num_played"])]
    hands = [{NAMES[card] for card in range(52) if int(cards) >> card & 1} for cards in state["hands"]]
    trick: list[tuple[int, str]] = []
    won: list[set[str]] = [set(), set(), set(), set()]
    seat = tokens[first - 1] - POSITIONS
    for card in plays:
        trick.append((seat, NAMES[card]))
        seat = (seat + 1) % 4
        if len(trick) == 4:
            suit = trick[0][1][1]
            seat = max((who for who in trick if who[1][1] == suit), key=lambda who: RANKS.index(who[1][0]))[0]
            won[seat] |= {name for _, name in trick}
            trick = []
    seats = [(observer + position) % 4 for position in range(4)]
    numbers = [int(name in hands[seat]) for seat in seats for name in NAMES]
    numbers += [int((seat, name) in trick) for seat in seats for name in NAMES]
    return numbers + [int(name in won[seat]) for seat in seats for name in ["QS", *(rank + "H" for rank in RANKS)]]


def test_ten_thousand_positions_against_plain_python() -> None:
    rng, positions = np.random.default_rng(5), 0
    for game in (HeartsGame(**NO_PASS), HeartsGame()):
        states = game.deal(derive_many(3, 100))
        for _ in range(64):
            seats = rng.integers(0, 4, len(states))
            if (states["public"]["turn"] >= 0).all():
                numbers = encoded(game, states, seats)
                assert numbers.tolist() == [plainly(*row) for row in zip(states, seats, strict=True)]
                positions += len(states)
            legal = game.legal(states)
            game.play(states, np.where(legal, rng.random(legal.shape), -1).argmax(axis=1))
            states = states[game.to_move(states) >= 0]
    assert positions >= 10_000


def test_the_games_of_paper_002_begin_with_any_card_of_seat_0() -> None:
    game = make_game("hearts", NO_PASS)
    states = game.deal(derive_many(1, 50))
    assert (game.to_move(states) == 0).all()
    assert (game.legal(states).sum(axis=1) == 13).all()
