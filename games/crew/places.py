"""Cards divided among places: whether that is possible at all, and a division drawn at random.

A place takes so many cards of a set of its own. Besides, what a seat said of its hand binds the places that were its
hand at that moment: they hold some card of a set, or not both a card of one set and a card of another. This is all
that hidden cards in The Crew are bound by; ``games.crew.hidden`` writes it down for one seat's history. Each seat
speaks once, so a place with room for several cards has one bond at most.
"""

import numpy as np

from games.bits import count, nth
from games.compiling import kernel
from games.dividing import fits as fit
from games.rng import next_state, output, uniform

NUM_PLACES, NUM_BONDS = 5, 3
LEFT, ACROSS, LEFT_TO_ACROSS, ACROSS_TO_RIGHT, RIGHT = range(NUM_PLACES)
"""The hands of the three others. In two places between them lies the one card each that went from hand to hand in
mission 12's exchange; both have no room in any other deal."""

PLACES = np.dtype(
    [
        ("cards", np.int64),  # set to be divided
        ("at", np.int64, NUM_PLACES),  # sets: what each place may take
        ("room", np.int64, NUM_PLACES),  # cards that fit in; 0 or 1 at the places of both exchanged cards
        ("among", np.int64, NUM_BONDS),  # set of the places that a bond is about, 0 where there is none
        ("some", np.int64, NUM_BONDS),  # they hold one of these cards or more
        ("high", np.int64, NUM_BONDS),  # or, where "some" is empty: not both one of these
        ("low", np.int64, NUM_BONDS),  # and one of these
    ]
)

_FIRST, _SECOND = np.array([1, 0, 0, 0, 0]), np.array([0, 1, 0, 0, 0])
_CROSSED = np.array([0, 0, 1, 2, 0])
"""By place: the room that a card takes of the first place and of the second, and, as bits, of the exchanged cards."""


# ---- whether it is possible ----------------------------------------------------------------------------------------


@kernel
def fits(laid):
    """Whether the cards of ``laid`` (``PLACES[1]``) can be divided. A bond is met in one way or another: all ways are
    tried in turn."""
    places = laid[0]
    at, room = np.empty(NUM_PLACES + NUM_BONDS, np.int64), np.empty(NUM_PLACES + NUM_BONDS, np.int64)
    ways = np.ones(NUM_BONDS, np.int64)
    for bond in range(NUM_BONDS):
        if places["among"][bond] != 0:
            ways[bond] = count(places["among"][bond]) if places["some"][bond] != 0 else 2
    for way in range(ways[0] * ways[1] * ways[2]):
        at[:NUM_PLACES] = places["at"]
        room[:NUM_PLACES] = places["room"]
        used, digits = NUM_PLACES, way
        for bond in range(NUM_BONDS):
            used = _meet(places, bond, digits % ways[bond], at, room, used)
            digits //= ways[bond]
        if _hall(places["cards"], at, room, used):
            return True
    return False


@kernel
def _meet(places, bond, way, at, room, used):
    """Meet a bond in one way. ``some``: one room of the ``way``-th of its places takes these cards alone. Else none of
    its places takes the high cards, or none the low ones. Returns how many places there are."""
    among, some = places["among"][bond], places["some"][bond]
    if some != 0:
        place = nth(among, way)
        if room[place] == 1:  # it may have another bond, which the same card can meet
            at[place] &= some
            return used
        room[place] -= 1
        at[used] = at[place] & some
        room[used] = 1
        return used + 1
    barred = places["high"][bond] if way == 0 else places["low"][bond]
    for place in range(NUM_PLACES):
        if among >> place & 1 != 0:
            at[place] &= ~barred
    return used


@kernel
def _hall(cards, at, room, used):
    """Whether the cards can be divided among these places alone."""
    kept = 0
    for place in range(used):
        if room[place] < 0:
            return False
        if room[place] > 0:
            at[kept], room[kept] = at[place], room[place]
            kept += 1
    return fit(cards, at[:kept], room[:kept])


# ---- a division at random ------------------------------------------------------------------------------------------


