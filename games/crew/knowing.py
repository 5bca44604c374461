"""A seat's knowledge of the other hands: possible cards of each, and constraints by statements.

Kernels take a ``view`` (``games.crew.view.VIEW``), whose seats are relative to the observer. A kernel for an
observation returns whether it was possible by the knowledge of that one seat; ``games.crew.hidden`` checks all hands
together.
"""

import numpy as np

from games.bits import BIT
from games.compiling import kernel
from games.crew.cards import ALL_CARDS, COLOUR_CARDS, HIGHEST, LOWEST, ONLY, PINK_9, TASK_CARDS
from games.crew.judging import played
from games.crew.missions import ALL_PINK
from games.crew.public import PASS
from games.hands import rule_out


@kernel
def unseen(view):
    """``int64`` set of the cards that lie in the hands of the others."""
    known = view["hand"] | played(view["public"])
    if view["public"]["phase"] == PASS:
        known |= view["passed"]
    return ALL_CARDS & ~known


@kernel
def lies_with(view, seat, card):
    """A card shows itself to lie with a seat."""
    possible = (view["hand"] if seat == 0 else view["possible"][seat]) & BIT[card] != 0
    for other in range(1, 4):
        if other != seat:
            view["possible"][other] &= ~BIT[card]
    return possible


# ---- cards that go from hand to hand -------------------------------------------------------------------------------


@kernel
def see_received(view, card):
    """The card that a distress pass brings. The own one lies with its receiver; the pink 9, whose holder has shown
    itself before the pass, with that seat or the next."""
    public, bit = view["public"], BIT[card]
    giver, receiver = (-public["direction"]) & 3, public["direction"]
    possible = view["possible"][giver] & bit & TASK_CARDS != 0
    rule_out(view, bit)
    view["received"] = bit
    view["hand"] |= bit
    holder = pink_holder(public)
    if holder > 0 and (holder + public["direction"]) & 3 != 0:
        view["possible"][(holder + public["direction"]) & 3] |= BIT[PINK_9] & unseen(view)
    view["possible"][receiver] |= view["passed"]
    return possible


@kernel
def pink_holder(public):
    """The seat that was dealt the pink 9, if it has shown itself before a distress pass; else -1."""
    if public["special"] & ALL_PINK == 0 or public["pink_target"] != 0 or public["named"] < 0:
        return -1
    return (public["named"] - 1) & 3


@kernel
def may_be_drawn(public, seat, card):
    """Whether mission 12 can take a card out of a hand that holds it."""
    return public["shown_card"] != 0 or public["said"][seat] != card


@kernel
def see_exchanged(view, card):
    """Take in the card that mission 12 brings. From here on ``before`` holds each seat's possible cards just before the
    exchange, and ``possible`` its possible cards now."""
    public, lost, gained = view["public"], view["lost"], BIT[card]
    possible = view["possible"][3] & gained != 0 and may_be_drawn(public, 3, card)
    _keep_word(view, 3, gained)
    view["gained"] = gained
    view["hand"] = (view["hand"] & ~lost) | gained
    view["before"][:] = view["possible"]
    for seat in range(1, 4):
        view["possible"][seat] = unseen(view) & (ALL_CARDS if seat == 1 else ~lost)
    if public["shown_card"] == 0:
        for seat in range(1, 4):
            if public["said"][seat] >= 0 and unseen(view) & BIT[public["said"][seat]] != 0:
                lies_with(view, seat, public["said"][seat])
    for seat in range(1, 4):
        view["early"][seat] = int(public["said"][seat] >= 0)
    return possible


# ---- cards played --------------------------------------------------------------------------------------------------


@kernel
def see_play(view, card):
    """A card that another seat, whose turn it is, plays: who does not follow has none of the colour led."""
    public, bit = view["public"], BIT[card]
    turn = public["turn"]
    possible = view["possible"][turn] & bit != 0
    if public["trick"] != 0 and card // 9 != public["led"]:
        view["possible"][turn] &= ~COLOUR_CARDS[public["led"]]
    if view["gained"] != 0:
        view["since"][turn] |= bit
    if view["early"][turn] == 0:
        _keep_word(view, turn, bit)
    rule_out(view, bit)
    return possible


# ---- statements ----------------------------------------------------------------------------------------------------


@kernel
def _keep_word(view, seat, card):
    """A card (a set) of the hand that a seat has spoken of comes to light: its bond may be settled by that."""
    if view["some"][seat] & card != 0:
        view["some"][seat] = 0
    elif view["high"][seat] & card != 0:
        view["possible"][seat] &= ~view["low"][seat]
        _unbind(view, seat)
    elif view["low"][seat] & card != 0:
        view["possible"][seat] &= ~view["high"][seat]
        _unbind(view, seat)


@kernel
def _unbind(view, seat):
    view["some"][seat] = 0
    view["high"][seat] = 0
    view["low"][seat] = 0


@kernel
def hear_card(view, card):
    """A card that another seat, whose turn it is, shows: it is its highest or its lowest of the colour, or both, so it
    has not both a higher one and a lower one."""
    turn = view["public"]["turn"]
    possible = lies_with(view, turn, card) and TASK_CARDS & BIT[card] != 0
    others = view["possible"][turn] & COLOUR_CARDS[card // 9]
    below = BIT[card] - 1
    high, low = others & ~below & ~BIT[card], others & below
    if high != 0 and low != 0:
        view["high"][turn] = high
        view["low"][turn] = low
    return possible


@kernel
def hear_mark(view, mark):
    """Take in the mark that another seat, whose turn it is, puts on its shown card. Where an only card is always marked
    ``only``, a highest card has some card below it, and a lowest card some above."""
    public = view["public"]
    turn = public["turn"]
    card = public["said"][turn]
    others = view["possible"][turn] & COLOUR_CARDS[card // 9] & ~BIT[card]
    below = BIT[card] - 1
    barred, some = others, np.int64(0)
    if mark == HIGHEST:
        barred, some = others & ~below, others & below
    elif mark == LOWEST:
        barred, some = others & below, others & ~below
    _unbind(view, turn)
    view["possible"][turn] &= ~barred
    if mark == ONLY or public["singleton"] != 0:
        return True
    view["some"][turn] = some
    return some != 0
