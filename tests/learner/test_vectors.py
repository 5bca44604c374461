"""What kernels make of the vector functions against the plain Python that a debugger sees."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
import torch

from learner.inference.cpu.attention import attend
from learner.inference.cpu.vectors import (
    LANES,
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
from tests.learner.test_rowwise import bits

RNG = np.random.default_rng(0)


@numba.njit
def arithmetic(x, y, out):
    a, b, c = load(x, 0), load(x, LANES), load(y, 3)
    store(out, 0, add(a, b))
    store(out, LANES, subtract(a, b))
    store(out, 2 * LANES, multiply(a, c))
    store(out, 3 * LANES, multiply_add(a, b, c))
    store(out, 4 * LANES, larger(a, b))
    store(out, 5 * LANES, exp2(a))
    store(out, 6 * LANES, splat(x[7]))
    return total(a), largest(b)


@numba.njit
def moved(numbers, copied, turned):
    for at in range(0, numbers.size, LANES):
        store(copied, at, load(numbers, at))
    transpose(numbers, 5, numbers.shape[1], turned, 2, turned.shape[1])


def test_arithmetic():
    x, y = RNG.normal(0, 30, 2 * LANES).astype(np.float32), RNG.normal(0, 1, 2 * LANES).astype(np.float32)
    x[:6] = 0.0, -126.5, -127.0, -1e30, 126.9, -125.5
    got, expected = np.empty(7 * LANES, np.float32), np.empty(7 * LANES, np.float32)
    sums, plain_sums = arithmetic(x, y, got), arithmetic.py_func(x, y, expected)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(sums, plain_sums, rtol=1e-5)
    powers = got[5 * LANES : 6 * LANES]
    np.testing.assert_allclose(powers, np.where(x[:LANES] < -126, 0, np.exp2(x[:LANES].astype(np.float64))), rtol=1e-6)
    assert not powers[1:4].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_memory(dtype):
    numbers = torch.randn(24, 32) * 100
    source = bits(numbers.to(dtype))
    for run in (moved, moved.py_func):
        copied, narrow, turned = np.zeros((24, 32), np.float32), np.zeros_like(source), np.zeros((16, 20), np.float32)
        run(source, copied, turned)
        assert np.array_equal(copied, numbers.to(dtype).float().numpy())
        assert np.array_equal(turned[:, 2:18], copied.reshape(-1)[5 : 5 + 16 * 32].reshape(16, 32)[:, :16].T)
        assert not turned[:, :2].any() and not turned[:, 18:].any()
        run(numbers.numpy(), narrow, turned)
        assert np.array_equal(narrow, source)


def test_arrays_without_vectors_are_refused():
    for array in (np.zeros(32), np.zeros((4, 32), np.float32).T):
        with pytest.raises((TypeError, numba.TypingError, numba.core.errors.LoweringError), match="C-contiguous"):
            numba.njit(lambda array: total(load(array, 0)))(array)


def attention(heads):
    """Of a row of six tokens and a row of a single one, behind 17 slots that both share; float32, then bfloat16."""
    rng, slots = np.random.default_rng(1), np.arange(40)
    qkv, cache = rng.normal(0, 1, (7, 96)).astype(np.float32), rng.normal(0, 1, (40, 2, 64)).astype(np.float32)
    keys = np.stack([slots[:24], np.append(slots[:17], slots[33:])])
    row, before = np.array([0] * 6 + [1]), np.array([17, 18, 19, 19, 19, 19, 17])
    own, parts = np.append(keys[0, 17:23], keys[1, 17]), np.array([0, 7])
    whole = attend(qkv, cache.copy(), 1, keys, row, before, own, heads, parts)
    halves = [(each.view(np.uint32) >> 16).astype(np.uint16) for each in (qkv, cache)]
    rounded = attend(*halves, 1, keys, row, before, own, heads, parts)
    return np.stack([whole, (rounded.astype(np.uint32) << 16).view(np.float32)])


@pytest.mark.parametrize("heads", [2, 4])
def test_attention_in_a_debugger_says_the_same(heads, tmp_path):
    saved = str(tmp_path / "plain.npy")
    command = f"import numpy; from tests.learner import test_vectors as t; numpy.save({saved!r}, t.attention({heads}))"
    arguments = [sys.executable, "-c", command]
    subprocess.run(arguments, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, cwd=Path(__file__).parents[2], check=True)
    np.testing.assert_allclose(attention(heads), np.load(saved), rtol=0.01, atol=1e-5)
