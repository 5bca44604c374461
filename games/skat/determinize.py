"""Full deals that agree with everything one seat has seen, every division of the unseen cards equally likely."""

import numpy as np

from games.bits import lowest
from games.compiling import kernel
from games.dividing import divide, draw
from games.skat.cards import HAND_SIZE
from games.skat.hidden import homes, rooms
from games.skat.rules import DISCARD
from games.skat.state import act, deal_hands
from games.skat.view import unseen


@kernel
def determinize(view, state, counter):
    """Fill ``state`` (``blank``) with a deal in which the observer, at its own seat, has seen exactly what ``view``
    has. The view must be consistent, and one that ``can_stand``.

    Where another soloist is about to discard, it has not done so in the state.
    """
    public, seat, hands = view["public"], view["seat"], np.zeros(3, np.int64)
    soloist = public["soloist"]
    next_seat, last_seat = (seat + 1) % 3, (seat + 2) % 3
    drawn, counter = divide(unseen(view), homes(view), rooms(view), counter)
    hands[seat], aside = view["dealt"], drawn[2]
    hands[next_seat] = drawn[0] | public["shown"][next_seat]
    hands[last_seat] = drawn[1] | public["shown"][last_seat]
    if public["picked_up"] != 0 and soloist != seat:
        twelve = hands[soloist] | aside
        talon, counter = draw(twelve, 2, counter)  # any two of them can have been the talon
        hands[soloist] = twelve & ~talon
    deal_hands(state, hands)
    place = HAND_SIZE + 1
    while place < view["length"]:
        if state["public"]["phase"] == DISCARD and soloist != seat:
            act(state, np.int64(lowest(aside)))
            aside &= aside - 1
        else:
            act(state, np.int64(view["tokens"][place]))
        place = state["lengths"][seat]


@kernel
def can_stand(view):
    """Whether a state can stand where this history ends: cards dealt, picked up, shown or turned over arrive as one."""
    if view["public"]["phase"] == DISCARD:
        return view["due"] <= 2
    return view["length"] > HAND_SIZE and view["due"] == 0
