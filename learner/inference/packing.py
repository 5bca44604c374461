"""Laying out a forward pass: which tokens are computed, where their keys and values go, who attends to what.

Every row of a pass is a *chunk*, the tokens of its history that are computed, and behind it the candidates, which are
parallel leaves: all stand at the position behind the history, each sees the history and itself. Tokens of all rows are
packed without padding for everything but the attention.

Letters: ``M`` rows, ``T`` packed tokens, ``Q`` longest chunk + candidates of a row, ``S`` longest history + candidates
of a row, ``Z`` candidates.
"""

from dataclasses import dataclass

import numpy as np

from games.compiling import kernel
from learner.inference.prefix_tree import PrefixTree


@dataclass(frozen=True)
class Pass:
    """Where every packed token of a pass stands; all arrays on the host."""

    ids: np.ndarray
    """``int64[T]`` token ids, rows one after the other, each its chunk and then its candidates."""
    row: np.ndarray
    """``int64[T]`` row of the pass."""
    position: np.ndarray
    """``int64[T]`` position in the history, and so the number of its tokens that are seen; all candidates of a row
    share one."""
    slot: np.ndarray
    """``int64[T]`` where its keys and values go."""
    padded: np.ndarray
    """``int64[T]`` index into the padded ``[M, Q]`` grid of the attention."""
    keys: np.ndarray
    """``int64[M, S]`` slots that a row's tokens may attend to, the last one repeated behind them."""
    last: np.ndarray
    """``int64[M]`` index of each history's last token."""
    leaves: np.ndarray
    """``int64[Z]`` indices of all candidates."""
    start: np.ndarray
    """``int64[M]`` tokens that were there before."""
    lengths: np.ndarray
    """``int64[M]`` tokens of each history."""
    width: int
    """``Q``"""

    @property
    def answered(self) -> np.ndarray:
        """``int64[M + Z]``: the packed tokens that something is asked about: ``last``, then ``leaves``."""
        return np.concatenate([self.last, self.leaves])


def pack(tree: PrefixTree, handles: np.ndarray, tokens: np.ndarray, counts: np.ndarray, marked: np.ndarray) -> Pass:
    """Extend the tree by what is asked about and lay out the pass; arguments as ``PrefixTree.extend`` has them. A
    history without new tokens gets its last token computed again, into the slot it has."""
    slot = tree.extend(handles, tokens, counts, marked)
    chunk = np.maximum(counts, 1)
    width = chunk + marked.sum(1)
    end = np.cumsum(width)
    last = end - width + chunk - 1
    lengths = tree.nodes.depth[slot[last]].astype(np.int64)
    start = lengths - chunk
    row, padded, keys, is_leaf = _lay_out(tree.nodes.parent, slot, chunk, width, lengths)
    return Pass(
        ids=tree.nodes.token[slot].astype(np.int64),
        row=row,
        position=tree.nodes.depth[slot].astype(np.int64) - 1,
        slot=slot,
        padded=padded,
        keys=keys,
        last=last,
        leaves=np.flatnonzero(is_leaf),
        start=start,
        lengths=lengths,
        width=int(width.max()),
    )


@kernel
def _lay_out(parent, slot, chunk, width, lengths):
    """Row, place in the grid, keys of each row, and whether a packed token is a candidate."""
    row_of = np.empty(len(slot), np.int64)
    padded = np.empty(len(slot), np.int64)
    is_leaf = np.empty(len(slot), np.bool_)
    keys = np.empty((len(width), (lengths + width - chunk).max()), np.int64)
    longest, at = width.max(), 0
    for row in range(len(width)):
        ancestor = slot[at + chunk[row] - 1]
        for place in range(lengths[row] - 1, -1, -1):
            keys[row, place] = ancestor
            ancestor = parent[ancestor]
        behind = lengths[row]
        for index in range(width[row]):
            row_of[at] = row
            padded[at] = row * longest + index
            is_leaf[at] = index >= chunk[row]
            if is_leaf[at]:
                keys[row, behind] = slot[at]
                behind += 1
            at += 1
        keys[row, behind:] = keys[row, behind - 1]
    return row_of, padded, keys, is_leaf


def sub_batches(width: np.ndarray, max_batch: int, similar: bool, few: int = 32) -> list[np.ndarray]:
    """Rows of each pass: at most ``max_batch``; with ``similar``, of similar width where there are more than ``few``,
    so that an attention over padded rows wastes little."""
    if not similar or len(width) <= few:
        return [np.arange(first, min(first + max_batch, len(width))) for first in range(0, len(width), max_batch)]
    order = np.argsort(width, kind="stable")
    passes, first = [], 0
    for last in range(1, len(order) + 1):
        full = last - first == max_batch
        wider = last < len(order) and last - first >= few and width[order[last]] > 2 * width[order[first]]
        if last == len(order) or full or wider:
            passes.append(np.sort(order[first:last]))
            first = last
    return passes
