"""The compiled trunk answers as torch's does, on ragged passes, block by block and with any number of threads."""

import numpy as np
import pytest
import torch

from learner.inference.cpu import trunk as cpu_trunk
from learner.inference.cpu.attention import attend
from learner.inference.cpu.trunk import CpuTrunk
from learner.inference.torch_trunk import TorchTrunk
from tests.learner.passes import SLOTS, UTILITY, a_pass, network

BOTH = pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 2e-5), (torch.bfloat16, 0.05)], ids=["fp32", "bf16"]
)


@BOTH
@pytest.mark.parametrize(("heads", "size"), [(1, 24), (3, 24), (3, 48)])
@pytest.mark.parametrize(
    ("rows", "longest_chunk", "share_of_candidates"),
    [(1, 1, 0.0), (2, 2, 0.2), (17, 1, 0.0), (40, 6, 0.0), (40, 6, 0.3), (3, 25, 1)],
)
def test_the_compiled_trunk_equals_torchs(heads, size, rows, longest_chunk, share_of_candidates, dtype, tolerance):
    rng, net = np.random.default_rng(rows * longest_chunk), network(heads, size)
    ours = CpuTrunk(net, UTILITY, SLOTS, dtype)
    theirs = TorchTrunk(net, UTILITY, SLOTS, torch.device("cpu"), dtype)
    plan = a_pass(rng, rows, longest_chunk, share_of_candidates, ours, theirs)
    valued = np.append(np.flatnonzero(rng.random(rows) < 0.5), np.arange(rows, len(plan.answered)))
    look_ahead = bool(rows % 2)
    for one, other in zip(ours(plan, valued, look_ahead), theirs(plan, valued, look_ahead), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=tolerance, rtol=tolerance)
    kept = torch.from_numpy(ours.cache[plan.slot]).view(dtype).float()
    theirs_kept = theirs.cache[:, plan.slot].transpose(0, 1).float()
    torch.testing.assert_close(kept, theirs_kept, atol=tolerance, rtol=tolerance)


@BOTH
def test_large_passes_go_block_by_block_without_a_difference(dtype, tolerance, monkeypatch):
    net = network(3)
    whole, blocks = (CpuTrunk(net, UTILITY, SLOTS, dtype) for _ in range(2))
    plan = a_pass(np.random.default_rng(3), 60, 9, 0.3, whole, blocks)
    everything = (plan, np.arange(len(plan.answered)), True)
    expected = whole(*everything)
    monkeypatch.setattr(cpu_trunk, "_BLOCK", 25)  # some rows are longer
    for one, other in zip(blocks(*everything), expected, strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance, rtol=tolerance)


def test_scores_far_apart_do_not_overflow():
    cache = np.zeros((2, 1, 8), np.float32)
    cache[0, 0, :4], cache[0, 0, 4:] = 50.0, 3.0
    qkv = np.concatenate([np.full(4, 60.0), np.full(4, -50.0), np.full(4, 5.0)])[None].astype(np.float32)
    one, zero = np.ones(1, np.int64), np.zeros(1, np.int64)
    attended = attend(qkv, cache, 0, np.array([[0, 1]]), zero, one, one, 1, np.array([0, 1]))
    assert np.array_equal(attended, np.full((1, 4), 3.0))
    assert np.array_equal(cache[1, 0], qkv[0, 4:])


def test_threads_share_the_tokens_without_a_difference(monkeypatch):
    answers = []
    for count in (1, 2, 5):
        monkeypatch.setattr("torch.get_num_threads", lambda count=count: count)
        monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", count)
        trunk = CpuTrunk(network(2), UTILITY, SLOTS, torch.float32)
        plan = a_pass(np.random.default_rng(0), 40, 4, 0.2, trunk)
        answers.append(trunk(plan, np.arange(len(plan.answered)), True))
    for alone, two, five in zip(*answers, strict=True):
        np.testing.assert_array_equal(two, five)
        # One thread runs loops that are compiled apart, in which LLVM may add in another order.
        np.testing.assert_allclose(alone, two, rtol=1e-5, atol=1e-6)
