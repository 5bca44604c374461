"""Decisions before the first trick: tasks, tiles, replies and roles."""

import numpy as np

from games.bits import count, lowest
from games.compiling import kernel
from games.crew.cards import (
    BIT,
    COLOUR_CARDS,
    DECIDED,
    DECLINE,
    DISTRIBUTED,
    FIRST_POSITION,
    NO,
    ROCKET_CARDS,
    YES,
)
from games.crew.legal import free_tasks, may_be_named
from games.crew.missions import EXACTLY_ONE, FOUR_AND_LAST, ONLY_ENDS, SICK
from search.scripted.crew.rules.hand import control, ease, safety

_HARD = 0.2
"""An own task in the hand with a lower chance is worth a distress signal."""


@kernel
def choose_task(view):
    """The task that the hand fulfils best, compared with the others' chances."""
    best, most = np.int64(-1), -np.inf
    rest = free_tasks(view["public"])
    while rest != 0:
        card = lowest(rest)
        rest &= rest - 1
        worth = ease(view["hand"], card) - 0.67 * _ease_of_others(view["hand"], card)
        if worth > most:
            best, most = np.int64(card), worth
    return best


@kernel
def _ease_of_others(hand, card):
    """Chance of the best other seat to fulfil a task."""
    higher = COLOUR_CARDS[card // 9] & ~(BIT[card] - 1)
    left = count(higher & ~hand)
    return 0.13 + 0.33 * left / max(1, count(higher))


@kernel
def choose_reply(view):
    """``yes`` where the hand suits the polled role."""
    public, hand = view["public"], view["hand"]
    special = public["special"]
    if public["allocation"] == DISTRIBUTED:
        good = ease(hand, public["tasks"][public["num_laid"] - 1]) > 0.5
    elif public["allocation"] == DECIDED:
        good = control(hand) > 2.8
    elif special & SICK != 0:
        good = safety(hand) > 0.6
    elif special & (EXACTLY_ONE | ONLY_ENDS) != 0:
        good = safety(hand) > 0.4
    elif special & FOUR_AND_LAST != 0 and public["named"] < 0:
        good = control(hand) > 3.0
    else:
        good = hand & ROCKET_CARDS != 0
    return np.int64(YES if good else NO)


@kernel
def choose_seat(view, replies):
    """The first position that said ``yes`` in the last poll, or the player itself where that is allowed and its hand is
    as good; ``replies`` (``int64[4]``): 1 for ``yes``, by seat."""
    public, hand = view["public"], view["hand"]
    best, most = np.int64(-1), -np.inf
    for seat in range(4):
        if not may_be_named(public, seat):
            continue
        worth = 1.0 if replies[seat] != 0 else 0.0
        if seat == 0:
            worth = _own_worth(public, hand)
        worth -= 0.1 * _num_tasks(public, seat)
        if worth > most:
            best, most = np.int64(FIRST_POSITION + seat), worth
    return best


@kernel
def _num_tasks(public, seat):
    number = 0
    for n in range(public["num_laid"]):
        number += int(public["owners"][n] == seat)
    return number


@kernel
def _own_worth(public, hand):
    if public["allocation"] == DISTRIBUTED:
        return 1.5 * ease(hand, public["tasks"][public["num_laid"] - 1])
    if public["special"] & FOUR_AND_LAST != 0:
        return 1.5 if public["named"] >= 0 else 0.0  # rocket 4 wins the last trick
    return 0.5


@kernel
def choose_tile():
    """Leave tiles in place."""
    return np.int64(DECLINE)


# ---- distress ------------------------------------------------------------------------------------------------------


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
