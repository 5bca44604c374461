"""Seeds and random numbers: every draw follows from (run seed, iteration, shard, game).

``derive`` names a seed by its path from the run seed. Inside kernels a seed is a splitmix64 counter, so that a draw
costs a few instructions, needs no state outside the record that holds it, and is the same in compiled and in plain
Python.
"""

import hashlib

import numpy as np

from games.compiling import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S33 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(33)


def derive(seed: int, *path: int | str) -> int:
    """The 64-bit seed that belongs to ``path`` below ``seed``, e.g. ``derive(run_seed, "shard", iteration, shard)``.

    Hashed with BLAKE2b, so that neighbouring paths give unrelated seeds.
    """
    text = "/".join([str(int(seed)), *(f"{type(part).__name__[0]}{part}" for part in path)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def derive_many(seed: int, count: int, first: int = 0) -> np.ndarray:
    """``uint64[count]``: the seeds of items ``first .. first + count - 1`` below ``seed``."""
    items = np.arange(first, first + count, dtype=np.uint64)
    return mix(np.uint64(seed), items)


def keyed_hash(key: int, *columns: np.ndarray) -> np.ndarray:
    """``uint64[M]``: BLAKE2b of each row of the columns (integers ``[M]``) under ``key``: unlike ``mix`` it cannot be
    inverted, so its values give away neither the key nor the columns."""
    secret = int(key).to_bytes(8, "little", signed=key < 0)
    rows = np.ascontiguousarray(np.stack([np.asarray(column).astype(np.uint64) for column in columns], axis=1))
    data, width = rows.tobytes(), 8 * len(columns)
    digests = (
        hashlib.blake2b(data[first : first + width], digest_size=8, key=secret).digest()
        for first in range(0, len(data), width)
    )
    return np.frombuffer(b"".join(digests), np.uint64).copy()


def mix(seeds: np.ndarray | np.uint64, salt: np.ndarray | np.uint64 | int) -> np.ndarray:
    """``uint64``: seeds combined with a salt, elementwise and broadcast; the vector form of ``mix64``."""
    with np.errstate(over="ignore"):
        z = np.asarray(seeds, np.uint64) + (np.asarray(salt, np.uint64) + np.uint64(1)) * _GOLDEN
        z = (z ^ (z >> _S30)) * _MIX_1
        z = (z ^ (z >> _S27)) * _MIX_2
        return np.asarray(z ^ (z >> _S31))


@kernel
def next_state(state):
    """``uint64 -> uint64``: step the counter. Kernels keep the counter and draw from ``output(counter)``."""
    return np.uint64(state + _GOLDEN)


@kernel
def output(state):
    """``uint64 -> uint64``: the random bits of a counter (splitmix64 finaliser)."""
    z = np.uint64((state ^ (state >> _S30)) * _MIX_1)
    z = np.uint64((z ^ (z >> _S27)) * _MIX_2)
    return np.uint64(z ^ (z >> _S31))


@kernel
def below(bits, limit):
    """``int64`` in ``[0, limit)`` from 64 random bits; ``limit`` at most 2**30. Bias below 2**-33 by fixed-point
    multiplication of the upper 31 bits."""
    return (np.int64(bits >> _S33) * limit) >> 31


@kernel
def uniform(bits):
    """``float64`` in ``[0, 1)`` from 64 random bits."""
    return np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)
