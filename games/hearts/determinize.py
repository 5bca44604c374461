"""Full deals that agree with everything one seat has seen.

Every division of the unseen cards that agrees with the view is equally likely: cards fall into classes by the seats
they may lie with, the number of divisions is counted for every way to split the classes, one split is drawn in
proportion, and the cards of each class are drawn at random.
"""

import numpy as np

from games.bits import count, nth
from games.compiling import kernel
from games.hearts.cards import ALL_CARDS, BIT, PASSED_AT, RECEIVED_AT
from games.hearts.rules import first_place
from games.hearts.state import act, deal_hands, to_move
from games.hearts.view import room, unseen
from games.rng import below, next_state, output, uniform

_FACTORIAL = np.cumprod(np.concatenate([np.ones(1), np.arange(1.0, 40.0)]))


@kernel
def _choose(n, k):
    """Binomial coefficient as ``float64``, 0 outside its range; ``n`` at most 39."""
    if k < 0 or k > n:
        return 0.0
    return _FACTORIAL[n] / (_FACTORIAL[k] * _FACTORIAL[n - k])


@kernel
def _num_divisions(classes, rooms, a, b, c):
    """How many divisions give ``a`` cards of class 3 (left or across) and ``b`` of class 5 (left or right) to the
    left, and ``c`` of class 6 (across or right) to the one across; ``float64``.

    ``classes[k]`` are the cards whose possible seats are the bits of ``k`` (1 left, 2 across, 4 right), ``rooms`` the
    room at each.
    """
    left_across, left_right, across_right = count(classes[3]), count(classes[5]), count(classes[6])
    anywhere = count(classes[7])
    left = rooms[0] - count(classes[1]) - a - b
    across = rooms[1] - count(classes[2]) - (left_across - a) - c
    splits = _choose(left_across, a) * _choose(left_right, b) * _choose(across_right, c)
    return splits * _choose(anywhere, left) * _choose(anywhere - left, across) if left >= 0 else 0.0


@kernel
def _draw(cards, size, counter):
    """``size`` cards drawn at random from a set: the subset and the random counter behind it."""
    drawn = np.int64(0)
    for _ in range(size):
        counter = next_state(counter)
        drawn |= BIT[nth(cards & ~drawn, below(output(counter), count(cards & ~drawn)))]
    return drawn, counter


@kernel
def _draw_split(classes, rooms, counter):
    """One split ``(a, b, c)`` in proportion to ``_num_divisions``."""
    sizes = (count(classes[3]), count(classes[5]), count(classes[6]))
    total = 0.0
    for a in range(sizes[0] + 1):
        for b in range(sizes[1] + 1):
            for c in range(sizes[2] + 1):
                total += _num_divisions(classes, rooms, a, b, c)
    counter = next_state(counter)
    left_over = uniform(output(counter)) * total
    last = (0, 0, 0)
    for a in range(sizes[0] + 1):
        for b in range(sizes[1] + 1):
            for c in range(sizes[2] + 1):
                divisions = _num_divisions(classes, rooms, a, b, c)
                if divisions > 0.0:
                    last = (a, b, c)
                    left_over -= divisions
                    if left_over < 0.0:
                        return last, counter
    return last, counter


@kernel
def _divide(classes, rooms, counter, hands):
    """Draw the cards of the seats left, across and right into ``hands[1..3]``."""
    (a, b, c), counter = _draw_split(classes, rooms, counter)
    from_3, counter = _draw(classes[3], a, counter)
    from_5, counter = _draw(classes[5], b, counter)
    from_6, counter = _draw(classes[6], c, counter)
    left = classes[1] | from_3 | from_5
    across = classes[2] | classes[3] & ~from_3 | from_6
    anywhere, counter = _draw(classes[7], rooms[0] - count(left), counter)
    left |= anywhere
    anywhere, counter = _draw(classes[7] & ~left, rooms[1] - count(across), counter)
    across |= anywhere
    hands[1], hands[2] = left, across
    hands[3] = 0
    for k in range(1, 8):
        hands[3] |= classes[k] & ~left & ~across
    return counter


@kernel
def _hidden_hands(view, counter, hands):
    """Draw the cards the others hold now; before the first lead, the cards they were dealt."""
    classes, rooms = np.zeros(8, np.int64), np.full(3, 13)
    if view["length"] < first_place(view["public"]):
        classes[7] = ALL_CARDS & ~view["dealt"]
        return _divide(classes, rooms, counter, hands)
    for seat in range(1, 4):
        rooms[seat - 1] = room(view, seat)
    rest = unseen(view)
    for card in range(52):
        if rest & BIT[card] != 0:
            k = 0
            for seat in range(1, 4):
                if view["possible"][seat] & BIT[card] != 0:
                    k |= 1 << (seat - 1)
            classes[k] |= BIT[card]
    return _divide(classes, rooms, counter, hands)


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
    """Fill ``state`` (as ``new_states`` leaves it) with a deal in which the observer, seat 0, has seen exactly what
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
    length = view["length"]
    if length < PASSED_AT:
        return False
    return length >= first_place(view["public"]) or (view["public"]["direction"] != 0 and length <= RECEIVED_AT)


@kernel
def determinize_batch(views, states, seeds):
    """``determinize`` every row until one where no state can stand; returns its index, or -1."""
    hands, passed = np.zeros(4, np.int64), np.zeros(4, np.int64)
    for i in range(len(views)):
        if not can_stand(views[i]):
            return i
        determinize(views[i], states[i], seeds[i], hands, passed)
    return -1
