"""All of a deal in numbers, hidden cards included: the input of paper 002's networks ("Network Inputs and Outputs").

52 x 4 + 52 x 4 + 14 x 4 = 472 numbers, seat after seat, the given one first and then clockwise; the paper does not say
in which order its seats stand. They are for the play: before the first lead the tricks are empty.
"""

import numpy as np

from games.bits import mark
from games.compiling import kernel
from games.features import StateFeatures
from games.hearts.cards import BIT, HEARTS, NUM_CARDS, QUEEN_OF_SPADES, SORTED_CARDS
from games.hearts.rules import first_place

PENALTIES = np.array([QUEEN_OF_SPADES, *SORTED_CARDS[13 * HEARTS : 13 * (HEARTS + 1)]], np.int64)
"""``int64[14]``: the cards whose winner is a feature: the queen of spades, then the hearts from the two up."""
HANDS, TRICK, WON = 0, 4 * NUM_CARDS, 8 * NUM_CARDS
"""Where the three parts begin: cards that each seat holds, has played to this trick, has won."""
SIZE = WON + 4 * len(PENALTIES)


@kernel
def _fill(states, seats, numbers):
    for i in range(len(states)):
        state, row, observer = states[i], numbers[i], seats[i]
        public = state["public"]
        for position in range(4):
            seat = (observer + position) & 3
            mark(state["hands"][seat], row[HANDS + position * NUM_CARDS : HANDS + (position + 1) * NUM_CARDS])
            for nth in range(len(PENALTIES)):
                row[WON + position * len(PENALTIES) + nth] = public["taken"][seat] & BIT[PENALTIES[nth]] != 0
        played = public["num_played"] & 3
        last = first_place(public) + public["num_played"] - 1
        for back in range(played):
            position = (public["turn"] - 1 - back - observer) & 3
            row[TRICK + position * NUM_CARDS + state["tokens"][0, last - back]] = 1


def _encode(states: np.ndarray, seats: np.ndarray) -> np.ndarray:
    numbers = np.zeros((len(states), SIZE), np.uint8)
    _fill(states, np.asarray(seats, np.int64), numbers)
    return numbers


STATE_FEATURES = StateFeatures(
    "of each seat: its cards, its card in this trick, the queen and hearts it has won", SIZE, _encode
)
