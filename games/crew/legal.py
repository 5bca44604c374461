"""What the seat to act may do.

Legal tokens are as in ``games.bits``, a set and at most one more token: cards and ``silent`` or ``no tile`` lie too far
apart for one set.
"""

import numpy as np

from games.bits import highest
from games.compiling import kernel
from games.crew.cards import (
    COLOUR_CARDS,
    DECLINE,
    DISTRIBUTED,
    FIRST_MARK,
    FIRST_POSITION,
    HIGHEST,
    LOWEST,
    NO_TILE,
    ONLY,
    RIGHT,
    SILENT,
    TASK_CARDS,
    YES,
)
from games.crew.missions import FOUR_AND_LAST, MUTED, SWAP_TILES
from games.crew.public import DIRECTION, DISTRESS, DRAFT, MARK, NAME, PASS, PICK_TILE, PLACE_TILE, PLAY, POLL, TALK
from games.hands import following


@kernel
def legal_tokens(public, hand):
    """Legal tokens of the seat to act, which holds ``hand`` (a set). The hand matters only where a card is passed,
    shown, marked or played."""
    phase = public["phase"]
    first, tokens, extra = np.int64(0), np.int64(0), np.int64(-1)
    if phase == PLAY:
        tokens = legal_plays(public, hand)
    elif phase == TALK:
        tokens, extra = showable(hand), np.int64(SILENT)
    elif phase == MARK:
        first, tokens = np.int64(FIRST_MARK), legal_marks(public, hand)
    elif phase == PASS:
        tokens = hand & TASK_CARDS
    elif phase == DRAFT:
        tokens = free_tasks(public)
    elif phase == PICK_TILE:
        tokens, extra = tiles_to_pick(public), np.int64(DECLINE)
    elif phase == PLACE_TILE:
        tokens = tiles_to_place(public)
    elif phase == NAME:
        first, tokens = np.int64(FIRST_POSITION), _legal_positions(public)
    elif phase == DIRECTION:
        first, tokens = np.int64(FIRST_POSITION), np.int64(1 << 1 | 1 << (RIGHT - FIRST_POSITION))
    elif phase in (POLL, DISTRESS):
        first, tokens = np.int64(YES), np.int64(0b01 if phase == POLL and _must_volunteer(public) else 0b11)
    return first, tokens, extra, extra + int(extra >= 0)


@kernel
def legal_plays(public, hand):
    """``int64`` set of the cards of ``hand`` that may be played: rockets are a colour to follow."""
    return hand if public["trick"] == 0 else following(hand, COLOUR_CARDS[public["led"]])


# ---- radio ---------------------------------------------------------------------------------------------------------


@kernel
def showable(hand):
    """``int64`` set of the highest and the lowest card of every colour in ``hand``, rockets excepted."""
    shown = np.int64(0)
    for colour in range(4):
        held = hand & COLOUR_CARDS[colour]
        shown |= (held & -held) | highest(held)
    return shown


@kernel
def legal_marks(public, hand):
    """Set of ``HIGHEST``, ``ONLY``, ``LOWEST``: what is true of the card that the seat to act has shown. An only card
    has that mark alone, unless the option ``singleton`` allows any."""
    card = public["said"][public["turn"]]
    held = hand & COLOUR_CARDS[card // 9]
    if held & (held - 1) == 0:
        return np.int64(0b111 if public["singleton"] != 0 else 1 << ONLY)
    below = (np.int64(1) << card) - 1
    return np.int64(1 << LOWEST if held & below == 0 else 1 << HIGHEST)


# ---- tasks ---------------------------------------------------------------------------------------------------------


@kernel
def free_tasks(public):
    """``int64`` set of the cards of tasks that lie open without an owner."""
    cards = np.int64(0)
    for n in range(public["num_laid"]):
        if public["owners"][n] < 0:
            cards |= np.int64(1) << public["tasks"][n]
    return cards


@kernel
def tiles_to_pick(public):
    """Tasks whose tile can change: any that has one and, where two tiles swap, whose card is not the highest of these,
    so that a pair is one sequence."""
    with_tile = _with_tile(public, True)
    return with_tile & ~highest(with_tile) if public["special"] & SWAP_TILES != 0 else with_tile


@kernel
def tiles_to_place(public):
    """Tasks that the tile picked can go to: a higher card whose tile it swaps with, or one without a tile."""
    if public["special"] & SWAP_TILES == 0:
        return _with_tile(public, False)
    picked = np.int64(1) << public["tasks"][public["picked"]]
    return _with_tile(public, True) & ~(picked | (picked - 1))


@kernel
def _with_tile(public, wanted):
    cards = np.int64(0)
    for n in range(public["num_laid"]):
        if (public["tiles"][n] != NO_TILE) == wanted:
            cards |= np.int64(1) << public["tasks"][n]
    return cards


# ---- names ---------------------------------------------------------------------------------------------------------


@kernel
def _legal_positions(public):
    """Positions, as the commander sees them, of the seats it may name."""
    positions = np.int64(0)
    for seat in range(4):
        if may_be_named(public, seat):
            positions |= np.int64(1) << ((seat - public["commander"]) & 3)
    return positions


@kernel
def may_be_named(public, seat):
    """Whether the commander may name a seat now: one that may receive the task where it distributes them, in mission 50
    any seat without a role, else any other seat."""
    if public["allocation"] == DISTRIBUTED:
        return may_receive(public, seat)
    if public["special"] & FOUR_AND_LAST != 0:
        return seat != public["named"]
    return seat != public["commander"] or (public["special"] & MUTED != 0 and public["muted"] != 0)


@kernel
def may_receive(public, seat):
    """Whether a seat may get the next task. With ``q`` tasks for each seat and ``r`` left over, it may with fewer than
    ``q``, and with ``q`` while fewer than ``r`` seats have ``q + 1``. So no seat ends two tasks ahead of another."""
    quotient, remainder = public["num_tasks"] // 4, public["num_tasks"] % 4
    own, ahead = 0, 0
    for other in range(4):
        held = num_owned(public, other)
        ahead += int(held > quotient)
        if other == seat:
            own = held
    return own < quotient or (own == quotient and ahead < remainder)


@kernel
def num_owned(public, seat):
    """Number of tasks of a seat."""
    number = 0
    for n in range(public["num_laid"]):
        number += int(public["owners"][n] == seat)
    return number


@kernel
def _must_volunteer(public):
    """Whether the last polled seat of mission 50 must say ``yes``: the commander has the other role and cannot stand
    in."""
    if public["special"] & FOUR_AND_LAST == 0 or public["roles"] == 0 or public["named"] != public["commander"]:
        return False
    return (public["turn"] + 1) & 3 == public["commander"]
