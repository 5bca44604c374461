"""Row operations between two matrix products on a CPU, in compiled loops.

torch needs several operations for the same, each of which walks over the whole pass and allocates its result.
Activations are float32, or bfloat16 as ``uint16`` (numpy has no bfloat16): ``widen`` and ``narrow`` convert from and to
float32, in which everything is computed, and ``element`` reads one number.

Shape letters: ``T`` packed tokens, ``E`` n_embd, ``K`` outcome labels.
"""

import math

import numba
import numpy as np

from games.compiling import kernel
from learner.model.threads import bounds_of

_LOG2_E = math.log2(math.e)
_IMPOSSIBLE = -1e30
"""Logit of a masked outcome; finite, as fastmath assumes."""
_LEAST = -100.0
"""Least exponent of two; lower ones are raised to it. Their terms are negligible beside the highest, and denormal
numbers would be many times slower."""
_POWER_OF_TWO = (1.8775767e-3, 8.9893397e-3, 5.5826318e-2, 2.4015361e-1, 6.9315308e-1, 9.9999994e-1)
"""Polynomial that is 2 to the power of 0 .. 1, highest coefficient first (relative error below 3e-7)."""


@kernel
def element(row, i):
    """``row[i]`` as a float32, of a row of either type."""
    if row.itemsize == 2:
        return np.uint32(np.uint32(row[i]) << np.uint32(16)).view(np.float32)
    return np.float32(row[i])


@kernel
def widen(row, out):
    """``float32[N]`` of a row of either type."""
    for i in range(len(row)):
        out[i] = element(row, i)


@kernel
def narrow(row, out):
    """A ``float32[N]`` rounded to either type, to the nearest and ties to even as torch does it."""
    if out.itemsize == 2:
        bits = row.view(np.uint32)
        for i in range(len(row)):
            odd = (bits[i] >> np.uint32(16)) & np.uint32(1)
            out[i] = (bits[i] + np.uint32(0x7FFF) + odd) >> np.uint32(16)
    else:
        for i in range(len(row)):
            out[i] = row[i]


def embed(
    ids: np.ndarray,
    positions: np.ndarray,
    types: np.ndarray,
    of_ids: np.ndarray,
    of_positions: np.ndarray,
    of_types: np.ndarray,
) -> np.ndarray:
    """``float32[T, E]``: sums of embeddings.

    Args:
        ids: ``int64[T]`` tokens.
        positions: ``int64[T]``
        types: ``int64[T, 2]`` of each token and of the one that comes next; ``[0, 2]`` for none.
        of_ids: ``float32[..., E]`` embeddings of tokens.
        of_positions: ``float32[..., E]``
        of_types: ``float32[..., E]``, those of next tokens behind those of tokens.
    """
    out = np.empty((len(ids), of_ids.shape[1]), np.float32)
    _embed(ids, positions, types, of_ids, of_positions, of_types, out)
    return out


@kernel
def _embed(ids, positions, types, of_ids, of_positions, of_types, out):
    behind = len(of_types) // 2
    for t in range(len(ids)):
        row, token, position = out[t], of_ids[ids[t]], of_positions[positions[t]]
        if len(types) == 0:
            for e in range(len(row)):
                row[e] = token[e] + position[e]
        else:
            last, coming = of_types[types[t, 0]], of_types[behind + types[t, 1]]
            for e in range(len(row)):
                row[e] = token[e] + position[e] + last[e] + coming[e]


def add_and_normalise(
    stream: np.ndarray, added: np.ndarray, norm: np.ndarray, epsilon: np.float32, out: np.ndarray, bounds: np.ndarray
) -> None:
    """``stream += added`` and ``out`` the layer norm of the sum: ``float32[T, E]``, either type, ``float32[2, E]`` of
    factors and offsets, either type; ``bounds`` as ``bounds_of`` gives them."""
    if len(bounds) == 2:
        _add_and_normalise(stream, added, norm, epsilon, out)
    else:
        _add_and_normalise_in_parts(stream, added, norm, epsilon, out, bounds)


