"""Two ways to attend over cached keys and values, a CPU's and torch's, agree on ragged passes."""

import numpy as np
import pytest
import torch

from games.hearts.game import HeartsGame
from learner.attention import attend
from learner.inference import CachedTrunk, _OnDevice, _OnHost
from learner.packing import pack
from learner.slots import SlotPool
from tests.learner.material import tiny_net

SLOTS, SIZE, LENGTH, TOKENS = 4000, 24, 30, 9


def a_pass(rng, rows, longest_chunk, share_of_candidates):
    """A pass over histories of which all but the last tokens are there, and a cache full of random numbers."""
    pool = SlotPool(SLOTS)
    tokens = rng.integers(0, TOKENS, (rows, LENGTH))
    lengths = rng.integers(1, LENGTH, rows)
    paths, nothing = np.full((rows, LENGTH), -1, np.int64), np.zeros((rows, TOKENS), bool)
    held = np.maximum(lengths - rng.integers(1, longest_chunk + 1, rows), 0)
    started = held > 0
    before = paths[started]
    pack(pool, before, np.zeros(started.sum(), np.int64), tokens[started], held[started], nothing[started])
    paths[started] = before
    marked = rng.random((rows, TOKENS)) < share_of_candidates
    plan = pack(pool, paths, held, tokens, lengths, marked)
    cache = torch.from_numpy(rng.normal(size=(SLOTS, 2 * SIZE)).astype(np.float32))
    query = torch.from_numpy(rng.normal(size=(len(plan.ids), SIZE)).astype(np.float32))
    return plan, query, cache


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize(
    ("rows", "longest_chunk", "share_of_candidates"),
    [(1, 1, 0.0), (17, 1, 0.0), (40, 6, 0.0), (40, 6, 0.3), (3, 25, 1)],
)
def test_the_loop_over_slots_equals_torchs_attention(heads, rows, longest_chunk, share_of_candidates):
    rng = np.random.default_rng(rows * longest_chunk)
    plan, query, cache = a_pass(rng, rows, longest_chunk, share_of_candidates)
    ours = _OnHost(plan, SIZE)(query, cache, heads)
    theirs = _OnDevice(plan, torch.device("cpu"), torch.float32)(query, cache, heads)
    torch.testing.assert_close(ours, theirs, atol=2e-6, rtol=2e-5)


def test_a_cache_that_grows_keeps_what_it_holds():
    net = tiny_net(HeartsGame())
    trunk = CachedTrunk(net, 100, torch.device("cpu"), torch.float32)
    trunk.cache = torch.randn(2, 7, 32)
    before = trunk.cache.clone()
    for wanted, slots in ((5, 7), (8, 14), (90, 90), (100, 100)):
        trunk.reserve(wanted)
        assert trunk.cache.shape == (2, slots, 32)
        assert torch.equal(trunk.cache[:, :7], before)


def test_scores_far_apart_do_not_overflow():
    query, cache = np.full((1, 4), 60.0, np.float32), np.zeros((2, 8), np.float32)
    cache[0, :4], cache[0, 4:], cache[1, :4], cache[1, 4:] = 50.0, 3.0, -50.0, 5.0
    one, zero = np.ones(1, np.int64), np.zeros(1, np.int64)
    assert np.array_equal(attend(query, cache, np.zeros((1, 1), np.int64), zero, one, one, 1), np.full((1, 4), 3.0))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_share_the_tokens_without_a_difference(threads, monkeypatch):
    plan, query, cache = a_pass(np.random.default_rng(0), 40, 4, 0.2)
    whole = _OnHost(plan, SIZE)(query, cache, 2)
    monkeypatch.setattr("learner.attention._WORTH_A_THREAD", 100)
    monkeypatch.setattr("torch.get_num_threads", lambda: threads)
    assert torch.equal(_OnHost(plan, SIZE)(query, cache, 2), whole)
