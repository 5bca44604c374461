"""Attention over cached keys and values on a CPU, straight from their slots.

torch's own attention wants the keys of every row copied side by side, and on a CPU it is slow where a row asks with a
token or a few: with 128 rows of one token behind 41 it takes 3 to 5 times as long as the loop below, which reads the
cache where it lies (docs/performance.md). A GPU takes torch's way (``learner.inference``).

Shape letters: ``T`` packed tokens, ``M`` rows, ``S`` longest history, ``E`` n_embd, ``H`` heads, ``D`` = E / H.
"""

import math
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import torch

from games.compiling import kernel

_WORTH_A_THREAD = 400_000
"""Multiplications that pay for handing a part to another thread."""
_LOG2_E = np.float32(math.log2(math.e))
_threads: dict[int, ThreadPoolExecutor] = {}


def attend(
    query_TE: np.ndarray,
    cache: np.ndarray,
    keys_MS: np.ndarray,
    row_T: np.ndarray,
    before_T: np.ndarray,
    own_T: np.ndarray,
    heads: int,
    parts: int = 1,
) -> np.ndarray:
    """``float32[T, E]``: what every token takes from the tokens before it in its history, and from itself.

    Args:
        query_TE: ``float32[T, E]``.
        cache: ``float32[slots, 2E]``: keys, then values.
        keys_MS: ``int64[M, S]`` slots of each row's history.
        row_T: ``int64[T]`` the row of each token.
        before_T: ``int64[T]`` how many of the row's slots it sees.
        own_T: ``int64[T]`` its own slot.
        parts: threads that share the tokens, see ``worthwhile_parts``.
    """
    attended = np.empty_like(query_TE)
    if parts == 1:
        _attend(query_TE, cache, keys_MS, row_T, before_T, own_T, heads, attended)
        return attended
    bounds = [len(row_T) * part // parts for part in range(parts + 1)]

    def run(first: int, last: int) -> None:
        part = slice(first, last)
        _attend(query_TE[part], cache, keys_MS, row_T[part], before_T[part], own_T[part], heads, attended[part])

    others = [_pool(parts).submit(run, *bounds[part : part + 2]) for part in range(1, parts)]
    run(*bounds[:2])
    for other in wait(others).done:
        other.result()
    return attended


def worthwhile_parts(before_T: np.ndarray, size: int) -> int:
    """Threads that attention over ``before_T`` slots a token is worth, at most as many as torch uses; ``size`` is E."""
    work = int(before_T.sum()) * 2 * size
    return max(1, min(torch.get_num_threads(), work // _WORTH_A_THREAD))


def _pool(size: int) -> ThreadPoolExecutor:
    if size not in _threads:
        _threads[size] = ThreadPoolExecutor(size, thread_name_prefix="attention")
    return _threads[size]


@kernel(fastmath=True)
def _attend(query, cache, keys, row, before, own, heads, attended):
    score = np.empty(keys.shape[1] + 1, np.float32)
    power = np.empty(keys.shape[1] + 1, np.int32)
    for token in range(len(row)):
        path = keys[row[token]]
        attend_one(query[token], cache, path, before[token], own[token], heads, score, power, attended[token])


@kernel(fastmath=True)
def attend_one(query, cache, path, seen, own, heads, score, power, attended):
    """One token: it sees the first ``seen`` slots of ``path`` and its ``own``. ``score`` and ``power`` are scratch."""
    size = cache.shape[1] // 2
    width = size // heads
    scale = np.float32(1.0 / np.sqrt(width))
    for first in range(0, size, width):
        q = query[first : first + width]
        highest = np.float32(-np.inf)
        for i in range(seen + 1):
            k = cache[path[i] if i < seen else own, first : first + width]
            dot = np.float32(0.0)
            for d in range(width):
                dot += q[d] * k[d]
            score[i] = dot * scale
            highest = max(highest, score[i])
        for i in range(seen + 1):
            score[i] -= highest
        exponentials(score, power, seen + 1)
        total = np.float32(0.0)
        for i in range(seen + 1):
            total += score[i]
        out = attended[first : first + width]
        out[:] = np.float32(0.0)
        for i in range(seen + 1):
            start = size + first
            v = cache[path[i] if i < seen else own, start : start + width]
            weight = score[i] / total
            for d in range(width):
                out[d] += weight * v[d]


@kernel(fastmath=True)
def exponentials(values, power, count):
    """Replace the first ``count`` values, at most 88, by their exponentials.

    In loops that become vector instructions: 2 to the whole part from the bits of a float, to the rest by a polynomial
    (relative error below 3e-7). ``power`` is scratch, ``int32``.
    """
    for i in range(count):
        x = max(values[i] * _LOG2_E, np.float32(-126.0))
        whole = np.floor(x)
        rest = x - whole
        p = np.float32(1.8775767e-3)
        p = p * rest + np.float32(8.9893397e-3)
        p = p * rest + np.float32(5.5826318e-2)
        p = p * rest + np.float32(2.4015361e-1)
        p = p * rest + np.float32(6.9315308e-1)
        values[i] = p * rest + np.float32(9.9999994e-1)
        power[i] = (np.int32(whole) + np.int32(127)) << np.int32(23)
    factor = power.view(np.float32)
    for i in range(count):
        values[i] *= factor[i]
