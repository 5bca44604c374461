"""What a seat estimates before it plays a card: the record ``NOTES``, read by the other files here.

Kernels take ``view`` (``games.crew.view.VIEW``) and ``notes``. Seats are relative to the player: 0 itself, then
clockwise.
"""

import numpy as np

from games.bits import BIT, count
from games.compiling import kernel
from games.crew.cards import NINES, NUM_CARDS, NUM_TRICKS, PINK_CARDS
from games.crew.chances import LEVELS, spread
from games.crew.judging import does_omega, keeps_order, played
from games.crew.knowing import unseen
from games.crew.missions import (
    A_1_WINS,
    ALL_PINK,
    BALANCED,
    COMMANDER_ENDS,
    EXACTLY_ONE,
    FOUR_AND_LAST,
    NO_9_WINS,
    OMEGA_AT_THE_END,
    ONLY_ENDS,
    ROCKETS_IN_ORDER,
    ROCKETS_WIN,
    SICK,
    TWO_1S_WIN,
)

NOTES = np.dtype(
    [
        ("unseen", np.int64),  # cards in the hands of the others
        ("likely", np.float64, (4, NUM_CARDS)),  # estimated chance that a seat holds a card; the own hand is known
        ("owner", np.int64, NUM_CARDS),  # seat that has to win a card, -1 for any
        ("ready", np.int64),  # cards of open tasks that may be won now, as far as the order goes
        ("open", np.int64),  # cards that some seat has yet to win
        ("owned", np.int64, 4),  # open cards by the seat that has to win them
        ("goals", np.int64),  # open goals of special rules
        ("later", np.float64, NUM_CARDS),  # chance that an open task is done later, by its card
        ("given", np.float64, NUM_CARDS),  # chance that it is added to this trick
        ("may_win", np.int64),  # seats that may win this trick, as a set
        ("chance", np.float64, (4, LEVELS)),  # estimated chance that a seat wins the trick at a level
        ("before", np.float64, (4, LEVELS)),  # scratch
    ]
)


@kernel
def take_notes(view, notes):
    """Compute all fields except ``chance``."""
    notes["unseen"] = unseen(view)
    _note_tasks(view["public"], notes)
    spread(view, notes["likely"])
    notes["may_win"] = 0
    for seat in range(4):
        if _may_win(view["public"], seat):
            notes["may_win"] |= np.int64(1) << seat


# ---- what is wanted ------------------------------------------------------------------------------------------------


@kernel
def _note_tasks(public, notes):
    special = public["special"]
    notes["owner"][:] = -1
    notes["owned"][:] = 0
    notes["ready"] = 0
    notes["open"] = 0
    for n in range(public["num_laid"]):
        card, owner = public["tasks"][n], public["owners"][n]
        if public["done"][n] == 0 and owner >= 0:
            notes["owner"][card] = owner
            notes["owned"][owner] |= BIT[card]
            notes["open"] |= BIT[card]
            if in_order(public, BIT[card]):
                notes["ready"] |= BIT[card]
    if special & ALL_PINK != 0 and public["named"] >= 0:
        for card in range(9):
            if public["taken"][public["named"]] >> card & 1 == 0:
                notes["owner"][card] = public["named"]
        left = PINK_CARDS & ~public["taken"][public["named"]]
        notes["owned"][public["named"]] |= left
        notes["open"] |= left
        notes["ready"] |= left
    notes["goals"] = _special_goals(public, special)


@kernel
def _special_goals(public, special):
    if special & (A_1_WINS | TWO_1S_WIN) != 0:
        return (1 if special & A_1_WINS != 0 else 2) - public["progress"]
    if special & (ROCKETS_WIN | ROCKETS_IN_ORDER) != 0:
        return 4 - public["progress"]
    if special & NO_9_WINS != 0:
        return count(NINES & ~played(public))
    if special & EXACTLY_ONE != 0 and public["named"] >= 0:
        return 1 - min(1, public["tricks"][public["named"]])
    return 0


@kernel
def in_order(public, cards):
    """Whether the tasks among ``cards`` may all be done in one trick now."""
    early = public["special"] & OMEGA_AT_THE_END != 0 and public["num_played"] < 4 * (NUM_TRICKS - 1)
    return keeps_order(public, cards) and not (early and does_omega(public, cards))


@kernel
def _may_win(public, seat):
    """Whether the special rules let a seat win this trick."""
    special, number = public["special"], public["num_played"] // 4 + 1
    named, at_an_end = public["named"] == seat, number == 1 or number == NUM_TRICKS
    if special & SICK != 0 and named:
        return False
    if special & EXACTLY_ONE != 0 and named:
        return public["tricks"][seat] == 0
    if special & COMMANDER_ENDS != 0 and at_an_end and seat != public["commander"]:
        return False
    if special & ONLY_ENDS != 0:
        return named == at_an_end
    if special & FOUR_AND_LAST != 0:
        return named == (number <= 4) and (public["last"] == seat) == (number == NUM_TRICKS)
    if special & BALANCED != 0:
        for other in range(4):
            if public["tricks"][other] < public["tricks"][seat]:
                return False
    return True
