"""Attention of heads that are whole vectors wide (``learner.inference.cpu.vectors``), in two ways: for a row that asks
with several tokens, and for a single one.

With several tokens it pays to lay the row's keys and values side by side, and the keys turned: a vector then holds the
scores of 16 keys, or 16 numbers of a value, and no sum crosses its lanes. For a single token all that costs more than
it saves; its keys are read where they lie.

Shape letters as in ``learner.inference.cpu.attention``.
"""

from typing import NamedTuple

import numpy as np

from games.compiling import kernel
from learner.inference.cpu.vectors import (
    LANES,
    LOG2_E,
    add,
    exp2,
    larger,
    largest,
    load,
    multiply,
    multiply_add,
    splat,
    store,
    subtract,
    total,
    transpose,
)

_GROUP = 4
"""Tokens of a row that are worked on at once."""
_UNSEEN = np.float32(-1e30)
"""Score of a key that a token does not see."""


class RowScratch(NamedTuple):
    """Memory that ``attend_row`` works in, ``S`` filled up to whole vectors."""

    query: np.ndarray
    """``float32[4, E]``: of a group of tokens, scaled."""
    visible: np.ndarray
    """``float32[4, S]``: 0 or ``_UNSEEN``."""
    score: np.ndarray
    """``float32[4, S]``: of one head."""
    kv: np.ndarray
    """``float32[S, 2E]``: keys and values."""
    turned: np.ndarray
    """``float32[E, S]``: keys, turned."""


class TokenScratch(NamedTuple):
    """Memory that ``attend_token`` works in."""

    score: np.ndarray
    """``float32[S + 16]``: of one head."""
    place: np.ndarray
    """``int64[S + 16]``: where in the cache the token's keys begin."""


