"""Attention over cached keys and values on a CPU, straight from their slots.

torch's own attention wants the keys of every row copied side by side, and on a CPU it is slow where a row asks with a
token or a few: with 128 rows of one token behind 41 it takes 4 (float32) to 7 times (bfloat16) as long as the loops
here, which read the cache where it lies (docs/performance.md). A GPU takes torch's way
(``learner.inference.torch_trunk``).

Activations and cache are float32 or bfloat16 bits (``learner.inference.cpu.rowwise``); scores and sums are float32.
Shape letters:
``T`` packed tokens, ``M`` rows, ``S`` longest history, ``L`` layers, ``E`` n_embd, ``H`` heads, ``D`` = E / H.
"""

import numba
import numpy as np

from games.compiling import kernel
from learner.inference.cpu.rowwise import element, exponentials, narrow, widen
from learner.inference.cpu.vector_attention import attend_row, attend_token, row_scratch, token_scratch
from learner.inference.cpu.vectors import LANES

_LINE = 64
"""Bytes that come from memory together."""
_TOGETHER = 3
"""Tokens of a row from which on its keys and values are worth laying side by side."""


def attend(
    qkv: np.ndarray,
    cache: np.ndarray,
    layer: int,
    keys: np.ndarray,
    row: np.ndarray,
    before: np.ndarray,
    own: np.ndarray,
    heads: int,
    bounds: np.ndarray,
) -> np.ndarray:
    """Put the tokens' keys and values into their slots; ``[T', E]``, of the type of ``qkv``: what each of them takes
    from the tokens before it in its history, and from itself.

    Args:
        qkv: ``[T', 3E]``: queries, keys and values; the tokens of a row one after the other. Rows behind the last token
            are there to fill up; zeros come of them.
        cache: ``[slots, L, 2E]``: keys, then values.
        layer: which of them.
        keys: ``int64[M, S]`` slots of each row: the history, then its other tokens in this pass.
        row: ``int64[T]`` the row of each token.
        before: ``int64[T]`` how many of the row's slots it sees.
        own: ``int64[T]`` its own slot.
        heads: H.
        bounds: ``int64[P + 1]`` the parts that threads take, cut between rows (``learner.inference.cpu.threads``).
    """
    attended = np.empty((len(qkv), qkv.shape[1] // 3), qkv.dtype)
    attended[len(row) :] = 0
    run = _attend if len(bounds) == 2 else _attend_in_parts
    run(qkv, cache, layer, keys, row, before, own, heads, bounds, attended)
    return attended


@kernel(parallel=True)
def _attend_in_parts(qkv, cache, layer, keys, row, before, own, heads, bounds, attended):
    for part in numba.prange(len(bounds) - 1):
        _attend(qkv, cache, layer, keys, row, before, own, heads, bounds[part : part + 2], attended)


@kernel(fastmath=True)
def _attend(qkv, cache, layer, keys, row, before, own, heads, bounds, attended):
    size = cache.shape[2] // 2
    whole_vectors = size // heads % LANES == 0
    query, out = np.empty(size, np.float32), np.empty(size, np.float32)
    for_row, for_token = row_scratch(size, keys.shape[1]), token_scratch(keys.shape[1])
    first, last, read = bounds[0], bounds[1], np.float32(0.0)
    for t in range(first, last):
        kept = cache[own[t], layer]
        for i in range(len(kept)):
            kept[i] = qkv[t, size + i]
    while first < last:
        end = first + 1
        while end < last and row[end] == row[first]:
            end += 1
        path = keys[row[first]]
        if end - first >= _TOGETHER and whole_vectors:
            attend_row(qkv, cache, layer, path, before, first, end, heads, for_row, attended)
        else:
            read += _touch(cache, layer, path, before[first])
            for t in range(first, end):
                widen(qkv[t, :size], query)
                attend_one(query, cache, layer, path, before[t], own[t], heads, for_token, out)
                narrow(out, attended[t])
        first = end
    return read


@kernel(fastmath=True)
def attend_one(query, cache, layer, path, seen, own, heads, scratch, attended):
    """One token: it sees the first ``seen`` slots of ``path`` and its ``own``; ``scratch`` from ``token_scratch``."""
    if cache.shape[2] // 2 // heads % LANES == 0:
        attend_token(query, cache, layer, path, seen, own, heads, scratch, attended)
    else:
        _attend_number_by_number(query, cache, layer, path, seen, own, heads, scratch.score, attended)


@kernel(fastmath=True)
def _attend_number_by_number(query, cache, layer, path, seen, own, heads, score, attended):
    """For heads of any width."""
    size = cache.shape[2] // 2
    width = size // heads
    scale = np.float32(1.0 / np.sqrt(width))
    for first in range(0, size, width):
        highest = np.float32(-np.inf)
        for i in range(seen + 1):
            key = cache[path[i] if i < seen else own, layer, first : first + width]
            dot = np.float32(0.0)
            for d in range(width):
                dot += query[first + d] * element(key, d)
            score[i] = dot * scale
            highest = max(highest, score[i])
        share = np.float32(1.0) / exponentials(score, seen + 1, highest)
        out = attended[first : first + width]
        out[:] = 0
        for i in range(seen + 1):
            value, weight = cache[path[i] if i < seen else own, layer, size + first :], score[i] * share
            for d in range(width):
                out[d] += weight * element(value, d)


@kernel(fastmath=True)
def _touch(cache, layer, path, seen):
    """Read one number of every cache line that the row's tokens will read: slot by slot the lines come from memory side
    by side, head by head each would be waited for. What it returns means nothing, but has to be used."""
    read = np.float32(0.0)
    for i in range(seen):
        kv = cache[path[i], layer]
        for j in range(0, len(kv), _LINE // cache.itemsize):
            read += element(kv, j)
    return read
