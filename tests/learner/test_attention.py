"""Two ways to run the trunk over cached keys and values, a CPU's and a GPU's, agree on ragged passes."""

import numpy as np
import pytest
import torch

from games.hearts.game import HeartsGame
from learner.inference.cpu import trunk as host_trunk
from learner.inference.cpu.attention import attend
from learner.inference.cpu.trunk import HostTrunk
from learner.inference.cuda_graphs import filled_up, lay_out, shape_of
from learner.inference.packing import pack
from learner.inference.prefix_tree import SlotPool
from learner.inference.torch_trunk import DeviceTrunk
from learner.model.network import Architecture, PolicyValueNet, initialise
from tests.learner.material import tiny_net

SLOTS, LENGTH, TOKENS = 4000, 30, 9
BOTH = pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 2e-5), (torch.bfloat16, 0.05)], ids=["fp32", "bf16"]
)


def network(heads, size=24):
    net = PolicyValueNet(
        Architecture(
            vocab_size=TOKENS,
            num_outcomes=7,
            n_positions=LENGTH + 1,
            n_layer=2,
            n_head=heads,
            n_embd=size,
            n_inner=3 * size,
            embd_pdrop=0.0,
            resid_pdrop=0.0,
            initializer_range=0.2,
            outcome_init="normal",
            layer_norm_epsilon=1e-5,
        )
    )
    initialise(net, 1)
    return net.requires_grad_(False)


def a_pass(rng, rows, longest_chunk, share_of_candidates, *trunks):
    """A pass over histories of which all but the last tokens are there, in the caches of all ``trunks``."""
    pool = SlotPool(SLOTS)
    tokens = rng.integers(0, TOKENS, (rows, LENGTH))
    lengths = rng.integers(1, LENGTH, rows)
    paths, nothing = np.full((rows, LENGTH), -1, np.int64), np.zeros((rows, TOKENS), bool)
    held = np.maximum(lengths - rng.integers(1, longest_chunk + 1, rows), 0)
    started = held > 0
    before = paths[started]
    first = pack(pool, before, np.zeros(started.sum(), np.int64), tokens[started], held[started], nothing[started])
    paths[started] = before
    for trunk in trunks:
        trunk.hidden(first, first.last)
    return pack(pool, paths, held, tokens, lengths, rng.random((rows, TOKENS)) < share_of_candidates)


@BOTH
@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize(("heads", "size"), [(1, 24), (3, 24), (1, 32), (3, 48)])  # the last two in whole vectors
@pytest.mark.parametrize(
    ("rows", "longest_chunk", "share_of_candidates"),
    [(1, 1, 0.0), (2, 2, 0.2), (17, 1, 0.0), (40, 6, 0.0), (40, 6, 0.3), (3, 25, 1)],
)
def test_a_cpus_trunk_equals_a_gpus(static, heads, size, rows, longest_chunk, share_of_candidates, dtype, tolerance):
    rng, net = np.random.default_rng(rows * longest_chunk), network(heads, size)
    host, device = HostTrunk(net, SLOTS, dtype), DeviceTrunk(net, SLOTS, torch.device("cpu"), dtype, graphs=static)
    plan = a_pass(rng, rows, longest_chunk, share_of_candidates, host, device)
    wanted = np.concatenate([plan.last, plan.leaves])
    ours, theirs = host.hidden(plan, wanted), device.hidden(plan, wanted)
    torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=tolerance)
    kept = torch.from_numpy(host.cache[plan.slot]).view(dtype).float()
    torch.testing.assert_close(kept, device.cache[plan.slot].float(), atol=tolerance, rtol=tolerance)
    utility = torch.linspace(-1.0, 1.0, 7)
    np.testing.assert_allclose(host.values(ours, utility), device.values(theirs, utility), atol=tolerance)


@BOTH
def test_large_passes_go_block_by_block_without_a_difference(dtype, tolerance, monkeypatch):
    net = network(3)
    whole, blocks = HostTrunk(net, SLOTS, dtype), HostTrunk(net, SLOTS, dtype)
    plan = a_pass(np.random.default_rng(3), 60, 9, 0.3, whole, blocks)
    wanted = np.concatenate([plan.last, plan.leaves])
    expected = whole.hidden(plan, wanted)
    monkeypatch.setattr(host_trunk, "_BLOCK", 25)  # some rows are longer
    torch.testing.assert_close(blocks.hidden(plan, wanted), expected, atol=tolerance, rtol=tolerance)


def test_a_cache_that_grows_keeps_what_it_holds():
    trunk = DeviceTrunk(tiny_net(HeartsGame()), 100, torch.device("cpu"), torch.float32)
    trunk.cache = torch.randn(8, 2, 32)  # the last one is the spare slot
    before = trunk.cache.clone()
    for wanted, slots in ((5, 7), (8, 14), (90, 90), (100, 100)):
        trunk.reserve(wanted)
        assert trunk.cache.shape == (slots + 1, 2, 32)
        assert torch.equal(trunk.cache[:8], before)


def test_passes_of_all_sizes_are_filled_up_to_few_shapes_and_say_the_same():
    rng, net, shapes = np.random.default_rng(1), network(3), set()
    for rows, longest, share in ((5, 3, 0.2), (6, 3, 0.2), (7, 4, 0.2), (8, 4, 0.2), (1, 1, 0.0)):
        plain, filled = (DeviceTrunk(net, SLOTS, torch.device("cpu"), torch.float32, graphs=on) for on in (False, True))
        plan = a_pass(rng, rows, longest, share, plain, filled)
        wanted = np.concatenate([plan.last, plan.leaves])
        torch.testing.assert_close(filled.hidden(plan, wanted), plain.hidden(plan, wanted))
        torch.testing.assert_close(filled.cache[plan.slot], plain.cache[plan.slot])
        own, shape = shape_of(plan, wanted), filled_up(shape_of(plan, wanted))
        assert all(whole >= part for whole, part in zip(shape[:5], own[:5], strict=True))
        assert len(lay_out(plan, wanted, shape, spare=SLOTS)) == sum(shape.sizes)
        shapes.add(shape)
    assert len(shapes) <= 4


def test_scores_far_apart_do_not_overflow():
    cache = np.zeros((2, 1, 8), np.float32)
    cache[0, 0, :4], cache[0, 0, 4:] = 50.0, 3.0
    qkv = np.concatenate([np.full(4, 60.0), np.full(4, -50.0), np.full(4, 5.0)])[None].astype(np.float32)
    one, zero = np.ones(1, np.int64), np.zeros(1, np.int64)
    attended = attend(qkv, cache, 0, np.zeros((1, 1), np.int64), zero, one, one, 1, np.array([0, 1]))
    assert np.array_equal(attended, np.full((1, 4), 3.0))
    assert np.array_equal(cache[1, 0], qkv[0, 4:])


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_share_the_tokens_without_a_difference(threads, monkeypatch):
    answers = []
    for count in (1, threads):
        monkeypatch.setattr("torch.get_num_threads", lambda count=count: count)
        monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", count)
        trunk = HostTrunk(network(2), SLOTS, torch.float32)
        plan = a_pass(np.random.default_rng(0), 40, 4, 0.2, trunk)
        answers.append(trunk.hidden(plan, plan.last))
    assert torch.equal(*answers)
