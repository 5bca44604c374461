"""Chances of seats to win their tasks later. The numbers were found as in ``playing``."""

from games.bits import BIT, count, each
from games.compiling import kernel
from games.crew.cards import COLOUR_CARDS, ROCKET_CARDS


@kernel
def stays_highest(notes, owner, card, drawn):
    """Estimated chance that no seat has to go above a card that its owner leads: each of the others has a lower one of
    the colour, or none. With ``drawn`` all seats have followed the colour once more before that."""
    first, chance = card // 9 * 9, 1.0
    for seat in range(4):
        if seat == owner:
            continue
        none_below, none, one = 1.0, 1.0, 0.0
        for other in range(first, card):
            none_below *= 1.0 - notes["likely"][seat, other]
        for other in range(card + 1, first + 9):
            held = notes["likely"][seat, other]
            one = one * (1.0 - held) + none * held
            none *= 1.0 - held
        forced = 1.0 - none - (one if drawn else 0.0)
        share = 0.6 if seat == 0 else 1.0  # own cards may be played otherwise
        chance *= 1.0 - share * none_below * max(0.0, forced)
    return chance


@kernel
def means(notes, hand, task, drawn):
    """Estimated chance to win a task later with the cards of ``hand``: the task's own card once it stays highest, or a
    higher one of its colour, or a rocket. ``drawn``: see ``stays_highest``."""
    in_colour = COLOUR_CARDS[task // 9]
    held = hand & in_colour & ~(notes["open"] & ~notes["owned"][0])
    if notes["likely"][0, task] == 1.0:
        chance = stays_highest(notes, 0, task, drawn)
        others = count(held & ~BIT[task])
        return 1.0 - (1.0 - chance) * 0.25 * 0.97**others
    best = 0.0
    for card in each(held & ~((BIT[task] << 1) - 1)):
        best = max(best, stays_highest(notes, 0, card, drawn))
    miss = 1.0 - 0.63 * best
    for rocket in each(hand & ROCKET_CARDS):
        miss *= 0.43 - 0.12 * (rocket - 36)
    return 1.0 - 0.65 * miss


@kernel
def means_of_other(notes, owner, task):
    """Estimated chance that another seat wins its task later, with its high cards or a rocket."""
    miss, last = 1.0, task // 9 * 9 + 9
    for card in range(task + 1, last):
        above = 1.0
        for higher in range(card + 1, last):
            for seat in range(4):
                if seat != owner:
                    above -= 0.2 * notes["likely"][seat, higher]
        miss *= 1.0 - notes["likely"][owner, card] * max(0.0, above)
    for rocket in range(36, 40):
        miss *= 1.0 - 0.45 * notes["likely"][owner, rocket]
    return 0.7 + (1.0 - 0.7) * (1.0 - miss)
