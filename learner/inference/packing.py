"""Laying out a forward pass: which tokens are computed, where their keys and values go, who attends to what.

Every row of a pass is a *chunk*, the tokens of its history that no slot holds yet, and behind it the candidates, which
are parallel leaves: all stand at the position behind the history, each sees the history and itself. Tokens of all rows
are packed without padding for everything but the attention.

Letters: ``M`` rows, ``T`` packed tokens, ``Q`` longest chunk + candidates of a row, ``S`` longest history + candidates
of a row, ``Z`` candidates.
"""

from dataclasses import dataclass

import numpy as np

from games.compiling import kernel
from learner.inference.prefix_tree import SlotPool


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


def pack(
    pool: SlotPool, paths: np.ndarray, held: np.ndarray, tokens: np.ndarray, lengths: np.ndarray, marked: np.ndarray
) -> Pass:
    """Lay out a pass over the histories and take its slots, written into ``paths`` in place.

    Arguments as ``QueryEngine.query`` has them. A history that is held whole gets its last token computed again, into
    the slot it has.
    """
    start = np.minimum(held, lengths - 1)
    width = lengths - start + marked.sum(1)
    fresh = pool.take(int(width.sum() - np.count_nonzero(held == lengths)))
    ids, row, position, slot, padded, keys, last, leaves = _lay_out(
        paths, held, start, width, tokens, lengths, marked, fresh, pool.token, pool.parent
    )
    return Pass(ids, row, position, slot, padded, keys, last, leaves, start, lengths, int(width.max()))


@kernel
def _lay_out(paths, held, start, width, tokens, lengths, marked, fresh, token_of, parent_of):
    count, total, longest = len(lengths), width.sum(), width.max()
    ids = np.empty(total, np.int64)
    row_of = np.empty(total, np.int64)
    position = np.empty(total, np.int64)
    slot = np.empty(total, np.int64)
    padded = np.empty(total, np.int64)
    keys = np.empty((count, (start + width).max()), np.int64)
    last = np.empty(count, np.int64)
    leaves = np.empty(total, np.int64)
    at, taken, num_leaves = 0, 0, 0
    for row in range(count):
        length = lengths[row]
        for place in range(start[row]):
            keys[row, place] = paths[row, place]
        for place in range(start[row], length):
            if place >= held[row]:
                paths[row, place] = fresh[taken]
                token_of[fresh[taken]] = tokens[row, place]
                parent_of[fresh[taken]] = paths[row, place - 1] if place else -1
                taken += 1
            ids[at] = tokens[row, place]
            row_of[at] = row
            position[at] = place
            slot[at] = keys[row, place] = paths[row, place]
            padded[at] = row * longest + place - start[row]
            at += 1
        last[row] = at - 1
        behind = length
        for token in range(marked.shape[1]):
            if marked[row, token]:
                token_of[fresh[taken]] = token
                parent_of[fresh[taken]] = paths[row, length - 1]
                ids[at] = token
                row_of[at] = row
                position[at] = length
                slot[at] = keys[row, behind] = fresh[taken]
                padded[at] = row * longest + behind - start[row]
                leaves[num_leaves] = at
                taken += 1
                num_leaves += 1
                behind += 1
                at += 1
        keys[row, behind:] = keys[row, behind - 1]
    return ids, row_of, position, slot, padded, keys, last, leaves[:num_leaves]


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