@kernel
def divide_places(laid, drawn, counter):
    """Write what each place of ``laid`` (``PLACES[1]``) gets into ``drawn`` (``int64[5]`` sets), every possible
    division equally likely; returns the random counter behind it. The cards must fit.

    The divisions of the cards from the ``n``-th on are counted for every room left and every standing of the bonds
    (0, 1 once some or a high card lies there, 2 once a low one does); then the cards are dealt in their order, each in
    proportion to the divisions that are left. The counts stay below 2**53, so they are exact.
    """
    places = laid[0]
    standings = _radix(places, 0) * _radix(places, 1) * _radix(places, 2)
    following = np.zeros((NUM_PLACES, standings), np.int64)
    ways = _count_divisions(places, standings, following)
    first, second, crossed, standing = places["room"][LEFT], places["room"][ACROSS], _crossed(places), 0
    drawn[:] = 0
    for n in range(count(places["cards"])):
        card = np.int64(1) << nth(places["cards"], n)
        _follow(places, card, following)
        counter = next_state(counter)
        left = uniform(output(counter)) * ways[n, first, second, crossed, standing]
        place = -1
        for tried in range(NUM_PLACES):
            number = 0.0
            if places["at"][tried] & card != 0:
                number = _ways_after(ways, n, first, second, crossed, following[tried, standing], tried)
            if number > 0.0:
                place = tried
                left -= number
                if left < 0.0:
                    break
        drawn[place] |= card
        standing = following[place, standing]
        first, second, crossed = first - _FIRST[place], second - _SECOND[place], crossed - _CROSSED[place]
    return counter


@kernel
def _ways_after(ways, n, first, second, crossed, after, place):
    """Ways that are left once the ``n``-th card went to ``place``; ``after`` is how the bonds then stand."""
    if after < 0 or first < _FIRST[place] or second < _SECOND[place] or crossed & _CROSSED[place] != _CROSSED[place]:
        return 0.0
    return ways[n + 1, first - _FIRST[place], second - _SECOND[place], crossed - _CROSSED[place], after]


@kernel
def _crossed(places):
    """Rooms of the exchanged cards as bits."""
    return places["room"][LEFT_TO_ACROSS] + 2 * places["room"][ACROSS_TO_RIGHT]


@kernel
def _radix(places, bond):
    """Number of states that a bond can be in."""
    if places["among"][bond] == 0:
        return 1
    return 2 if places["some"][bond] != 0 else 3


@kernel
def _follow(places, card, following):
    """Write the standing of the bonds (``following[place, standing]``, -1 against a bond) after ``card`` (a set) went
    to a place."""
    for place in range(NUM_PLACES):
        for standing in range(following.shape[1]):
            digits, scale, result = standing, 1, 0
            for bond in range(NUM_BONDS):
                radix = _radix(places, bond)
                digit = digits % radix
                if places["among"][bond] >> place & 1 != 0:
                    digit = _next_digit(places, bond, card, digit)
                if digit < 0:
                    result = -1
                    break
                result += digit * scale
                digits //= radix
                scale *= radix
            following[place, standing] = result


@kernel
def _next_digit(places, bond, card, digit):
    if places["some"][bond] != 0:
        return 1 if card & places["some"][bond] != 0 else digit
    if card & places["high"][bond] != 0:
        return 1 if digit != 2 else -1
    if card & places["low"][bond] != 0:
        return 2 if digit != 1 else -1
    return digit


@kernel
def _is_met(places, standing):
    """Whether all bonds are met once every card lies somewhere."""
    for bond in range(NUM_BONDS):
        radix = _radix(places, bond)
        if radix == 2 and standing % 2 == 0:
            return False
        standing //= radix
    return True


@kernel
def _count_divisions(places, standings, following):
    """``float64[N + 1, rooms left, rooms across, rooms of the exchanged cards, standings]``: ways to divide the cards
    from the ``n``-th on. The last place has the room that the others leave."""
    cards = places["cards"]
    number, rooms, others = count(cards), places["room"][LEFT], places["room"][ACROSS]
    ways = np.zeros((number + 1, rooms + 1, others + 1, _crossed(places) + 1, standings))
    for standing in range(standings):
        if _is_met(places, standing):
            ways[number, 0, 0, 0, standing] = 1.0
    for n in range(number - 1, -1, -1):
        card = np.int64(1) << nth(cards, n)
        _follow(places, card, following)
        for place in range(NUM_PLACES):
            if places["at"][place] & card != 0:
                _add_place(places, ways, n, following, place)
    return ways


@kernel
def _add_place(places, ways, n, following, place):
    """Add the divisions in which the ``n``-th card goes to ``place``, for the rooms that can be left by then."""
    rooms, others, cards = places["room"][LEFT], places["room"][ACROSS], ways.shape[0] - 1 - n
    other_rooms = places["room"][RIGHT] + places["room"][LEFT_TO_ACROSS] + places["room"][ACROSS_TO_RIGHT]
    of_first, of_second, of_crossed = _FIRST[place], _SECOND[place], _CROSSED[place]
    for first in range(max(of_first, rooms - n), min(rooms, cards) + 1):
        for second in range(max(of_second, others - n, cards - first - other_rooms), min(others, cards - first) + 1):
            for crossed in range(of_crossed, ways.shape[3]):
                if crossed & of_crossed != of_crossed:
                    continue
                for standing in range(ways.shape[4]):
                    after = following[place, standing]
                    if after >= 0:
                        left = ways[n + 1, first - of_first, second - of_second, crossed - of_crossed, after]
                        ways[n, first, second, crossed, standing] += left
