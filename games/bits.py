"""Sets of cards as bits of an int64: at most 62 cards, so that no sign and no overflow ever comes into play."""

import numpy as np

from games.compiling import kernel

# 2**k mod 67 differs for every k < 66 (2 is a primitive root of 67): a perfect hash from a lone bit to its index.
_BIT_OF_REMAINDER = np.full(67, -1, dtype=np.int64)
for _k in range(63):
    _BIT_OF_REMAINDER[pow(2, _k, 67)] = _k


@kernel
def lowest(cards):
    """Index of the lowest card of a non-empty set."""
    return _BIT_OF_REMAINDER[(cards & -cards) % 67]


@kernel
def count(cards):
    """Number of cards in a set."""
    n = 0
    while cards != 0:
        cards &= cards - 1
        n += 1
    return n


@kernel
def nth(cards, n):
    """Index of the ``n``-th card of a set, counted from 0 at the lowest; the set must hold more than ``n``."""
    for _ in range(n):
        cards &= cards - 1
    return lowest(cards)