@kernel
def row_scratch(size, longest):
    """For ``size`` = E and rows of ``longest`` slots."""
    filled_up = -(-longest // LANES) * LANES
    return RowScratch(
        np.empty((_GROUP, size), np.float32),
        np.empty((_GROUP, filled_up), np.float32),
        np.empty((_GROUP, filled_up), np.float32),
        np.empty((filled_up, 2 * size), np.float32),
        np.empty((size, filled_up), np.float32),
    )


@kernel
def token_scratch(longest):
    """For rows of ``longest`` slots."""
    return TokenScratch(np.empty(longest + LANES, np.float32), np.empty(longest + LANES, np.int64))


@kernel(fastmath=True)
def attend_row(qkv, cache, layer, path, before, first, end, heads, scratch, attended):
    """The tokens ``first .. end - 1``, all that a row has: a key or value that is fetched for one serves four.

    Args as of ``learner.inference.cpu.attention.attend``, ``path`` being the row's ``keys``; ``scratch`` from
    ``row_scratch``.
    """
    query, visible, _, kv, turned = scratch
    size, longest, held = query.shape[1], turned.shape[1], before[first]
    count = held + end - first
    for i in range(count):
        at = (path[i] * cache.shape[1] + layer) * 2 * size
        for e in range(0, 2 * size, LANES):
            store(kv, 2 * i * size + e, load(cache, at + e))
    for i in range(count, -(-count // LANES) * LANES):  # no token sees these keys, but vectors hold them too
        for e in range(0, size, LANES):
            store(kv, 2 * i * size + e, splat(np.float32(0.0)))
    for i in range(0, count, LANES):
        for e in range(0, size, LANES):
            transpose(kv, 2 * i * size + e, 2 * size, turned, e * longest + i, longest)
    scale = splat(np.float32(LOG2_E / np.sqrt(size // heads)))
    for begin in range(first, end, _GROUP):
        for g in range(_GROUP):
            t = min(begin + g, end - 1)  # a group that is not full has the last token several times
            for e in range(0, size, LANES):
                store(query, g * size + e, multiply(load(qkv, 3 * t * size + e), scale))
            visible[g, : before[t]] = 0
            visible[g, before[t] :] = _UNSEEN
            visible[g, held + t - first] = 0
        _attend_group(scratch, count, heads, begin, end, attended)


@kernel(fastmath=True)
def _attend_group(scratch, count, heads, begin, end, attended):
    """The tokens ``begin .. begin + 3`` over the first ``count`` keys and values."""
    query, visible, score, kv, turned = scratch
    size, longest = turned.shape
    width = size // heads
    t1, t2, t3 = min(begin + 1, end - 1), min(begin + 2, end - 1), min(begin + 3, end - 1)
    for first in range(0, size, width):
        _scores(query, visible, turned, first, width, count, score)
        share0, share1 = _exponentials(score, 0, count), _exponentials(score, longest, count)
        share2, share3 = _exponentials(score, 2 * longest, count), _exponentials(score, 3 * longest, count)
        for e in range(first, first + width, LANES):
            sum0 = sum1 = sum2 = sum3 = splat(np.float32(0.0))
            for i in range(count):
                value = load(kv, (2 * i + 1) * size + e)
                sum0 = multiply_add(splat(score[0, i]), value, sum0)
                sum1 = multiply_add(splat(score[1, i]), value, sum1)
                sum2 = multiply_add(splat(score[2, i]), value, sum2)
                sum3 = multiply_add(splat(score[3, i]), value, sum3)
            store(attended, begin * size + e, multiply(sum0, share0))
            store(attended, t1 * size + e, multiply(sum1, share1))
            store(attended, t2 * size + e, multiply(sum2, share2))
            store(attended, t3 * size + e, multiply(sum3, share3))


@kernel(fastmath=True)
def _scores(query, visible, turned, first, width, count, score):
    """Of the head whose columns begin at ``first``: the logarithms to base 2 of what attention is in proportion to."""
    longest = turned.shape[1]
    for i in range(0, count, LANES):
        dot0, dot1 = load(visible, i), load(visible, longest + i)
        dot2, dot3 = load(visible, 2 * longest + i), load(visible, 3 * longest + i)
        for e in range(first, first + width):
            key = load(turned, e * longest + i)
            dot0 = multiply_add(splat(query[0, e]), key, dot0)
            dot1 = multiply_add(splat(query[1, e]), key, dot1)
            dot2 = multiply_add(splat(query[2, e]), key, dot2)
            dot3 = multiply_add(splat(query[3, e]), key, dot3)
        store(score, i, dot0)
        store(score, longest + i, dot1)
        store(score, 2 * longest + i, dot2)
        store(score, 3 * longest + i, dot3)


@kernel(fastmath=True)
def _exponentials(score, at, count):
    """Replace a token's scores by 2 to the power of what they are above the highest; 1 over their sum in all lanes."""
    highest = load(score, at)
    for i in range(at + LANES, at + count, LANES):
        highest = larger(highest, load(score, i))
    less, sums = splat(largest(highest)), splat(np.float32(0.0))
    for i in range(at, at + count, LANES):
        weights = exp2(subtract(load(score, i), less))
        store(score, i, weights)
        sums = add(sums, weights)
    return splat(np.float32(1.0) / total(sums))


@kernel(fastmath=True)
def attend_token(query, cache, layer, path, seen, own, heads, scratch, attended):
    """One token, ``float32[E]`` in and out: it sees the first ``seen`` slots of ``path`` and its ``own``. ``scratch``
    from ``token_scratch``."""
    score, place = scratch
    size = cache.shape[2] // 2
    width = size // heads
    scale = splat(np.float32(LOG2_E / np.sqrt(width)))
    for i in range(seen + 1):
        place[i] = ((path[i] if i < seen else own) * cache.shape[1] + layer) * 2 * size
    for first in range(0, size, width):
        for i in range(seen + 1):
            dot = splat(np.float32(0.0))
            for e in range(first, first + width, LANES):
                dot = multiply_add(load(query, e), load(cache, place[i] + e), dot)
            score[i] = total(multiply(dot, scale))
        score[seen + 1 : seen + LANES] = _UNSEEN
        share = _exponentials(score, 0, seen + 1)
        for e in range(first, first + width, LANES):
            store(attended, e, multiply(_weighted(score, cache, place, size + e, seen + 1), share))


@kernel(fastmath=True)
def _weighted(score, cache, place, column, count):
    """The sum of ``count`` values by their weights, 16 numbers from ``column`` on."""
    sum0 = sum1 = sum2 = sum3 = splat(np.float32(0.0))  # each would wait for itself if it were one
    whole = count - count % 4
    for i in range(0, whole, 4):
        sum0 = multiply_add(splat(score[i]), load(cache, place[i] + column), sum0)
        sum1 = multiply_add(splat(score[i + 1]), load(cache, place[i + 1] + column), sum1)
        sum2 = multiply_add(splat(score[i + 2]), load(cache, place[i + 2] + column), sum2)
        sum3 = multiply_add(splat(score[i + 3]), load(cache, place[i + 3] + column), sum3)
    for i in range(whole, count):
        sum0 = multiply_add(splat(score[i]), load(cache, place[i] + column), sum0)
    return add(add(sum0, sum1), add(sum2, sum3))
