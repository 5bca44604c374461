"""Chances that follow from counting cards: what the seats behind the observer can do to a card that it plays.

Every way to divide the unseen cards among the other hands that a history allows counts alike. A seat that ducks, beats
or plays anything is given; nothing here says what a seat should do. Seats are relative to the observer, and a set of
seats has bit 1 for left, 2 for across, 3 for right.
"""

from math import comb

import numpy as np

from games.bits import BIT, count
from games.compiling import kernel
from games.hearts.cards import NUM_CARDS, QUEEN_SET, SPADES, SUIT_CARDS
from games.hearts.hidden import room, unseen
from games.hearts.rules import card_points

_CHOOSE = np.array([[comb(n, k) for k in range(NUM_CARDS + 1)] for n in range(NUM_CARDS + 1)], np.float64)


@kernel
def divisions(cards, at_1, at_2, at_3, room_1, room_2, room_3):
    """``float64``: in how many ways a set of cards can fill three hands with room for so many, each with cards of its
    set ``at``; 0 where the rooms do not add up to the cards."""
    if count(cards) != room_1 + room_2 + room_3 or cards & ~(at_1 | at_2 | at_3) != 0:
        return 0.0
    anywhere = count(cards & at_1 & at_2 & at_3)
    not_1, not_2 = count(cards & ~at_1 & at_2 & at_3), count(cards & at_1 & ~at_2 & at_3)
    not_3 = count(cards & at_1 & at_2 & ~at_3)
    room_1 -= count(cards & at_1 & ~at_2 & ~at_3)
    room_2 -= count(cards & ~at_1 & at_2 & ~at_3)
    ways = 0.0
    for a in range(not_3 + 1):  # of the cards that the third cannot hold, those of the first
        for b in range(not_2 + 1):
            left_1 = room_1 - a - b
            if left_1 < 0 or left_1 > anywhere:
                continue
            with_1 = _CHOOSE[not_3, a] * _CHOOSE[not_2, b] * _CHOOSE[anywhere, left_1]
            for c in range(not_1 + 1):
                left_2 = room_2 - (not_3 - a) - c
                if left_2 >= 0 and left_2 <= anywhere - left_1:
                    ways += with_1 * _CHOOSE[not_1, c] * _CHOOSE[anywhere - left_1, left_2]
    return ways


@kernel
def worlds(view, barred_1, barred_2, barred_3):
    """``float64``: in how many ways the unseen cards can lie if left, across and right hold none of their sets
    ``barred``; from the first lead on."""
    at, left = view["possible"], unseen(view)
    at_1, at_2, at_3 = at[1] & ~barred_1, at[2] & ~barred_2, at[3] & ~barred_3
    return divisions(left, at_1, at_2, at_3, room(view, 1), room(view, 2), room(view, 3))


@kernel
def lacking(view, total, seats, cards):
    """Chance that no seat of a set holds any of ``cards``, of ``total`` worlds in all; 0 without any."""
    if total <= 0.0:
        return 0.0
    left = cards if seats & 2 != 0 else np.int64(0)
    across = cards if seats & 4 != 0 else np.int64(0)
    right = cards if seats & 8 != 0 else np.int64(0)
    return worlds(view, left, across, right) / total


@kernel
def fill_voids(view, total, suit, voids):
    """Fill ``voids``, ``float64[4]``: the chance of each other seat to hold no card of a suit."""
    for seat in range(1, 4):
        voids[seat] = lacking(view, total, 1 << seat, SUIT_CARDS[suit])


@kernel
def seats_behind(public):
    """The seats that play to the trick after the observer, whose turn it is, as a set."""
    return (1 << (4 - (public["num_played"] & 3))) - 2


@kernel
def some_void(view, total, suit, voids):
    """Chance that some seat behind holds no card of a suit: the chances of all sets of such seats, in turn added and
    subtracted."""
    behind, chance = seats_behind(view["public"]), 0.0
    for seat in range(1, 4):
        chance += voids[seat] if behind >> seat & 1 != 0 else 0.0
    for seats in (6, 10, 12, 14):
        if seats & ~behind == 0:
            void = lacking(view, total, seats, SUIT_CARDS[suit])
            chance += void if seats == 14 else -void
    return chance


