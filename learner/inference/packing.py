"""Layout of a forward pass: the tokens to compute, the slots of their keys and values, and the attention mask.

Every row of a pass is a *chunk*, the new tokens of its history, followed by the candidates, which are parallel leaves:
all have the position after the history, and each attends to the history and itself. Tokens of all rows are packed
without padding except in the attention.

Letters: ``M`` rows, ``T`` packed tokens, ``Q`` longest chunk + candidates of a row, ``S`` longest history + candidates
of a row, ``Z`` candidates.
"""

from dataclasses import dataclass

import numpy as np

from games.compiling import kernel
from learner.inference.prefix_tree import PrefixTree

_ROWS = 16
"""Histories that are followed at once: each step waits for memory, and so these wait together."""


@dataclass(frozen=True)
class Pass:
    """Indices of all packed tokens of a pass; all arrays on the host."""

    ids: np.ndarray
    """``int64[T]`` token ids, rows one after the other, each its chunk and then its candidates."""
    row: np.ndarray
    """``int64[T]`` row of the pass."""
    position: np.ndarray
    """``int64[T]`` position in the history, which is the number of earlier tokens; all candidates of a row share it."""
    slot: np.ndarray
    """``int64[T]`` slot of its keys and values."""
    parent: np.ndarray
    """``int64[T]`` slot of the token before it, ``EMPTY`` for a history's first."""
    column: np.ndarray
    """``int64[T]`` place among the tokens of its row."""
    new: np.ndarray
    """``bool[T]`` False for the last token of a history without new tokens, which is computed again."""
    keys: np.ndarray
    """``int64[M, S]`` slots that a row's tokens may attend to, padded with the last one."""
    answered: np.ndarray
    """``int64[M + Z]`` the queried packed tokens: the last of each history, then candidates."""
    start: np.ndarray
    """``int64[M]`` tokens computed before."""
    lengths: np.ndarray
    """``int64[M]`` tokens of each history."""
    width: int
    """``Q``"""


def pack(tree: PrefixTree, handles: np.ndarray, tokens: np.ndarray, counts: np.ndarray, marked: np.ndarray) -> Pass:
    """Extend the tree by the queried tokens and lay out the pass; arguments as in ``PrefixTree.extend``. A history
    without new tokens has its last token computed again, into the same slot."""
    slot = tree.extend(handles, tokens, counts, marked)
    chunk = np.maximum(counts, 1)
    width = chunk + marked.sum(1)
    first = np.cumsum(width) - width
    last = first + chunk - 1
    row = np.repeat(np.arange(len(width)), width)
    column = np.arange(len(slot)) - first[row]
    lengths = tree.nodes["depth"][slot[last]].astype(np.int64)
    return Pass(
        ids=tree.nodes["token"][slot].astype(np.int64),
        row=row,
        position=tree.nodes["depth"][slot].astype(np.int64) - 1,
        slot=slot,
        parent=tree.nodes["parent"][slot],
        column=column,
        new=(counts > 0)[row] | (column > 0),
        keys=_keys(tree.nodes["parent"], slot, last, lengths, width - chunk),
        answered=np.concatenate([last, np.flatnonzero(column >= chunk[row])]),
        start=lengths - chunk,
        lengths=lengths,
        width=int(width.max()),
    )


@kernel
def _keys(parent, slot, last, lengths, leaves):
    """Slots of each row: its history, followed back from its last token, and the candidates behind it."""
    keys = np.empty((len(last), (lengths + leaves).max()), np.int64)
    ancestor = slot[last]
    for first in range(0, len(last), _ROWS):
        rows = range(first, min(first + _ROWS, len(last)))
        for back in range(1, lengths[first : first + _ROWS].max() + 1):
            for row in rows:
                if back <= lengths[row]:
                    keys[row, lengths[row] - back] = ancestor[row]
                    ancestor[row] = parent[ancestor[row]]
        for row in rows:
            end = lengths[row] + leaves[row]
            keys[row, lengths[row] : end] = slot[last[row] + 1 : last[row] + 1 + leaves[row]]
            keys[row, end:] = keys[row, end - 1]
    return keys
