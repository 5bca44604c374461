"""Sets of cards as bits of an int64: at most 62 cards, so that no sign and no overflow ever comes into play."""

from games.compiling import kernel


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
def holds(cards, card):
    """Whether any number is a card of a set."""
    return card >= 0 and card < 62 and cards >> card & 1 != 0


@kernel
def mark(cards, row):
    """Set ``row[card]`` (``bool[V]``) for every card of a set."""
    while cards != 0:
        row[lowest(cards)] = True
        cards &= cards - 1


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
