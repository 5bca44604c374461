"""Features of one seat's history by the rules of Hearts: whose token comes next, its kind, and where cards are; below
them all of a deal in numbers.

Seats are relative to the observer, as in ``games.hearts.view``. Nothing here is strategy: every number can be read off
the cards seen so far.
"""

import numpy as np

from games.batches import feature
from games.bits import count, mark
from games.compiling import kernel
from games.features import FeatureSet, StateFeatures
from games.game import Next
from games.hearts.cards import (
    BIT,
    HEART_CARDS,
    HEARTS,
    JACK_SET,
    NUM_CARDS,
    PASSED_AT,
    QUEEN_OF_SPADES,
    QUEEN_SET,
    RECEIVED_AT,
    SORTED_CARDS,
    SUIT_CARDS,
)
from games.hearts.hidden import unseen
from games.hearts.rules import first_place
from games.hearts.view import next_of

TOKEN_TYPES = (
    "pass direction",
    "card dealt to me",
    "card I pass",
    "card passed to me",
    "who leads first",
    "my play",
    "left's play",
    "across's play",
    "right's play",
    "end",
)
_END = int(Next.END)
FEATURES: dict[str, FeatureSet] = {}


@kernel
def next_type(view):
    """Index of the type of the next token."""
    length, first = view["length"], first_place(view["public"])
    if next_of(view) == _END:
        return 9
    if length == 0:
        return 0
    if length >= first:
        return 5 + view["public"]["turn"]
    if length < PASSED_AT:
        return 1
    if length == first - 1:
        return 4
    return 2 if length < RECEIVED_AT else 3


@feature(FEATURES, "the cards I hold", NUM_CARDS)
def _hand(view, row):
    mark(view["hand"], row)


@feature(FEATURES, "the cards played so far", NUM_CARDS)
def _gone(view, row):
    shown = view["shown"]
    mark(shown[0] | shown[1] | shown[2] | shown[3], row)


@feature(FEATURES, "the cards of this trick; who is winning it, by which rank and suit", NUM_CARDS + 21)
def _trick(view, row):
    public = view["public"]
    mark(public["trick"], row)
    if public["trick"] != 0:
        row[NUM_CARDS + public["winner"]] = 1
        row[NUM_CARDS + 4 + (public["high"] >> 2)] = 1
        row[NUM_CARDS + 17 + public["led"]] = 1


@feature(FEATURES, "of each seat: a 1 for each heart taken (13 places), for the queen, for the jack", 4, 15)
def _points(view, row):
    for seat in range(4):
        taken = view["public"]["taken"][seat]
        row[seat, : count(taken & HEART_CARDS)] = 1
        row[seat, 13] = taken & QUEEN_SET != 0
        row[seat, 14] = taken & JACK_SET != 0


@feature(FEATURES, "of each other seat: suits of which it can hold no card that has not been seen", 3, 4)
def _voids(view, row):
    if view["length"] < first_place(view["public"]):
        return
    cards = unseen(view)
    for seat in range(1, 4):
        for suit in range(4):
            row[seat - 1, suit] = cards & view["possible"][seat] & SUIT_CARDS[suit] == 0


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
"""All of a deal, hidden cards included: the input of paper 002's networks ("Network Inputs and Outputs").

52 x 4 + 52 x 4 + 14 x 4 = 472 numbers, seat after seat, the given one first and then clockwise; the paper does not say
in which order its seats stand. They are for the play: before the first lead the tricks are empty.
"""
