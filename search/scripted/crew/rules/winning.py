"""Chance of every seat to win the trick, once the player has played a card.

Cards already played are known. Of the later seats, some try to win, with their highest possible card or a rocket; the
others play below whenever they can, and win only where their lowest card is too high.
"""

import numpy as np

from games.compiling import kernel
from games.crew.cards import NUM_CARDS, ROCKET
from search.scripted.crew.rules.notes import LEVELS

FIRST_ROCKET = 9


@kernel
def level_of(card):
    """Level of a card in a trick of its colour, or of a rocket in any trick."""
    return card - 27 if card >= 36 else card % 9


@kernel
def estimate(public, notes, card, wanting):
    """Fill ``chance`` for the player's ``card``; the seats of the set ``wanting`` try to win."""
    chance, before = notes["chance"], notes["before"]
    chance[:] = 0.0
    colour = card // 9
    if public["trick"] == 0:
        led, winner, high = colour, 0, card
    else:
        led, winner, high = public["led"], public["winner"], public["high"]
        if card > high and colour in (led, ROCKET):
            winner, high = 0, card
    chance[winner, level_of(high)] = 1.0
    barred = np.int64(0)
    for seat in range(4):
        if wanting >> seat & 1 == 0:
            barred |= notes["owned"][seat]
    played = public["num_played"] & 3
    for seat in range(1, 4 - played):
        before[:] = chance
        chance[:] = 0.0
        for holder in range(4):
            for level in range(LEVELS):
                weight = before[holder, level]
                if weight > 0.0:
                    tries = wanting >> seat & 1 != 0 and wanting >> holder & 1 == 0
                    left = (
                        _try_to_win(notes, seat, led, level, weight)
                        if tries
                        else _duck(notes, seat, led, level, weight, barred)
                    )
                    chance[holder, level] += left


@kernel
def _duck(notes, seat, led, high, weight, barred):
    """A seat that ducks: it wins if its lowest card of the colour is above ``high``; returns the remaining weight."""
    first, size = led * 9, 4 if led == ROCKET else 9
    base = FIRST_ROCKET if led == ROCKET else 0
    left, none_below = weight, weight
    for n in range(size):
        chance = notes["likely"][seat, first + n]
        if barred >> (first + n) & 1 != 0:
            continue
        if base + n > high:
            notes["chance"][seat, base + n] += none_below * chance
            left -= none_below * chance
        none_below *= 1.0 - chance
        if none_below < 1e-6:
            break
    return max(left, 0.0)


@kernel
def _try_to_win(notes, seat, led, high, weight):
    """A seat that tries to win: its highest possible card of the colour, a rocket without the colour; returns the
    weight of its failing to beat ``high``."""
    first, size = led * 9, 4 if led == ROCKET else 9
    base = FIRST_ROCKET if led == ROCKET else 0
    left, none_above = weight, weight
    for n in range(size - 1, -1, -1):
        chance = notes["likely"][seat, first + n]
        if base + n > high:
            notes["chance"][seat, base + n] += none_above * chance
            left -= none_above * chance
        none_above *= 1.0 - chance
    if led != ROCKET and high < FIRST_ROCKET:
        rocket = none_above * (1.0 - is_void(notes, seat, ROCKET))
        notes["chance"][seat, FIRST_ROCKET + 1] += rocket
        left -= rocket
    return max(left, 0.0)


@kernel
def is_void(notes, seat, colour):
    """Estimated chance that a seat has no card of a colour."""
    chance = 1.0
    for card in range(colour * 9, min(colour * 9 + 9, NUM_CARDS)):
        chance *= 1.0 - notes["likely"][seat, card]
    return chance


@kernel
def only_holds(notes, seat, card):
    """Estimated chance that a seat holds a card and no other of its colour."""
    chance = notes["likely"][seat, card]
    colour = card // 9
    for other in range(colour * 9, min(colour * 9 + 9, NUM_CARDS)):
        if other != card:
            chance *= 1.0 - notes["likely"][seat, other]
    return chance


@kernel
def wins(notes, seat):
    """Chance that a seat wins the trick, after ``estimate``."""
    total = 0.0
    for level in range(LEVELS):
        total += notes["chance"][seat, level]
    return total