@kernel
def takes_against_all(view, total, card):
    """Chance that a card which wins so far takes the trick if every seat behind beats it that can."""
    above = SUIT_CARDS[card & 3] & ~(BIT[card] - 1) & ~BIT[card]
    return lacking(view, total, seats_behind(view["public"]), above)


@kernel
def takes_if_ducked(view, total, card):
    """The same if every seat behind plays below it that can: none has to beat it, as it holds no lower card but some of
    the suit. Of such a seat the worlds without a lower card are subtracted, those without the suit added again."""
    suit = SUIT_CARDS[card & 3]
    below = suit & (BIT[card] - 1)
    if total <= 0.0:
        return 0.0
    barred, ways = (np.int64(0), below, suit), 0.0
    left_cases, across_cases, right_cases = _cases(view, 1, card), _cases(view, 2, card), _cases(view, 3, card)
    for left in range(left_cases[0], left_cases[1]):
        for across in range(across_cases[0], across_cases[1]):
            for right in range(right_cases[0], right_cases[1]):
                sign = 1.0 - 2.0 * (int(left == 1) ^ int(across == 1) ^ int(right == 1))
                ways += sign * worlds(view, barred[left], barred[across], barred[right])
    return min(max(ways / total, 0.0), 1.0)


@kernel
def _cases(view, seat, card):
    """First and end of what ``takes_if_ducked`` bars a seat from: nothing, what is below the card, the suit. Terms that
    cancel are left out: a seat without higher cards never beats it, one without lower ones does if it holds any."""
    held = unseen(view) & view["possible"][seat] & SUIT_CARDS[card & 3]
    if seats_behind(view["public"]) >> seat & 1 == 0 or held & ~(BIT[card] - 1) == 0:
        return 0, 1
    return (2, 3) if held & (BIT[card] - 1) == 0 else (0, 3)


@kernel
def takes_by_chance(view, card, voids):
    """The same if every seat behind plays any card of the suit that it holds, hands taken as independent. ``voids`` are
    those of ``fill_voids`` for the suit."""
    suit, chance = unseen(view) & SUIT_CARDS[card & 3], 1.0
    for seat in range(1, 4):
        held = suit & view["possible"][seat]
        if seats_behind(view["public"]) >> seat & 1 != 0 and held != 0:
            above = held & ~(BIT[card] - 1)
            chance *= 1.0 - (1.0 - voids[seat]) * count(above) / count(held)
    return chance


@kernel
def bars_points(public):
    """Whether no hearts and no queen of spades may be discarded to this trick, by a seat that has any other card."""
    return public["num_played"] < 4 and public["no_pts_on_first_trick"] != 0


@kernel
def queen_falls(view, total, led, voids):
    """Chance that a seat behind holds the queen of spades and may play it to a trick of the suit ``led``."""
    barred = led != SPADES and bars_points(view["public"])
    if unseen(view) & QUEEN_SET == 0 or barred or total <= 0.0:
        return 0.0
    chance, behind = 0.0, seats_behind(view["public"])
    for seat in range(1, 4):
        if behind >> seat & 1 == 0 or view["possible"][seat] & QUEEN_SET == 0:
            continue
        if led == SPADES:
            chance += 1.0 - lacking(view, total, 1 << seat, QUEEN_SET)
        elif voids[seat] > 0.0:
            chance += voids[seat] - lacking(view, total, 1 << seat, SUIT_CARDS[led] | QUEEN_SET)
    return max(chance, 0.0)


@kernel
def points_from_behind(view, led, voids):
    """Points that the seats behind play to a trick of the suit ``led`` on average, each any card that it may play."""
    points = 0.0
    for seat in range(1, 4):
        if seats_behind(view["public"]) >> seat & 1 == 0:
            continue
        held = unseen(view) & view["possible"][seat]
        suit, others = held & SUIT_CARDS[led], held & ~SUIT_CARDS[led]
        if suit != 0:
            points += (1.0 - voids[seat]) * card_points(suit) / count(suit)
        if others != 0 and not bars_points(view["public"]):
            points += voids[seat] * card_points(others) / count(others)
    return points
