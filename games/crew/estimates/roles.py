"""Decisions before the first trick by estimate: which task to take, what to answer a poll, whom to name.

The scripted player decides by these, and a feature for networks has them.
"""

from games.bits import BIT, count
from games.compiling import kernel
from games.crew.cards import COLOUR_CARDS, DECIDED, DISTRIBUTED, NO, ROCKET_CARDS, YES
from games.crew.estimates.hand import control, ease, safety
from games.crew.legal import num_owned
from games.crew.missions import EXACTLY_ONE, FOUR_AND_LAST, ONLY_ENDS, SICK


@kernel
def task_worth(hand, card):
    """How well a hand fulfils a task, compared with the others' chances."""
    return ease(hand, card) - 0.67 * _ease_of_others(hand, card)


@kernel
def _ease_of_others(hand, card):
    """Chance of the best other seat to fulfil a task."""
    higher = COLOUR_CARDS[card // 9] & ~(BIT[card] - 1)
    left = count(higher & ~hand)
    return 0.13 + 0.33 * left / max(1, count(higher))


@kernel
def suits(view):
    """Whether the hand suits the role that is polled."""
    public, hand = view["public"], view["hand"]
    special = public["special"]
    if public["allocation"] == DISTRIBUTED:
        good = ease(hand, public["tasks"][public["num_laid"] - 1]) > 0.5
    elif public["allocation"] == DECIDED:
        good = control(hand) > 2.8
    elif special & SICK != 0:
        good = safety(hand) > 0.6
    elif special & (EXACTLY_ONE | ONLY_ENDS) != 0:
        good = safety(hand) > 0.4
    elif special & FOUR_AND_LAST != 0 and public["named"] < 0:
        good = control(hand) > 3.0
    else:
        good = hand & ROCKET_CARDS != 0
    return good


@kernel
def seat_worth(view, replies, seat):
    """How good it is to name a seat that said ``yes`` in the last poll, or the player itself where its hand is as good;
    ``replies`` (``int64[4]``): 1 for ``yes``, by seat."""
    public = view["public"]
    worth = _own_worth(public, view["hand"]) if seat == 0 else 1.0 * replies[seat]
    return worth - 0.1 * num_owned(public, seat)


@kernel
def _own_worth(public, hand):
    if public["allocation"] == DISTRIBUTED:
        return 1.5 * ease(hand, public["tasks"][public["num_laid"] - 1])
    if public["special"] & FOUR_AND_LAST != 0:
        return 1.5 if public["named"] >= 0 else 0.0  # rocket 4 wins the last trick
    return 0.5


@kernel
def hear_replies(view, replies):
    """Write 1 for every seat that said ``yes`` in the last poll, read from the end of the history. A seat with a role
    in mission 50 was not polled for the other role."""
    replies[:] = 0
    place = view["length"] - 1
    for seat in range(3, 0, -1):
        asked = view["public"]["special"] & FOUR_AND_LAST == 0 or view["public"]["named"] != seat
        if asked and place >= 0 and (view["tokens"][place] == YES or view["tokens"][place] == NO):
            replies[seat] = int(view["tokens"][place] == YES)
            place -= 1
