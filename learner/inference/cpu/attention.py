"""Attention over cached keys and values on a CPU.

torch's own attention needs the keys of all rows copied side by side. Here the keys of one row at a time are copied,
into memory that stays in the processor's cache.

Activations and cache are float32 or bfloat16 bits (``learner.inference.cpu.rowwise``); scores and sums are float32.
Shape letters: ``T`` packed tokens, ``M`` rows, ``S`` longest history, ``L`` layers, ``E`` n_embd, ``H`` heads.
"""

import numba
import numpy as np

from games.compiling import kernel
from learner.inference.cpu.rowwise import exponentials, narrow, widen


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
    """Write the tokens' keys and values into their slots; ``[T', E]``, of the type of ``qkv``: attention output of each
    token over the tokens before it in its history and itself.

    Args:
        qkv: ``[T', 3E]``: queries, keys and values; the tokens of a row are adjacent. Rows behind the last token are
            padding, with zeros as output.
        cache: ``[slots, L, 2E]``: keys, then values.
        layer: index of the layer.
        keys: ``int64[M, S]`` slots of each row: the history, then its other tokens in this pass.
        row: ``int64[T]`` the row of each token.
        before: ``int64[T]`` number of the row's slots that it attends to.
        own: ``int64[T]`` its own slot.
        heads: H.
        bounds: ``int64[P + 1]`` the parts that threads take, cut between rows (``learner.model.threads``).
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


@kernel
def _attend(qkv, cache, layer, keys, row, before, own, heads, bounds, attended):
    size, longest = cache.shape[2] // 2, keys.shape[1]
    kv, score = np.empty((longest, 2 * size), np.float32), np.empty(longest, np.float32)
    query, out = np.empty(size, np.float32), np.empty(size, np.float32)
    first, last = bounds[0], bounds[1]
    for t in range(first, last):
        kept = cache[own[t], layer]
        for i in range(len(kept)):
            kept[i] = qkv[t, size + i]
    while first < last:
        end = first + 1
        while end < last and row[end] == row[first]:
            end += 1
        # Copied once for all tokens and heads of the row: slots lie far apart, and reading them head by head would
        # wait for every cache line.
        for i in range(before[first] + end - first):
            widen(cache[keys[row[first], i], layer], kv[i])
        for t in range(first, end):
            widen(qkv[t, :size], query)
            _attend_token(query, kv, before[t], before[first] + t - first, heads, score, out)
            narrow(out, attended[t])
        first = end


@kernel(fastmath=True)
def _attend_token(query, kv, seen, own, heads, score, attended):
    """One token: it sees the first ``seen`` rows of ``kv`` (``float32[S, 2E]``) and row ``own``. ``score`` is
    scratch."""
    size = len(query)
    width = size // heads
    scale = np.float32(1.0 / np.sqrt(width))
    for a in range(0, size, width):
        q, out, c = query[a : a + width], attended[a : a + width], size + a
        highest = np.float32(-np.inf)
        for i in range(seen + 1):
            k = kv[i if i < seen else own, a : a + width]
            dot = np.float32(0.0)
            for d in range(width):
                dot += q[d] * k[d]
            score[i] = dot * scale
            highest = max(highest, score[i])
        share = np.float32(1.0) / exponentials(score, seen + 1, highest)
        v, weight = kv[own, c : c + width], score[seen] * share
        for d in range(width):
            out[d] = weight * v[d]
        whole = seen - seen % 4
        for i in range(0, whole, 4):  # four at a time: the sums are read and written a quarter as often
            w0, w1, w2, w3 = score[i] * share, score[i + 1] * share, score[i + 2] * share, score[i + 3] * share
            v0, v1, v2, v3 = (
                kv[i, c : c + width],
                kv[i + 1, c : c + width],
                kv[i + 2, c : c + width],
                kv[i + 3, c : c + width],
            )
            for d in range(width):
                out[d] += (w0 * v0[d] + w1 * v1[d]) + (w2 * v2[d] + w3 * v3[d])
        for i in range(whole, seen):
            v, weight = kv[i, c : c + width], score[i] * share
            for d in range(width):
                out[d] += weight * v[d]
