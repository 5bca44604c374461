"""Decisions about distress, which the estimates of ``games.crew.estimates`` do not make."""

import numpy as np

from games.bits import BIT, count, lowest
from games.compiling import kernel
from games.crew.cards import COLOUR_CARDS, NO, YES
from games.crew.estimates.hand import ease

_HARD = 0.2
"""An own task in the hand with a lower chance is worth a distress signal."""


@kernel
def choose_signal(view):
    """``yes`` where the hand holds an own task that it will hardly win."""
    card = _hardest_own_task(view)
    return np.int64(YES if card >= 0 and ease(view["hand"], card) < _HARD else NO)


@kernel
def choose_pass(view):
    """The card of the own task that the hand will hardly win, so that its receiver can play it to us; else the lowest
    card of the shortest colour."""
    hand = view["hand"]
    card = _hardest_own_task(view)
    if card >= 0 and ease(hand, card) < _HARD:
        return np.int64(card)
    shortest, fewest = np.int64(-1), 10
    for colour in range(4):
        held = hand & COLOUR_CARDS[colour]
        if held != 0 and count(held) < fewest:
            shortest, fewest = np.int64(lowest(held)), count(held)
    return shortest


@kernel
def _hardest_own_task(view):
    """The own task in the hand with the lowest chance, -1 without one."""
    public, hand = view["public"], view["hand"]
    hardest, least = np.int64(-1), np.inf
    for n in range(public["num_laid"]):
        card = public["tasks"][n]
        if public["owners"][n] == 0 and hand & BIT[card] != 0 and ease(hand, card) < least:
            hardest, least = np.int64(card), ease(hand, card)
    return hardest
