"""Attention over cached keys and values on a CPU, straight from their slots.

torch's own attention wants the keys of every row copied side by side, and on a CPU it is slow where a row asks with a
token or a few: with 128 rows of one token behind 41 it takes 3 to 5 times as long as the loop below, which reads the
cache where it lies (docs/performance.md). A GPU takes torch's way (``learner.device_trunk``).

Activations and cache are float32 or bfloat16 bits (``learner.rowwise``); scores and sums are float32. Shape letters:
``T`` packed tokens, ``M`` rows, ``S`` longest history, ``L`` layers, ``E`` n_embd, ``H`` heads, ``D`` = E / H.
"""

import numba
import numpy as np

from games.compiling import kernel
from learner.rowwise import element, exponentials, narrow, widen

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
        bounds: ``int64[P + 1]`` the parts that threads take, cut between rows (``learner.threads``).
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
    size, longest = cache.shape[2] // 2, keys.shape[1] + 1
    query, out = np.empty(size, np.float32), np.empty(size, np.float32)
    score, power = np.empty(longest, np.float32), np.empty(longest, np.int32)
    seen_kv = np.empty((longest, 2 * size), np.float32)
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
        together = end - first >= _TOGETHER
        if together:
            for i in range(before[first] + end - first):
                widen(cache[path[i], layer], seen_kv[i])
        else:
            read += _touch(cache, layer, path, before[first])
        for t in range(first, end):
            widen(qkv[t, :size], query)
            if together:
                _attend_side_by_side(query, seen_kv, before[t], before[first] + t - first, heads, score, power, out)
            else:
                attend_one(query, cache, layer, path, before[t], own[t], heads, score, power, out)
            narrow(out, attended[t])
        first = end
    return read


@kernel(fastmath=True)
def attend_one(query, cache, layer, path, seen, own, heads, score, power, attended):
    """One token: it sees the first ``seen`` slots of ``path`` and its ``own``. ``score`` and ``power`` are scratch."""
    size = cache.shape[2] // 2
    width = size // heads
    scale = np.float32(1.0 / np.sqrt(width))
    for first in range(0, size, width):
        q = query[first : first + width]
        highest = np.float32(-np.inf)
        for i in range(seen + 1):
            k = cache[path[i] if i < seen else own, layer, first : first + width]
            dot = np.float32(0.0)
            for d in range(width):
                dot += q[d] * element(k, d)
            score[i] = dot * scale
            highest = max(highest, score[i])
        share = np.float32(1.0) / exponentials(score, power, seen + 1, highest)
        out, a, b = attended[first : first + width], size + first, size + first + width
        v, weight = cache[own, layer, a:b], score[seen] * share
        for d in range(width):
            out[d] = weight * element(v, d)
        whole = seen - seen % 4
        for i in range(0, whole, 4):  # four at a time: the sums are read and written a quarter as often
            w0, w1, w2, w3 = score[i] * share, score[i + 1] * share, score[i + 2] * share, score[i + 3] * share
            v0, v1 = cache[path[i], layer, a:b], cache[path[i + 1], layer, a:b]
            v2, v3 = cache[path[i + 2], layer, a:b], cache[path[i + 3], layer, a:b]
            for d in range(width):
                out[d] += (w0 * element(v0, d) + w1 * element(v1, d)) + (w2 * element(v2, d) + w3 * element(v3, d))
        for i in range(whole, seen):
            v, weight = cache[path[i], layer, a:b], score[i] * share
            for d in range(width):
                out[d] += weight * element(v, d)


@kernel(fastmath=True)
def _attend_side_by_side(query, kv, seen, own, heads, score, power, attended):
    """One token over keys and values that lie side by side, ``float32[S, 2E]``: the first ``seen`` and its ``own``."""
    size = len(query)
    width = size // heads
    scale = np.float32(1.0 / np.sqrt(width))
    for first in range(0, size, width):
        q, highest = query[first : first + width], np.float32(-np.inf)
        for i in range(seen + 1):
            k = kv[i if i < seen else own, first : first + width]
            dot = np.float32(0.0)
            for d in range(width):
                dot += q[d] * k[d]
            score[i] = dot * scale
            highest = max(highest, score[i])
        share = np.float32(1.0) / exponentials(score, power, seen + 1, highest)
        out, a, b = attended[first : first + width], size + first, size + first + width
        v, weight = kv[own, a:b], score[seen] * share
        for d in range(width):
            out[d] = weight * v[d]
        whole = seen - seen % 4
        for i in range(0, whole, 4):  # four at a time: the sums are read and written a quarter as often
            w0, w1, w2, w3 = score[i] * share, score[i + 1] * share, score[i + 2] * share, score[i + 3] * share
            v0, v1, v2, v3 = kv[i, a:b], kv[i + 1, a:b], kv[i + 2, a:b], kv[i + 3, a:b]
            for d in range(width):
                out[d] += (w0 * v0[d] + w1 * v1[d]) + (w2 * v2[d] + w3 * v3[d])
        for i in range(whole, seen):
            v, weight = kv[i, a:b], score[i] * share
            for d in range(width):
                out[d] += weight * v[d]


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
