"""The trunks answer alike: the compiled one as torch's, on ragged passes, block by block and with any number of
threads; torch's with passes filled up; and torch's is enough where the compiled one is missing."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from games.hearts.game import HeartsGame
from learner.config import EngineConfig
from learner.inference.cpu import trunk as cpu_trunk
from learner.inference.cpu.attention import attend
from learner.inference.cpu.trunk import CpuTrunk
from learner.inference.cuda_graphs import filled_up, lay_out, shape_of
from learner.inference.engine import QueryEngine
from learner.inference.packing import pack
from learner.inference.prefix_tree import PrefixTree
from learner.inference.torch_trunk import TorchTrunk
from learner.model.network import PolicyValueNet, initialise
from learner.observation_model import EMPTY
from tests.learner.material import tiny_net
from tests.marks import slow

SLOTS, LENGTH, TOKENS = 4000, 30, 9
UTILITY = np.linspace(-1.0, 1.0, 7, dtype=np.float32)


def network(heads, size=24):
    """A network with fresh weights whose heads are ``size / heads`` wide."""
    of_game = tiny_net(HeartsGame()).arch
    arch = replace(of_game, vocab_size=TOKENS, num_outcomes=len(UTILITY), n_positions=LENGTH + 1, initializer_range=0.2)
    net = PolicyValueNet(replace(arch, n_head=heads, n_embd=size, n_inner=3 * size))
    initialise(net, 1)
    return net.requires_grad_(False)


def a_pass(rng, rows, longest_chunk, share_of_candidates, *trunks):
    """A pass over histories of which all but the last tokens are there, in the caches of all ``trunks``."""
    tree = PrefixTree(SLOTS)
    tokens = [rng.integers(0, TOKENS, length) for length in rng.integers(1, LENGTH, rows)]
    lengths = np.array([len(history) for history in tokens])
    new = np.minimum(rng.integers(0, longest_chunk + 1, rows), lengths)  # 0: the last token is computed again
    held = lengths - new
    handles = np.full(rows, EMPTY)
    begun = np.flatnonzero(held)
    if len(begun):
        first = pack(
            tree,
            handles[begun],
            np.concatenate([tokens[row][: held[row]] for row in begun]),
            held[begun],
            np.zeros((len(begun), TOKENS), bool),
        )
        handles[begun] = first.slot[first.answered]
        for trunk in trunks:
            trunk.start(first, np.zeros(0, np.int64), False)
    rest = np.concatenate([tokens[row][held[row] :] for row in range(rows)])
    return pack(tree, handles, rest, new, rng.random((rows, TOKENS)) < share_of_candidates)


def test_passes_of_all_sizes_are_filled_up_to_few_shapes_and_say_the_same():
    rng, net, shapes = np.random.default_rng(1), network(3), set()
    plain, filled = (
        TorchTrunk(net, UTILITY, SLOTS, torch.device("cpu"), torch.float32, graphs=graphs) for graphs in (False, True)
    )
    for rows, longest, share in ((5, 3, 0.2), (6, 3, 0.2), (7, 4, 0.2), (8, 4, 0.2), (1, 1, 0.0)):
        plan = a_pass(rng, rows, longest, share, plain, filled)
        valued = np.append(np.arange(0, rows, 2), np.arange(rows, len(plan.answered)))
        for look_ahead in (False, True):
            for one, other in zip(*(trunk.start(plan, valued, look_ahead)() for trunk in (filled, plain)), strict=True):
                assert one.shape == other.shape
                np.testing.assert_allclose(one, other, atol=1e-5)
        torch.testing.assert_close(filled.cache[:, plan.slot], plain.cache[:, plan.slot])
        own = shape_of(plan, valued, False)
        shape = filled_up(own)
        assert all(whole >= part for whole, part in zip(shape.sizes, own.sizes, strict=True))
        assert len(lay_out(plan, valued, shape, spare=SLOTS)) == sum(shape.sizes)
        shapes.add(shape)
    assert len(shapes) <= 4


def test_without_the_compiled_trunks_folder_torchs_trunk_answers(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("learner.inference.cpu")]:
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not there
    for precision in ("fp32", "bf16"):
        engine = QueryEngine(network(3), np.ones(len(UTILITY)), EngineConfig(device="cpu", precision=precision))
        assert isinstance(engine.network, TorchTrunk)
        new, counts = np.array([1, 2, 3]), np.array([1, 2])
        answer = engine.query(np.full(2, EMPTY), new, counts, np.ones((2, TOKENS), bool), np.ones(2, bool))
        assert np.allclose(answer.next_token.sum(1), 1.0) and np.allclose(answer.action_values, 1.0)


BOTH = pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 2e-5), (torch.bfloat16, 0.05)], ids=["fp32", "bf16"]
)


@BOTH
@pytest.mark.parametrize(("heads", "size"), [(3, 24), *slow((1, 24), (3, 48))])
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
    for one, other in zip(*(trunk.start(plan, valued, look_ahead)() for trunk in (ours, theirs)), strict=True):
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
    expected = whole.start(*everything)()
    monkeypatch.setattr(cpu_trunk, "_BLOCK", 25)  # some rows are longer
    for one, other in zip(blocks.start(*everything)(), expected, strict=True):
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
        answers.append(trunk.start(plan, np.arange(len(plan.answered)), True)())
    for alone, two, five in zip(*answers, strict=True):
        np.testing.assert_array_equal(two, five)
        # One thread runs loops that are compiled apart, in which LLVM may add in another order.
        np.testing.assert_allclose(alone, two, rtol=1e-5, atol=1e-6)