@kernel(parallel=True)
def _add_and_normalise_in_parts(stream, added, norm, epsilon, out, bounds):
    for part in numba.prange(len(bounds) - 1):
        first, last = bounds[part], bounds[part + 1]
        _add_and_normalise(stream[first:last], added[first:last], norm, epsilon, out[first:last])


@kernel(fastmath=True)
def _add_and_normalise(stream, added, norm, epsilon, out):
    size, scale, offset = stream.shape[1], norm[0], norm[1]
    row = np.empty(size, np.float32)
    for t in range(len(stream)):
        sums, more = stream[t], added[t]
        mean, squares = np.float32(0.0), np.float32(0.0)
        for e in range(size):  # as few walks over the row as there can be: short loops cost by the loop
            total = sums[e] + element(more, e)
            sums[e] = total
            mean += total
        mean /= np.float32(size)
        for e in range(size):
            squares += (sums[e] - mean) * (sums[e] - mean)
        factor = np.float32(1.0) / np.sqrt(squares / np.float32(size) + epsilon)
        for e in range(size):
            row[e] = (sums[e] - mean) * factor * scale[e] + offset[e]
        narrow(row, out[t])


def expectations(logits: np.ndarray, utility: np.ndarray, possible: np.ndarray | None = None) -> np.ndarray:
    """``float32[T]``: the mean of ``utility[K]`` under the softmax of each row of ``logits[T, K]``, of either type.

    With ``possible``, ``bool[T, K]``, over those labels alone, at least one a row.
    """
    out, bounds = np.empty(len(logits), np.float32), bounds_of(len(logits))
    counted = np.empty((0, 0), np.bool_) if possible is None else possible
    if len(bounds) == 2:
        _expectations(logits, utility, counted, out)
    else:
        _expectations_in_parts(logits, utility, counted, out, bounds)
    return out


@kernel(parallel=True)
def _expectations_in_parts(logits, utility, counted, out, bounds):
    for part in numba.prange(len(bounds) - 1):
        rows = slice(bounds[part], bounds[part + 1])
        _expectations(logits[rows], utility, counted[rows], out[rows])


@kernel(fastmath=True)
def _expectations(logits, utility, counted, out):
    row = np.empty(logits.shape[1], np.float32)
    for t in range(len(logits)):
        widen(logits[t], row)
        if len(counted) > 0:
            possible = counted[t]
            for k in range(len(row)):
                row[k] = row[k] if possible[k] else np.float32(_IMPOSSIBLE)
        total = exponentials(row, len(row), highest(row))
        weighted = np.float32(0.0)
        for k in range(len(row)):
            weighted += row[k] * utility[k]
        out[t] = weighted / total


@kernel
def highest(row):
    """The largest of a ``float32[N]``. Bits of floats have the order of integers, but for those of negative ones, which
    are turned round: of a largest integer the compiler makes vector instructions, of a largest float it does not."""
    bits, most = row.view(np.int32), np.int32(-(1 << 31))
    for i in range(len(bits)):
        most = max(most, _turned(bits[i]))
    return np.int32(_turned(most)).view(np.float32)


@kernel
def _turned(bits):
    return bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF))


@kernel(fastmath=True)
def exponentials(values, count, less):
    """Replace the first ``count`` values by the exponentials of what they are above ``less``, at most 88; their sum.
    From -69 down they are 1e-30.

    In one loop that becomes vector instructions: 2 to the whole part from the bits of a float, to the rest by a
    polynomial (relative error below 3e-7).
    """
    total = np.float32(0.0)
    for i in range(count):
        x = max((values[i] - less) * np.float32(_LOG2_E), np.float32(_LEAST))
        whole = np.floor(x)
        rest = x - whole
        p = np.float32(_POWER_OF_TWO[0])
        p = p * rest + np.float32(_POWER_OF_TWO[1])
        p = p * rest + np.float32(_POWER_OF_TWO[2])
        p = p * rest + np.float32(_POWER_OF_TWO[3])
        p = p * rest + np.float32(_POWER_OF_TWO[4])
        p = p * rest + np.float32(_POWER_OF_TWO[5])
        values[i] = p * np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)
        total += values[i]
    return total
