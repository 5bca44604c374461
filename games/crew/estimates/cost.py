"""What a card costs by estimate: the chance to fail in this trick, in the open tasks after it, and by losing the card's
later value. The numbers were tuned on sampled deals, by scripts not in the repository.

The scripted player plays the card of the least cost, and a feature for networks says how the cards compare.
"""

import numpy as np

from games.bits import BIT, count, each
from games.compiling import kernel
from games.crew.cards import COLOUR_CARDS, NUM_TRICKS, ROCKET, ROCKET_4
from games.crew.chances import LEVELS, is_void, only_holds, owned_by_others, owners_of, trick_winners
from games.crew.estimates.means import means, means_of_other, stays_highest
from games.crew.estimates.notes import in_order
from games.crew.estimates.specials import special_value, worth_for_special
from games.crew.missions import COMMANDER_ENDS

_TRICKS, _TRICKS_MORE, _STEEPNESS = 2.25, 0.8, 1.4
"""Tricks that the last open task takes; the share of it that each other task adds; and how steeply chances fall with
fewer tricks left."""
_LOSS_IF_HELD = 0.52
"""Factor on the danger to a task whose card its owner holds."""
_GIVES = 0.9
"""Chance that a seat gives a task of the colour led to its owner, who is winning."""
_LEAD = 0.045
"""Value of the lead for a seat with open tasks."""
_ROCKET_LED = 0.065
"""Cost of drawing rockets from seats that still need them."""


@kernel
def _time(notes, tricks_left):
    """Share of the estimated later chances that the remaining tricks allow."""
    scale = _TRICKS * (1.0 + _TRICKS_MORE * (count(notes["open"]) - 1))
    return 1.0 - np.exp(-((tricks_left / scale) ** _STEEPNESS))


@kernel
def cost_of(view, notes, card):
    """Estimated chance to fail after ``card``, less 1."""
    public = view["public"]
    content = public["trick"] | BIT[card]
    led = public["led"] if public["trick"] != 0 else card // 9
    wanting = _wanting(notes, content, led)
    barred = owned_by_others(notes["owned"], wanting)
    trick_winners(public, notes["likely"], card, wanting, barred, notes["chance"], notes["before"])
    tricks_left = NUM_TRICKS - 1 - public["num_played"] // 4
    _note_later(view, notes, card, led, tricks_left)
    _note_given(public, notes, led)
    value = 0.0
    for seat in range(4):
        chance = 0.0
        for level in range(LEVELS):
            weight = notes["chance"][seat, level]
            if weight > 0.0:
                chance += weight * special_value(public, notes, content, led, seat, level, tricks_left)
        if chance > 0.0:
            value += chance * _value(public, notes, content, seat)
    value *= 1.0 - _forced(public, notes, led)
    if led == ROCKET and public["trick"] == 0 and notes["open"] != 0 and notes["owned"][0] == 0:
        value *= 1.0 - _ROCKET_LED
    return -value + _all_later(notes) * worth_keeping(view, notes, card)


@kernel
def _all_later(notes):
    """The chance that all open tasks are done later."""
    chance = 1.0
    for task in each(notes["open"]):
        chance *= notes["later"][task]
    return chance


@kernel
def _note_later(view, notes, card, led, tricks_left):
    """The chance of every open task to be done later, without the card."""
    hand = view["hand"] & ~BIT[card]
    notes["likely"][0, card] = 0.0
    for task in each(notes["open"]):
        owner = notes["owner"][task]
        drawn = task // 9 == led
        if owner == 0:
            chance = means(notes, hand, task, drawn)
        elif notes["likely"][owner, task] > 0.95:
            chance = 1.0 - _LOSS_IF_HELD * (1.0 - stays_highest(notes, owner, task, drawn))
        else:
            chance = means_of_other(notes, owner, task)
        notes["later"][task] = chance * _time(notes, tricks_left)
    notes["likely"][0, card] = 1.0


@kernel
def _value(public, notes, content, winner):
    """Chance of success once a seat has won the trick, by the cards in it so far and those that may be added."""
    if notes["may_win"] >> winner & 1 == 0:
        return 0.0
    tasks = content & notes["open"]
    if tasks & ~notes["owned"][winner] != 0:
        return 0.0
    if tasks != 0 and not in_order(public, tasks):
        return 0.0
    value, for_lead = 1.0, 1.0
    for task in each(notes["open"] & ~tasks):
        later = notes["later"][task]
        if notes["owner"][task] == winner:
            later += notes["given"][task] * (1.0 - later)
            for_lead = 1.0 + _LEAD
        value *= later
    return min(1.0, value * for_lead)


@kernel
def _wanting(notes, content, led):
    """Seats that should win the trick: the owner of a task in it, else the seats that special rules allow, else the
    owners of tasks of the colour led."""
    wanting = owners_of(notes["owned"], content)
    if wanting != 0:
        return wanting
    if notes["may_win"] != 0b1111:
        return notes["may_win"]
    return owners_of(notes["owned"], notes["ready"] & COLOUR_CARDS[led])


@kernel
def _note_given(public, notes, led):
    """Write the chance that later seats add each open task to the trick if its owner wins."""
    behind = 4 - (public["num_played"] & 3)
    notes["given"][:] = 0.0
    for task in each(notes["open"] & notes["ready"] & notes["unseen"]):
        for seat in range(1, behind):
            if seat != notes["owner"][task]:
                can = _GIVES if task // 9 == led else is_void(notes["likely"], seat, led)
                notes["given"][task] += notes["likely"][seat, task] * can


@kernel
def _forced(public, notes, led):
    """Chance that a later seat has to add a task that the winner of the trick must not win."""
    behind = 4 - (public["num_played"] & 3)
    risk = 0.0
    for card in each(notes["open"] & notes["unseen"] & COLOUR_CARDS[led]):
        fails = 1.0
        if notes["ready"] & BIT[card] != 0:
            fails -= notes["chance"][notes["owner"][card]].sum()
        for seat in range(1, behind):
            risk += only_holds(notes["likely"], seat, card) * fails
    return min(risk, 1.0)


@kernel
def worth_keeping(view, notes, card):
    """Gain in the chance of success by keeping a card of the hand, except by means to win own tasks; below 0 for a card
    better played."""
    public, hand = view["public"], view["hand"]
    colour = card // 9
    special = public["special"]
    own, others = notes["owned"][0], notes["open"] & ~notes["owned"][0]
    if colour == ROCKET:
        if card == ROCKET_4 and (special & COMMANDER_ENDS != 0 or public["last"] == 0):
            return 0.5
        shed = own == 0 and others != 0
        return (-0.02 if shed else 0.013) + 0.003 * (card - 36)
    in_colour = COLOUR_CARDS[colour]
    unseen = notes["unseen"] & in_colour
    share = count(unseen & (BIT[card] - 1)) / count(unseen) if unseen != 0 else 0.5
    worth = 0.0
    if others & in_colour & ~BIT[card] != 0:
        lower = count(hand & in_colour & (BIT[card] - 1))
        worth -= 0.035 * share / (1.0 + lower)
        worth += 0.07 * (1.0 - share)
    guarded = hand & notes["open"] & in_colour & ~BIT[card]
    if guarded != 0:
        worth += 0.05 / count(hand & in_colour & ~guarded)
    worth += 0.03 * share if own & ~in_colour != 0 else -0.007 * share
    worth -= 0.007 / count(hand & in_colour)
    if special != 0:
        worth += worth_for_special(public, notes, special, hand, card, share)
    return worth
