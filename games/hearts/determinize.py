"""Full deals that agree with everything one seat has seen.

Every division of the unseen cards that agrees with the view is equally likely: card after card, the divisions of the
cards so far are counted for every number that each seat can have got; then the cards are dealt backwards, each in
proportion to the divisions that are left.
"""

import numpy as np

from games.bits import count, nth
from games.compiling import kernel
from games.hearts.cards import ALL_CARDS, BIT, PASSED_AT, RECEIVED_AT
from games.hearts.rules import first_place
from games.hearts.state import act, deal_hands, to_move
from games.hearts.view import room, unseen
from games.rng import below, next_state, output, uniform


@kernel
def _hidden_hands(view, counter, hands):
    """Draw the cards the others hold now; before the first lead, the cards they were dealt."""
    cards, possible, left, across = ALL_CARDS & ~view["dealt"], np.full(4, ALL_CARDS), 13, 13
    if view["length"] >= first_place(view["public"]):
        cards, possible[:], left, across = unseen(view), view["possible"], room(view, 1), room(view, 2)
    ways = _divisions(cards, possible, left, across)
    hands[1:] = 0
    for n in range(count(cards) - 1, -1, -1):
        card = BIT[nth(cards, n)]
        to_left = ways[n, left - 1, across] if possible[1] & card != 0 and left > 0 else 0.0
        to_across = ways[n, left, across - 1] if possible[2] & card != 0 and across > 0 else 0.0
        counter = next_state(counter)
        drawn = uniform(output(counter)) * ways[n + 1, left, across]
        if drawn < to_left:
            hands[1] |= card
            left -= 1
        elif drawn < to_left + to_across:
            hands[2] |= card
            across -= 1
        else:
            hands[3] |= card
    return counter


@kernel
def _divisions(cards, possible, room_left, room_across):
    """``float64[N + 1, room_left + 1, room_across + 1]``: in how many ways the lowest ``n`` of ``N`` cards can be
    divided so that the left gets so many, the one across so many, and the right the rest; ``possible`` (``int64[4]``)
    are the cards each seat may hold."""
    ways = np.zeros((count(cards) + 1, room_left + 1, room_across + 1))
    ways[0, 0, 0] = 1.0
    for n in range(count(cards)):
        card = BIT[nth(cards, n)]
        for left in range(min(n + 1, room_left) + 1):
            for across in range(min(n + 1, room_across) + 1):
                if possible[1] & card != 0 and left > 0:
                    ways[n + 1, left, across] += ways[n, left - 1, across]
                if possible[2] & card != 0 and across > 0:
                    ways[n + 1, left, across] += ways[n, left, across - 1]
                if possible[3] & card != 0:
                    ways[n + 1, left, across] += ways[n, left, across]
    return ways


@kernel
def _draw(cards, size, counter):
    """``size`` cards drawn at random from a set: the subset and the random counter behind it."""
    drawn = np.int64(0)
    for _ in range(size):
        counter = next_state(counter)
        drawn |= BIT[nth(cards & ~drawn, below(output(counter), count(cards & ~drawn)))]
    return drawn, counter


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
            passed[giver], counter = _draw(hands[receiver], 3, counter)
    for giver in range(4):
        hands[(giver + direction) & 3] &= ~passed[giver]
    for giver in range(4):
        hands[giver] |= passed[giver]
    return counter


@kernel
def determinize(view, state, counter, hands, passed):
    """Fill ``state`` (``blank``) with a deal in which the observer, seat 0, has seen exactly what
    ``view`` has; ``hands`` and ``passed`` (``int64[4]``) are scratch.

    The view must be consistent and at a point where a state can stand: 13 cards dealt, and not between a received
    card and the leader.
    """
    public = view["public"]
    counter = _hidden_hands(view, counter, hands)
    hands[0] = view["dealt"]
    playing = view["length"] >= first_place(public)
    if playing:
        hands[0] = view["hand"]
        for seat in range(4):
            hands[seat] |= view["shown"][seat]
        if public["direction"] != 0:
            counter = _undo_passing(view, counter, hands, passed)
    deal_hands(state, public["direction"], hands)
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


@kernel
def determinize_batch(views, states, seeds):
    """``determinize`` every row until one where no state can stand; returns its index, or -1."""
    hands, passed = np.zeros(4, np.int64), np.zeros(4, np.int64)
    for i in range(len(views)):
        if not can_stand(views[i]):
            return i
        determinize(views[i], states[i], seeds[i], hands, passed)
    return -1
