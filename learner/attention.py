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
_GROUP = 4
"""Tokens of such a row that are worked on at once."""


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
    query, out = np.empty((_GROUP, size), np.float32), np.empty((_GROUP, size), np.float32)
    score = np.empty((_GROUP, longest), np.float32)
    kv = np.empty((longest, 2 * size), np.float32)
    first, last, read = bounds[0], bounds[1], np.float32(0.0)
    for t in range(first, last):
        kept = cache[own[t], layer]
        for i in range(len(kept)):
            kept[i] = qkv[t, size + i]
    while first < last:
        end = first + 1
        while end < last and row[end] == row[first]:
            end += 1
        path, held = keys[row[first]], before[first]
        together = end - first >= _TOGETHER
        if together:
            for i in range(held + end - first):
                widen(cache[path[i], layer], kv[i])
        else:
            read += _touch(cache, layer, path, held)
        for begin in range(first, end, _GROUP if together else 1):
            stop = min(begin + _GROUP, end) if together else begin + 1
            for t in range(begin, stop):
                widen(qkv[t, :size], query[t - begin])
            if together:
                _attend_group(query, kv, before[begin:stop], held + begin - first, heads, score, out)
            else:
                attend_one(query[0], cache, layer, path, before[begin], own[begin], heads, score[0], out[0])
            for t in range(begin, stop):
                narrow(out[t - begin], attended[t])
        first = end
    return read


@kernel(fastmath=True)
def attend_one(query, cache, layer, path, seen, own, heads, score, attended):
    """One token: it sees the first ``seen`` slots of ``path`` and its ``own``. ``score`` is scratch."""
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
        share = np.float32(1.0) / exponentials(score, seen + 1, highest)
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
def _attend_group(query, kv, before, own, heads, score, attended):
    """Up to four tokens of a row over keys and values that lie side by side, ``float32[S, 2E]``: token ``t`` sees the
    first ``before[t]``, which rises, and its own at ``own + t``. What is fetched for one token serves all."""
    size, count = query.shape[1], len(before)
    width, most = size // heads, before[count - 1]
    scale = np.float32(1.0 / np.sqrt(width))
    for a in range(0, size, width):
        b, c, d = a + width, size + a, size + a + width
        _group_scores(query, kv, a, b, most, count, scale, score)
        for t in range(count):
            seen, weight = before[t], score[t]
            q, k, dot = query[t, a:b], kv[own + t, a:b], np.float32(0.0)
            for e in range(width):
                dot += q[e] * k[e]
            weight[seen] = dot * scale
            highest = np.float32(-np.inf)
            for i in range(seen + 1):
                highest = max(highest, weight[i])
            share = np.float32(1.0) / exponentials(weight, seen + 1, highest)
            for i in range(seen + 1):
                weight[i] *= share
            out, v, its_own = attended[t, a:b], kv[own + t, c:d], weight[seen]
            for e in range(width):
                out[e] = its_own * v[e]
            weight[seen:most] = 0
        _add_group_values(score, kv, c, d, most, count, attended)


@kernel(fastmath=True)
def _group_scores(query, kv, a, b, most, count, scale, score):
    """Of one head, columns ``a .. b - 1``: the scores of the first ``most`` keys for every token of a group; a group
    that is not full has its last token several times."""
    q0, q1 = query[0, a:b], query[min(1, count - 1), a:b]
    q2, q3 = query[min(2, count - 1), a:b], query[count - 1, a:b]
    for i in range(most):
        k = kv[i, a:b]
        dot0 = dot1 = dot2 = dot3 = np.float32(0.0)
        for e in range(b - a):
            dot0 += q0[e] * k[e]
            dot1 += q1[e] * k[e]
            dot2 += q2[e] * k[e]
            dot3 += q3[e] * k[e]
        score[0, i], score[1, i], score[2, i], score[3, i] = dot0 * scale, dot1 * scale, dot2 * scale, dot3 * scale


@kernel(fastmath=True)
def _add_group_values(weight, kv, c, d, most, count, attended):
    """Of one head, values in columns ``c .. d - 1``: add what every token of a group takes from the first ``most``."""
    a, b, whole = c - kv.shape[1] // 2, d - kv.shape[1] // 2, most - most % 4
    for i in range(0, whole, 4):  # four at a time: the sums are read and written a quarter as often
        v0, v1, v2, v3 = kv[i, c:d], kv[i + 1, c:d], kv[i + 2, c:d], kv[i + 3, c:d]
        for t in range(count):
            out = attended[t, a:b]
            w0, w1, w2, w3 = weight[t, i], weight[t, i + 1], weight[t, i + 2], weight[t, i + 3]
            for e in range(d - c):
                out[e] += (w0 * v0[e] + w1 * v1[e]) + (w2 * v2[e] + w3 * v3[e])
    for i in range(whole, most):
        v = kv[i, c:d]
        for t in range(count):
            out, w0 = attended[t, a:b], weight[t, i]
            for e in range(d - c):
                out[e] += w0 * v[e]


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
