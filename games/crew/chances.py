"""Chances that follow from counting cards: what each other seat holds, and which seat wins a trick.

Every way to deal the unseen cards that a history allows counts alike, and cards are taken as independent. So these are
estimates. What a seat that ducks or tries to win does is given; nothing here says what a seat should do.

Chances are ``likely``, ``float64[4, 40]``, of a seat and a card, and ``chance``, ``float64[4, LEVELS]``, of the seat
that wins the trick and the level that it wins at. Seats are relative to the observer: itself, then clockwise.
"""

import numpy as np

from games.bits import count
from games.compiling import kernel
from games.crew.cards import HAND_SIZE, NUM_CARDS, ROCKET
from games.crew.knowing import unseen

LEVELS = 13
"""Levels of cards in a trick: value - 1 for the colour led, from 9 on for rockets."""
FIRST_ROCKET = 9


@kernel
def spread(view, likely):
    """Fill ``likely``: cards are spread over the seats that may hold them, until rows and columns add up. The own hand
    is known."""
    left = unseen(view)
    for card in range(NUM_CARDS):
        likely[0, card] = 1.0 if view["hand"] >> card & 1 != 0 else 0.0
        for seat in range(1, 4):
            likely[seat, card] = 1.0 if (view["possible"][seat] & left) >> card & 1 != 0 else 0.0
    for _ in range(3):
        for seat in range(1, 4):
            room, total = HAND_SIZE - count(view["public"]["shown"][seat]), 0.0
            for card in range(NUM_CARDS):
                total += likely[seat, card]
            if total > 0.0:
                for card in range(NUM_CARDS):
                    likely[seat, card] *= room / total
        for card in range(NUM_CARDS):
            total = likely[1, card] + likely[2, card] + likely[3, card]
            if total > 0.0:
                for seat in range(1, 4):
                    likely[seat, card] /= total


@kernel
def level_of(card):
    """Level of a card in a trick of its colour, or of a rocket in any trick."""
    return card - 27 if card >= 36 else card % 9


@kernel
def trick_winners(public, likely, card, wanting, barred, chance, before):
    """Fill ``chance`` for the observer's ``card``.

    Of the later seats those of the set ``wanting`` try to win, with their highest possible card or a rocket. The others
    play below whenever they can, and win only where their lowest card is too high; none of them wins by a card of the
    set ``barred``. ``before`` is scratch, like ``chance``.
    """
    chance[:] = 0.0
    colour = card // 9
    if public["trick"] == 0:
        led, winner, high = colour, 0, card
    else:
        led, winner, high = public["led"], public["winner"], public["high"]
        if card > high and colour in (led, ROCKET):
            winner, high = 0, card
    chance[winner, level_of(high)] = 1.0
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
                        _try_to_win(likely, seat, led, level, weight, chance)
                        if tries
                        else _duck(likely, seat, led, level, weight, barred, chance)
                    )
                    chance[holder, level] += left


@kernel
def owners_of(owned, cards):
    """The seats that own some of ``cards`` (``owned``, ``int64[4]`` sets), as a set: ``wanting`` of
    ``trick_winners``."""
    seats = np.int64(0)
    for seat in range(4):
        if owned[seat] & cards != 0:
            seats |= np.int64(1) << seat
    return seats


@kernel
def owned_by_others(owned, seats):
    """The cards (sets ``owned``, ``int64[4]``) of all seats but those of a set: ``barred`` of ``trick_winners``."""
    barred = np.int64(0)
    for seat in range(4):
        if seats >> seat & 1 == 0:
            barred |= owned[seat]
    return barred


@kernel
def _duck(likely, seat, led, high, weight, barred, chance):
    """A seat that ducks: it wins if its lowest card of the colour is above ``high``; returns the remaining weight."""
    first, size = led * 9, 4 if led == ROCKET else 9
    base = FIRST_ROCKET if led == ROCKET else 0
    left, none_below = weight, weight
    for n in range(size):
        held = likely[seat, first + n]
        if barred >> (first + n) & 1 != 0:
            continue
        if base + n > high:
            chance[seat, base + n] += none_below * held
            left -= none_below * held
        none_below *= 1.0 - held
        if none_below < 1e-6:
            break
    return max(left, 0.0)


@kernel
def _try_to_win(likely, seat, led, high, weight, chance):
    """A seat that tries to win: its highest possible card of the colour, a rocket without the colour; returns the
    weight of its failing to beat ``high``."""
    first, size = led * 9, 4 if led == ROCKET else 9
    base = FIRST_ROCKET if led == ROCKET else 0
    left, none_above = weight, weight
    for n in range(size - 1, -1, -1):
        held = likely[seat, first + n]
        if base + n > high:
            chance[seat, base + n] += none_above * held
            left -= none_above * held
        none_above *= 1.0 - held
    if led != ROCKET and high < FIRST_ROCKET:
        rocket = none_above * (1.0 - is_void(likely, seat, ROCKET))
        chance[seat, FIRST_ROCKET + 1] += rocket
        left -= rocket
    return max(left, 0.0)


@kernel
def is_void(likely, seat, colour):
    """Estimated chance that a seat has no card of a colour."""
    chance = 1.0
    for card in range(colour * 9, min(colour * 9 + 9, NUM_CARDS)):
        chance *= 1.0 - likely[seat, card]
    return chance


@kernel
def only_holds(likely, seat, card):
    """Estimated chance that a seat holds a card and no other of its colour."""
    chance = likely[seat, card]
    colour = card // 9
    for other in range(colour * 9, min(colour * 9 + 9, NUM_CARDS)):
        if other != card:
            chance *= 1.0 - likely[seat, other]
    return chance
