"""Full deals that agree with everything one seat has seen.

Every division of the unseen cards among hidden hands and the two cards aside that agrees with the view is equally
likely: card after card, the divisions of the cards so far are counted for every number that each place can have got;
then the cards are dealt backwards, each in proportion to the divisions that are left.
"""

import numpy as np

from games.bits import count, lowest, nth
from games.compiling import kernel
from games.rng import below, next_state, output, uniform
from games.skat.cards import BIT, HAND_SIZE
from games.skat.hidden import homes, room
from games.skat.rules import DISCARD
from games.skat.state import act, deal_hands
from games.skat.view import unseen


@kernel
def _divide(view, counter):
    """``(left, right, aside, counter)``: the unseen cards that the next seat, the one behind it, and nobody holds."""
    cards = unseen(view)
    at_left, at_right, at_aside = homes(view)
    left, right = room(view, (view["seat"] + 1) % 3), room(view, (view["seat"] + 2) % 3)
    ways = _divisions(cards, at_left, at_right, at_aside, left, right)
    drawn_left, drawn_right, drawn_aside = np.int64(0), np.int64(0), np.int64(0)
    for n in range(count(cards) - 1, -1, -1):
        card = BIT[nth(cards, n)]
        to_left = ways[n, left - 1, right] if at_left & card != 0 and left > 0 else 0.0
        to_right = ways[n, left, right - 1] if at_right & card != 0 and right > 0 else 0.0
        counter = next_state(counter)
        drawn = uniform(output(counter)) * ways[n + 1, left, right]
        if drawn < to_left:
            drawn_left |= card
            left -= 1
        elif drawn < to_left + to_right:
            drawn_right |= card
            right -= 1
        else:
            drawn_aside |= card
    return drawn_left, drawn_right, drawn_aside, counter


@kernel
def _divisions(cards, at_left, at_right, at_aside, room_left, room_right):
    """``float64[N + 1, room_left + 1, room_right + 1]``: in how many ways the lowest ``n`` of ``N`` cards can be
    divided so that the left gets so many, the right so many, and the rest lies aside; each place takes only cards of
    its set."""
    ways = np.zeros((count(cards) + 1, room_left + 1, room_right + 1))
    ways[0, 0, 0] = 1.0
    for n in range(count(cards)):
        card = BIT[nth(cards, n)]
        for left in range(min(n + 1, room_left) + 1):
            for right in range(min(n + 1, room_right) + 1):
                if at_left & card != 0 and left > 0:
                    ways[n + 1, left, right] += ways[n, left - 1, right]
                if at_right & card != 0 and right > 0:
                    ways[n + 1, left, right] += ways[n, left, right - 1]
                if at_aside & card != 0:
                    ways[n + 1, left, right] += ways[n, left, right]
    return ways


@kernel
def _talon_from(twelve, counter):
    """Any two of another soloist's twelve cards can have been the talon: ``(talon, counter)``."""
    counter = next_state(counter)
    first = nth(twelve, below(output(counter), 12))
    counter = next_state(counter)
    second = nth(twelve & ~BIT[first], below(output(counter), 11))
    return BIT[first] | BIT[second], counter


@kernel
def determinize(view, state, counter, hands):
    """Fill ``state`` (``blank``) with a deal in which the observer, at its own seat, has seen exactly what ``view``
    has; ``hands`` (``int64[3]``) is scratch. The view must be consistent, and one that ``can_stand``.

    Where another soloist is about to discard, it has not done so in the state.
    """
    public, seat = view["public"], view["seat"]
    soloist = public["soloist"]
    left, right, aside, counter = _divide(view, counter)
    hands[seat] = view["dealt"]
    hands[(seat + 1) % 3] = left | public["shown"][(seat + 1) % 3]
    hands[(seat + 2) % 3] = right | public["shown"][(seat + 2) % 3]
    if public["picked_up"] != 0 and soloist != seat:
        talon, counter = _talon_from(hands[soloist] | aside, counter)
        hands[soloist] = (hands[soloist] | aside) & ~talon
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


@kernel
def determinize_batch(views, states, seeds):
    """``determinize`` every row until one where no state can stand; returns its index, or -1."""
    hands = np.zeros(3, np.int64)
    for i in range(len(views)):
        if not can_stand(views[i]):
            return i
        determinize(views[i], states[i], seeds[i], hands)
    return -1
