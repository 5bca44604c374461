"""The soloist's discards: the pair that leaves the hand most likely to win."""

import numpy as np

from games.bits import lowest
from games.compiling import kernel
from games.skat.cards import ALL_CARDS, BIT, points_of
from search.scripted.skat.rules.coefficients import PICKED_UP
from search.scripted.skat.rules.strength import strength


@kernel
def best_discards(twelve, first, game, leads, numbers):
    """``(pair, strength)``: the two cards of twelve (sets) to discard in ``game``, and the strength of the rest
    (``strength.strength``). ``first``: the card already discarded, or empty; the second lies above it.

    ``numbers`` is scratch of ``strength``.
    """
    best, most = np.int64(0), -np.inf
    others, lower = ALL_CARDS & ~twelve, twelve
    while lower != 0:
        one = np.int64(BIT[lowest(lower)])
        lower &= lower - 1
        if first != 0 and one != first:
            continue
        upper = lower
        while upper != 0:
            pair = one | BIT[lowest(upper)]
            upper &= upper - 1
            chance = strength(twelve & ~pair, game, leads, points_of(pair), PICKED_UP, others, numbers)
            if chance > most:
                best, most = pair, chance
    return best, most
