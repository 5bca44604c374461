"""Where the cards can lie that one seat has not seen, and so whether its history could have happened.

Silence restricts nothing, and neither do free choices: replies, names, tasks chosen, a card passed.
"""

import numpy as np

from games.bits import count
from games.compiling import kernel
from games.crew.cards import HAND_SIZE
from games.crew.knowing import unseen
from games.crew.places import (
    ACROSS,
    ACROSS_TO_RIGHT,
    LEFT,
    LEFT_TO_ACROSS,
    PLACES,
    RIGHT,
    fits,
)
from games.crew.view import DEALT, HEADER, stage_of

_PLACE_OF = np.array([-1, LEFT, ACROSS, RIGHT], np.int64)
_BEFORE = np.array([0, 1 << LEFT | 1 << LEFT_TO_ACROSS, 1 << ACROSS | 1 << ACROSS_TO_RIGHT, 1 << RIGHT], np.int64)
_AFTER = np.array([0, 1 << LEFT, 1 << ACROSS | 1 << LEFT_TO_ACROSS, 1 << RIGHT | 1 << ACROSS_TO_RIGHT], np.int64)
"""``int64[4]`` by seat: the places of its hand before mission 12's exchange, and since."""


@kernel
def lay_places(view):
    """``PLACES[1]``: the cards that the observer has not seen, and what binds them. After mission 12's exchange the
    cards played since then are among them: each may be the one that was exchanged."""
    laid = np.zeros(1, PLACES)
    places = laid[0]
    shown, possible, cards = view["public"]["shown"], view["possible"], unseen(view)
    at, room = places["at"], places["room"]
    places["cards"] = cards
    if view["gained"] == 0:
        for seat in range(1, 4):
            at[_PLACE_OF[seat]] = cards & possible[seat]
            room[_PLACE_OF[seat]] = HAND_SIZE - count(shown[seat])
    else:
        _lay_exchanged(view, places)
    for seat in range(1, 4):
        bound = view["some"][seat] != 0 or view["high"][seat] != 0
        among = np.int64(1) << _PLACE_OF[seat]
        if view["gained"] != 0:
            among = _BEFORE[seat] if view["early"][seat] != 0 else _AFTER[seat]
        places["among"][seat - 1] = among if bound else 0
        places["some"][seat - 1] = view["some"][seat]
        places["high"][seat - 1] = view["high"][seat]
        places["low"][seat - 1] = view["low"][seat]
    return laid


@kernel
def _lay_exchanged(view, places):
    """Each seat has drawn a card of the seat on its right: it was possible there before, and is here now."""
    before, since, at, room = view["before"], view["since"], places["at"], places["room"]
    cards = places["cards"]
    now_left = (cards & view["possible"][1]) | since[1]
    now_across = (cards & view["possible"][2]) | since[2]
    now_right = (cards & view["possible"][3]) | since[3]
    at[LEFT] = now_left & (before[1] | view["lost"])
    at[ACROSS] = now_across & before[2]
    at[LEFT_TO_ACROSS] = now_across & before[1]
    at[ACROSS_TO_RIGHT] = now_right & before[2]
    at[RIGHT] = now_right & before[3]
    room[LEFT] = HAND_SIZE - 1
    room[ACROSS] = HAND_SIZE - 2
    room[RIGHT] = HAND_SIZE - 2
    room[LEFT_TO_ACROSS] = 1
    room[ACROSS_TO_RIGHT] = 1
    places["cards"] = cards | since[1] | since[2] | since[3]


@kernel
def may_hold(view, seat):
    """``int64`` set of the unseen cards that another seat may hold, each looked at by itself."""
    possible = unseen(view) & view["possible"][seat]
    if view["gained"] == 0:
        return possible
    own = view["before"][seat] | (view["lost"] if seat == 1 else view["before"][seat - 1])
    return possible & own


@kernel
def is_consistent(view):
    """Whether some deal and some legal doings of the others give this history.

    While the own cards come, nothing but their order restricts a history. From then on the unseen cards must be
    divisible among the others by all they have shown and said.
    """
    if view["ended"] != 0 or view["refuted"] != 0:
        return False
    if stage_of(view) in (HEADER, DEALT):
        return True
    return fits(lay_places(view))
