"""Special rules about cards: progress by a trick, and the value of cards for them."""

import numpy as np

from games.bits import BIT, count
from games.compiling import kernel
from games.crew.cards import COLOUR_CARDS, NINES, ROCKET, ROCKET_CARDS
from games.crew.chances import FIRST_ROCKET, is_void
from games.crew.missions import (
    A_1_WINS,
    EXACTLY_ONE,
    FOUR_AND_LAST,
    NO_9_WINS,
    ONLY_ENDS,
    ROCKETS_IN_ORDER,
    ROCKETS_WIN,
    SICK,
    TWO_1S_WIN,
)

_TRICKS = 3.0
"""Tricks that each goal of special rules takes."""


@kernel
def special_value(public, notes, content, led, winner, level, tricks_left):
    """Chance of success by the special rules."""
    special = public["special"]
    if special == 0:
        return 1.0
    done = _special_progress(public, content, led, winner, level)
    if done < 0:
        return 0.0
    each = 0.9 * (1.0 - np.exp(-tricks_left / _TRICKS))
    value = each ** max(0, notes["goals"] - done)
    if special & (ROCKETS_WIN | ROCKETS_IN_ORDER) == 0:
        return value
    if led == ROCKET:
        return value * _no_rocket_behind(public, notes)
    if content & ROCKET_CARDS == 0:
        return value + _ruffed(public, notes, led) * (each ** max(0, notes["goals"] - 1) - value)
    return value


@kernel
def _ruffed(public, notes, led):
    """Chance that a later seat wins the trick with a rocket that has to win one."""
    none = 1.0
    for seat in range(1, 4 - (public["num_played"] & 3)):
        holds = 1.0 - is_void(notes["likely"], seat, ROCKET)
        if public["special"] & ROCKETS_IN_ORDER != 0:
            holds = notes["likely"][seat, min(39, 36 + public["progress"])]
        none *= 1.0 - holds * is_void(notes["likely"], seat, led)
    return 1.0 - none


@kernel
def _no_rocket_behind(public, notes):
    """Chance that no later seat has to follow with a rocket."""
    chance = 1.0
    for seat in range(1, 4 - (public["num_played"] & 3)):
        chance *= is_void(notes["likely"], seat, ROCKET)
    return chance


@kernel
def _special_progress(public, content, led, winner, level):
    """Goals of special rules that the trick meets, -1 if it breaks one."""
    special, named = public["special"], public["named"] == winner
    rocket = level >= FIRST_ROCKET
    if special & (EXACTLY_ONE | ONLY_ENDS) != 0 and named and rocket:
        return -1
    if special & EXACTLY_ONE != 0:
        return int(named)
    if special & NO_9_WINS != 0:
        if level == 8 and not rocket:
            return -1
        return count(content & NINES)
    if special & (A_1_WINS | TWO_1S_WIN) != 0:
        return int(level == 0)
    if special & (ROCKETS_WIN | ROCKETS_IN_ORDER) != 0:
        rockets = content & ROCKET_CARDS
        if rockets & (rockets - 1) != 0:
            return -1
        if rockets != 0:
            wrong = special & ROCKETS_IN_ORDER != 0 and rockets != BIT[36 + public["progress"]]
            return -1 if wrong or BIT[27 + level] != rockets else 1
        return -1 if rocket else 0
    return 0


@kernel
def worth_for_special(public, notes, special, hand, card, share):
    """Gain in the chance of success by special rules from keeping a colour card; ``share``: of the unseen cards of its
    colour, those that it beats."""
    named = public["named"] == 0
    worth = 0.0
    if special & (SICK | EXACTLY_ONE | ONLY_ENDS) != 0:
        worth += -0.2 * share if named else 0.1 * share
    if special & ONLY_ENDS != 0:
        if named and share == 1.0 and public["num_played"] >= 4:
            worth += 0.5
        if not named:
            worth += 0.2 * (1.0 - share)
    if special & FOUR_AND_LAST != 0:
        if named and public["num_played"] < 16:
            worth += 0.1 * share
        else:
            worth += -0.1 * share if named or public["last"] == 0 else 0.05 * share
    if special & NO_9_WINS != 0 and NINES >> card & 1 != 0:
        worth -= 0.1
    if special & (A_1_WINS | TWO_1S_WIN) != 0:
        one, length = card // 9 * 9, count(hand & COLOUR_CARDS[card // 9])
        if card == one:
            worth += 0.1 + 0.05 * length
        else:
            for seat in range(1, 4):
                if public["said"][seat] == one and notes["unseen"] >> one & 1 != 0:
                    worth -= 0.05
    if special & (ROCKETS_WIN | ROCKETS_IN_ORDER) != 0 and hand & COLOUR_CARDS[ROCKET] != 0:
        worth -= 0.02 / count(hand & COLOUR_CARDS[card // 9])
    return worth
