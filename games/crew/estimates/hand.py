"""Estimates of ten cards before the first trick."""

from games.bits import BIT, count, each, highest
from games.compiling import kernel
from games.crew.cards import COLOUR_CARDS, ROCKET_CARDS


@kernel
def ease(hand, card):
    """Estimated chance that a hand wins the trick with a colour card in it."""
    in_colour = COLOUR_CARDS[card // 9]
    held = hand & in_colour
    rockets = count(hand & ROCKET_CARDS)
    ruff = min(0.8, 0.1 + 0.2 * rockets)
    if held & BIT[card] != 0:
        above = count(in_colour & ~held & ~((BIT[card] << 1) - 1))
        return 0.95 * 0.72**above
    best = highest(held)
    if best > BIT[card]:
        above = count(in_colour & ~held & ~((best << 1) - 1))
        return max(0.85 * 0.75**above, ruff)
    return ruff


@kernel
def control(hand):
    """Estimated number of tricks that a hand wins."""
    tricks = 0.6 * count(hand & ROCKET_CARDS)
    for colour in range(4):
        held = hand & COLOUR_CARDS[colour]
        tricks += (
            (held >> (9 * colour + 8) & 1) + 0.6 * (held >> (9 * colour + 7) & 1) + 0.3 * (held >> (9 * colour + 6) & 1)
        )
    return tricks


@kernel
def safety(hand):
    """Estimated chance that a hand wins no trick."""
    chance = 1.0
    for rocket in each(hand & ROCKET_CARDS):
        chance *= 0.9 - 0.15 * (rocket - 36)
    for colour in range(4):
        for number, value in enumerate(each(hand >> (9 * colour) & 0b111111111)):
            if number < 3:
                chance *= 1.0 - 0.06 * max(0, value - 2 * number - 2)
    return chance
