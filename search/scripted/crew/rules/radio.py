"""Statements by radio."""

import numpy as np

from games.bits import BIT, count, each, highest, lowest
from games.compiling import kernel
from games.crew.cards import COLOUR_CARDS, FIRST_MARK, ONLY, SILENT
from games.crew.legal import legal_marks, showable
from games.crew.missions import A_1_WINS, EXACTLY_ONE, FOUR_AND_LAST, ONLY_ENDS, TWO_1S_WIN


@kernel
def choose_statement(view, notes):
    """The most helpful card to show, or ``silent`` where none helps enough yet."""
    best, most = np.int64(SILENT), 0.13 - 0.075 * (view["public"]["num_played"] // 4)
    for card in each(showable(view["hand"])):
        worth = _worth_saying(view, notes, card)
        if worth > most:
            best, most = np.int64(card), worth
    return best


@kernel
def choose_mark(view):
    """The mark of the card just shown: ``only`` where true."""
    marks = legal_marks(view["public"], view["hand"])
    return np.int64(FIRST_MARK + (ONLY if marks >> ONLY & 1 != 0 else lowest(marks)))


@kernel
def _worth_saying(view, notes, card):
    hand = view["hand"]
    in_colour = COLOUR_CARDS[card // 9]
    own, others = notes["owned"][0] & in_colour, notes["open"] & ~notes["owned"][0] & in_colour
    held = hand & in_colour
    unseen = notes["unseen"] & in_colour
    share = count(unseen & (BIT[card] - 1)) / count(unseen) if unseen != 0 else 1.0
    top, only = highest(held) == BIT[card], held == BIT[card]
    worth = 0.0
    if notes["open"] & BIT[card] != 0:
        if notes["owner"][card] == 0:
            worth += 0.13 + 0.2 * (1.0 - share)
        else:
            worth += 0.4 + (0.45 if only else 0.0)
    if own & ~BIT[card] & ~hand != 0 and top:
        worth += 0.2 + 0.6 * share * share * share
    if others & ~BIT[card] != 0 and (only or top):
        worth += 0.15 * share
    special = view["public"]["special"]
    if special & (A_1_WINS | TWO_1S_WIN) != 0 and card % 9 == 0:
        worth += 0.1 * count(held)
    if special & (ONLY_ENDS | EXACTLY_ONE | FOUR_AND_LAST) != 0 and view["public"]["named"] == 0 and top:
        worth += 0.5 * share
    return worth
