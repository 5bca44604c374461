"""The trunks answer alike: the compiled one as torch's, on ragged passes, block by block and with any number of
threads; and torch's is enough where the compiled one is missing."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from games.hearts.game import HeartsGame
from learner.config import EngineConfig
from learner.inference.cpu import trunk as cpu_trunk
from learner.inference.cpu.attention import attend
from learner.inference.cpu.products import Product
from learner.inference.cpu.rowwise import exponentials, highest, narrow, widen
from learner.inference.cpu.trunk import CpuTrunk
from learner.inference.engine import QueryEngine
from learner.inference.packing import pack
from learner.inference.prefix_tree import PrefixTree
from learner.inference.torch_trunk import TorchTrunk
from learner.model.network import PolicyValueNet, initialise
from learner.model.threads import bounds_of
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


# ---- compiled loops over rows of activations against torch's own operations


def test_bfloat16_is_rounded_as_torch_rounds_it():
    numbers = torch.cat([torch.randn(5000) * 10.0**power for power in (-30, -3, 0, 5, 30)])
    numbers[:4] = torch.tensor([0.0, -0.0, 1.00390625, 1.01171875])  # ties to even, down and up
    rounded = np.empty(len(numbers), np.uint16)
    narrow(numbers.numpy(), rounded)
    assert torch.equal(torch.from_numpy(rounded).view(torch.bfloat16), numbers.bfloat16())
    back = np.empty(len(numbers), np.float32)
    widen(rounded, back)
    assert np.array_equal(back, numbers.bfloat16().float().numpy())


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=70))
def test_the_highest_is_that_of_numpy(numbers):
    row = np.array(numbers, np.float32)
    assert highest(row) == row.max()


def test_exponentials():
    numbers = np.linspace(-95.0, 88.0, 4001, dtype=np.float32)
    got = numbers.copy()
    exponentials(got, 4001, np.float32(0.0))
    above = numbers > -69.0  # below they stay at about 1e-30
    np.testing.assert_allclose(got[above], np.exp(numbers[above].astype(np.float64)), rtol=2e-5)
    assert got[~above].max() < 2e-30 and got.min() > 1e-37  # none is denormal, which is slow
    few = np.array([1.0, 3.0, 2.0], np.float32)
    assert exponentials(few, 3, np.float32(3.0)) == pytest.approx(1 + np.exp(-1) + np.exp(-2))


@pytest.mark.parametrize("gelu", ["", "none", "tanh"])
@pytest.mark.parametrize(("rows", "packed"), [(1, True), (7, True), (200, True), (5, False)])
def test_a_product_of_bfloat16_is_torchs_up_to_rounding(rows, packed, gelu, monkeypatch):
    if not packed:  # a build of torch without packed products
        monkeypatch.setattr("learner.inference.cpu.products._packed", lambda weight: None)
    torch.manual_seed(rows)
    weight, bias, x = torch.randn(32, 48) / 6, torch.randn(48), torch.randn(rows, 32).bfloat16()
    exact = x.float() @ weight.bfloat16().float() + bias.bfloat16().float()
    exact = F.gelu(exact, approximate=gelu) if gelu else exact
    torch.testing.assert_close(Product(weight, bias, torch.bfloat16, gelu)(x).float(), exact, atol=0.02, rtol=0.02)
    torch.testing.assert_close(
        Product(weight, bias, torch.float32, gelu)(x.float()),
        F.gelu(x.float() @ weight + bias, approximate=gelu) if gelu else x.float() @ weight + bias,
    )


@pytest.mark.parametrize(("threads", "count", "parts"), [(1, 100, 1), (2, 7, 1), (2, 8, 2), (3, 100, 3), (3, 0, 1)])
def test_rows_are_cut_for_as_many_threads_as_are_worth_it(threads, count, parts, monkeypatch):
    monkeypatch.setattr("learner.model.threads.num_threads", lambda: threads)
    bounds = bounds_of(count)
    assert len(bounds) == parts + 1 and bounds[0] == 0 and bounds[-1] == count and (np.diff(bounds) >= 0).all()


def test_rows_are_cut_only_where_they_may_be(monkeypatch):
    monkeypatch.setattr("learner.model.threads.num_threads", lambda: 4)
    assert bounds_of(20, np.array([1, 9, 20])).tolist() == [0, 9, 20, 20, 20]
