"""Full deals that agree with everything one seat has seen, every division of the unseen cards equally likely."""

import numpy as np

from games.bits import count, nth
from games.compiling import kernel
from games.dividing import divide, draw
from games.hearts.cards import ALL_CARDS, PASSED_AT, POSITIONS, RECEIVED_AT
from games.hearts.hidden import room, unseen
from games.hearts.rules import first_place
from games.hearts.state import act, deal_hands, to_move
from games.rng import below, next_state, output


@kernel
def _hidden_hands(view, counter, hands):
    """Draw the cards the others hold now; before the first lead, the cards they were dealt."""
    cards, possible, rooms = ALL_CARDS & ~view["dealt"], np.full(4, ALL_CARDS), np.array([0, 13, 13, 13])
    if view["length"] >= first_place(view["public"]):
        cards, possible[:] = unseen(view), view["possible"]
        for seat in range(1, 4):
            rooms[seat] = room(view, seat)
    hands[:], counter = divide(cards, possible, rooms, counter)
    return counter


@kernel
def _undo_passing(view, counter, hands, passed):
    """Turn hands after passing into hands as dealt; ``passed`` gets what each seat passes. Any three cards of a hand
    may be the ones its owner received, except where the observer knows better."""
    direction = view["public"]["direction"]
    for giver in range(4):
        receiver = (giver + direction) & 3
        if giver == 0:
            passed[giver] = view["passed"]
        elif receiver == 0:
            passed[giver] = view["received"]
        else:
            passed[giver], counter = draw(hands[receiver], 3, counter)
    for giver in range(4):
        hands[(giver + direction) & 3] &= ~passed[giver]
    for giver in range(4):
        hands[giver] |= passed[giver]
    return counter


@kernel
def determinize(view, state, counter):
    """Fill ``state`` (``blank``) with a deal in which the observer, seat 0, has seen exactly what ``view`` has. The
    view must be consistent, and one that ``can_stand``.
    """
    public, hands, passed = view["public"], np.zeros(4, np.int64), np.zeros(4, np.int64)
    counter = _hidden_hands(view, counter, hands)
    hands[0] = view["dealt"]
    playing = view["length"] >= first_place(public)
    if playing:
        hands[0] = view["hand"]
        for seat in range(4):
            hands[seat] |= view["shown"][seat]
        if public["direction"] != 0:
            counter = _undo_passing(view, counter, hands, passed)
    leader = view["tokens"][first_place(public) - 1] - np.int64(POSITIONS) if playing else np.int64(0)
    deal_hands(state, public["direction"], hands, leader)
    if public["direction"] != 0:
        for place in range(PASSED_AT, min(view["length"], RECEIVED_AT)):
            act(state, np.int64(view["tokens"][place]))
    if not playing:
        return
    while to_move(state) >= 0 and state["public"]["turn"] < 0:
        seat = to_move(state)
        counter = next_state(counter)
        left = passed[seat] & state["hands"][seat]
        act(state, nth(left, below(output(counter), count(left))))
    for place in range(first_place(public), view["length"]):
        act(state, np.int64(view["tokens"][place]))


@kernel
def can_stand(view):
    """Whether a state can stand where this history ends: the deal, the received cards and the leader arrive as one."""
    passing = view["public"]["direction"] != 0 and PASSED_AT <= view["length"] <= RECEIVED_AT
    return passing or view["length"] >= first_place(view["public"])
