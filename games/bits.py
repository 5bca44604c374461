"""Sets of cards as bits of an int64: at most 62 cards, so that no sign and no overflow ever comes into play."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from games.compiling import kernel

BIT = np.int64(1) << np.arange(62)
"""``int64[62]``: the set that holds one card."""


@kernel
def count(cards):
    """Number of cards in a set; the compiler knows this loop and makes it one instruction."""
    n = 0
    while cards != 0:
        cards &= cards - 1
        n += 1
    return n


@kernel
def lowest(cards):
    """Index of the lowest card of a non-empty set: the number of places below it; one instruction again."""
    return count((cards & -cards) - 1)


@kernel
def each(cards):
    """The index of every card of a set in turn, from the lowest up."""
    while cards != 0:
        yield lowest(cards)
        cards &= cards - 1


@kernel
def highest(cards):
    """The highest card of a set, as a set; empty for the empty set."""
    while cards & (cards - 1) != 0:
        cards &= cards - 1
    return cards


@kernel
def holds(cards, card):
    """Whether any number is a card of a set."""
    return card >= 0 and card < 62 and cards >> card & 1 != 0


@kernel
def mark(cards, row):
    """Set ``row[card]`` (``bool[V]``) for every card of a set."""
    for card in each(cards):
        row[card] = True


@kernel
def nth(cards, n):
    """Index of the ``n``-th card of a set, counted from 0 at the lowest; the set must hold more than ``n``."""
    for _ in range(n):
        cards &= cards - 1
    return lowest(cards)


# ---- legal tokens that one set cannot name: ``(first, set, low, high)``, each ``first + n`` for ``n`` of the set, then
# those from ``low`` to ``high - 1``, which are not among them


@kernel
def is_legal(legal, token):
    """Whether any number is among legal tokens."""
    first, tokens, low, high = legal
    return (token >= 0 and token >= low and token < high) or holds(tokens, token - first)


@kernel
def mark_legal(legal, row):
    """Set ``row[token]`` (``bool[V]``) for every legal token."""
    first, tokens, low, high = legal
    mark(tokens, row[first:])
    row[low:high] = True


@kernel
def count_legal(legal):
    """Number of legal tokens."""
    _, tokens, low, high = legal
    return count(tokens) + high - low


@kernel
def nth_legal(legal, n):
    """The ``n``-th legal token, counted from 0."""
    first, tokens, low, _ = legal
    in_set = count(tokens)
    return first + nth(tokens, n) if n < in_set else low + n - in_set


class Actions(NamedTuple):
    """Kernels that read a game's legal actions, whatever form these have."""

    mark: Callable[..., Any]
    """``(legal, bool[V])``: set the places of these tokens."""
    holds: Callable[..., Any]
    """``(legal, token)``: whether any number is among them."""
    count: Callable[..., Any]
    """``(legal)``: how many there are."""
    nth: Callable[..., Any]
    """``(legal, n)``: the ``n``-th, counted from 0."""


SETS = Actions(mark, holds, count, nth)
"""Legal actions as one set: games with at most 62 tokens that are actions, from token 0 on."""
TWO_PARTS = Actions(mark_legal, is_legal, count_legal, nth_legal)
"""Legal actions as ``(first, set, low, high)``, as above."""
