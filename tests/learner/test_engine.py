"""Whatever was cached, kept, truncated or batched: the engine answers as a plain forward pass over the history."""

import numpy as np
import pytest
import torch

from games.hearts.game import HeartsGame
from learner.engine import QueryEngine, cache_bytes
from learner.model import PolicyValueConfig, PolicyValueModel
from tests.learner.material import tiny_net

GAME = HeartsGame()
NET = tiny_net(GAME, seed=3)
V, L = NET.arch.vocab_size, NET.arch.n_positions
UTILITY = np.random.default_rng(0).normal(size=NET.arch.num_outcomes).astype(np.float32)


def reference_model() -> PolicyValueModel:
    arch = NET.arch
    config = PolicyValueConfig(
        vocab_size=V,
        n_positions=L,
        n_layer=arch.n_layer,
        n_head=arch.n_head,
        n_embd=arch.n_embd,
        n_inner=arch.n_inner,
        num_outcomes=arch.num_outcomes,
    )
    model = PolicyValueModel(config)
    model.load_state_dict(NET.state_dict())
    return model.eval()


MODEL = reference_model()


@torch.no_grad()
def plain(history: np.ndarray) -> tuple[np.ndarray, float]:
    """Next-token distribution and value of one history, by the transformers model and nothing else."""
    out = MODEL(torch.from_numpy(history.astype(np.int64))[None])
    outcomes = torch.softmax(out.outcome_logits[0, -1], -1).numpy()
    return torch.softmax(out.logits[0, -1], -1).numpy(), float(outcomes @ UTILITY)


def assert_plain(answer, tokens, lengths, candidates=None, atol=2e-5):
    for row, length in enumerate(lengths):
        history = tokens[row, :length]
        next_token, value = plain(history)
        np.testing.assert_allclose(answer.next_token[row], next_token, atol=atol)
        assert answer.value[row] == pytest.approx(value, abs=atol)
        marked = np.zeros(V, bool) if candidates is None else candidates[row]
        assert np.array_equal(np.isnan(answer.action_values[row]), ~marked)
        for action in np.nonzero(marked)[0]:
            behind = plain(np.append(history, action))[1]
            assert answer.action_values[row, action] == pytest.approx(behind, abs=atol)


def some_histories(rng, count, longest=40):
    return rng.integers(0, V, (count, L)).astype(np.uint8), rng.integers(1, longest, count)


def test_values_differ_enough_for_the_comparison_to_mean_something():
    rng = np.random.default_rng(8)
    values = [plain(rng.integers(0, V, 10))[1] for _ in range(20)]
    assert np.std(values) > 0.01


@pytest.mark.parametrize("max_batch", [1, 4, 1000])
def test_queries_equal_plain_forward_passes_over_growing_kept_and_branching_histories(max_batch):
    rng = np.random.default_rng(max_batch)
    engine = QueryEngine(NET, UTILITY, max_batch=max_batch)
    engine.reset(9)
    tokens, lengths = some_histories(rng, 9, longest=20)
    for _ in range(4):
        lanes = rng.permutation(9)[: rng.integers(1, 10)]
        candidates = rng.random((len(lanes), V)) < rng.choice([0.0, 0.03, 0.1], (len(lanes), 1))
        answer = engine.query(lanes, tokens[lanes], lengths[lanes], candidates)
        assert_plain(answer, tokens[lanes], lengths[lanes], candidates)
        keeping = candidates.any(1) & (rng.random(len(lanes)) < 0.7)
        kept = np.array([rng.choice(np.nonzero(row)[0]) for row in candidates[keeping]], np.int64)
        engine.keep(lanes[keeping], kept)
        tokens[lanes[keeping], lengths[lanes[keeping]]] = kept
        branching = lanes[rng.random(len(lanes)) < 0.3]
        back = np.maximum(lengths[branching] - rng.integers(0, 6, len(branching)), 0)
        engine.truncate(branching, back)
        for lane, length in zip(branching, back, strict=True):
            tokens[lane, length:] = rng.integers(0, V, L - length)
        lengths = lengths + rng.integers(1, 8, 9)


def test_a_query_without_new_tokens_answers_again():
    tokens, lengths = some_histories(np.random.default_rng(2), 4)
    engine = QueryEngine(NET, UTILITY)
    engine.reset(4)
    lanes = np.arange(4)
    engine.query(lanes, tokens, lengths)
    computed = engine.stats.tokens
    assert_plain(engine.query(lanes, tokens, lengths), tokens, lengths)
    assert engine.stats.tokens == computed + 4


def test_each_token_is_computed_once():
    tokens, lengths = some_histories(np.random.default_rng(3), 4, longest=20)
    engine = QueryEngine(NET, UTILITY)
    engine.reset(4)
    candidates = np.zeros((4, V), bool)
    candidates[:, [5, 9]] = True
    engine.query(np.arange(4), tokens, lengths, candidates)
    engine.keep(np.arange(4), np.full(4, 9))
    tokens[np.arange(4), lengths] = 9
    engine.query(np.arange(4), tokens, lengths + 3)
    assert engine.stats.tokens == lengths.sum() + 2 * 4 + 2 * 4
    assert (engine.stats.passes, engine.stats.rows, engine.stats.candidates) == (2, 8, 8)


def test_lanes_that_are_not_asked_about_stay_as_they_are():
    tokens, lengths = some_histories(np.random.default_rng(4), 6)
    one, two = (QueryEngine(NET, UTILITY) for _ in range(2))
    for engine in (one, two):
        engine.reset(6)
        engine.query(np.arange(6), tokens, lengths)
    one.query(np.array([1, 4]), tokens[[1, 4]], lengths[[1, 4]] + 5)
    rest = np.array([0, 2, 3, 5])
    first, second = (engine.query(rest, tokens[rest], lengths[rest] + 1) for engine in (one, two))
    for left, right in zip(first, second, strict=True):
        np.testing.assert_array_equal(left, right)


def test_wide_and_narrow_rows_share_a_batch():
    rng = np.random.default_rng(5)
    tokens = rng.integers(0, V, (80, L)).astype(np.uint8)
    lengths = np.where(np.arange(80) % 2 == 0, 2, 60)
    engine = QueryEngine(NET, UTILITY)
    engine.reset(80)
    answer = engine.query(np.arange(80), tokens, lengths)
    assert engine.stats.passes == 2
    assert_plain(answer, tokens, lengths)


def test_histories_of_full_length_are_answered():
    rng = np.random.default_rng(6)
    tokens = rng.integers(0, V, (3, L)).astype(np.uint8)
    engine = QueryEngine(NET, UTILITY)
    engine.reset(3)
    everything = np.ones((3, V), bool)
    almost = np.array([L - 1, L - 3, 1])
    assert_plain(engine.query(np.arange(3), tokens, almost, everything), tokens, almost, everything)
    engine.keep(np.arange(3), tokens[np.arange(3), almost])
    full = np.full(3, L)
    assert_plain(engine.query(np.arange(3), tokens, full), tokens, full)
    with pytest.raises(ValueError, match="row 0: no candidate fits"):
        engine.query(np.arange(3), tokens, full, everything)


def test_reset_forgets_everything():
    tokens, lengths = some_histories(np.random.default_rng(7), 3)
    engine = QueryEngine(NET, UTILITY)
    engine.reset(3)
    engine.query(np.arange(3), tokens, lengths)
    engine.reset(3)
    other = tokens[::-1].copy()
    assert_plain(engine.query(np.arange(3), other, lengths), other, lengths)


def test_an_empty_batch_gives_an_empty_answer():
    engine = QueryEngine(NET, UTILITY)
    engine.reset(1)
    answer = engine.query(np.zeros(0, np.int64), np.zeros((0, L), np.uint8), np.zeros(0, np.int64))
    assert answer.next_token.shape == (0, V)


def test_bf16_answers_are_close():
    tokens, lengths = some_histories(np.random.default_rng(9), 6)
    engine = QueryEngine(NET, UTILITY, precision="bf16")
    engine.reset(6)
    assert_plain(engine.query(np.arange(6), tokens, lengths), tokens, lengths, atol=0.03)


def test_cache_bytes_is_what_reset_takes():
    for precision in ("fp32", "bf16"):
        engine = QueryEngine(NET, UTILITY, precision=precision)
        engine.reset(5)
        assert engine._cache.nbytes == cache_bytes(NET.arch, 5, precision)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q: q | {"lanes": np.array([0, 7])}, r"lanes 0\.\.7 asked for; reset\(\) provided 3"),
        (lambda q: q | {"lanes": np.array([1, 1])}, "twice"),
        (lambda q: q | {"lengths": np.array([3, 0])}, "row 1: length 0"),
        (lambda q: q | {"lengths": np.array([L + 1, 2])}, f"row 0: length {L + 1}"),
        (lambda q: q | {"candidates": np.ones((2, V + 1), bool)}, "candidates have shape"),
    ],
)
def test_queries_that_make_no_sense_are_refused(change, message):
    engine = QueryEngine(NET, UTILITY)
    engine.reset(3)
    tokens = np.zeros((2, L), np.uint8)
    with pytest.raises(ValueError, match=message):
        engine.query(**change({"lanes": np.array([0, 2]), "tokens": tokens, "lengths": np.array([3, 4])}))


def test_a_history_that_branches_off_is_refused_until_the_lane_is_truncated():
    tokens, _ = some_histories(np.random.default_rng(10), 1)
    engine = QueryEngine(NET, UTILITY)
    engine.reset(1)
    lane, length = np.array([0]), np.array([10])
    engine.query(lane, tokens, length)
    tokens[0, 7] = (tokens[0, 7] + 1) % V
    with pytest.raises(ValueError, match="lane 0 holds 10 tokens that are not the beginning"):
        engine.query(lane, tokens, length + 1)
    engine.truncate(lane, np.array([7]))
    assert_plain(engine.query(lane, tokens, length + 1), tokens, length + 1)


def test_only_candidates_of_the_last_query_can_be_kept():
    tokens, _ = some_histories(np.random.default_rng(11), 1)
    engine = QueryEngine(NET, UTILITY)
    engine.reset(1)
    lane, length, candidates = np.array([0]), np.array([10]), np.zeros((1, V), bool)
    candidates[0, 4] = True
    engine.query(lane, tokens, length, candidates)
    with pytest.raises(ValueError, match="lane 0: token 5 was no candidate"):
        engine.keep(lane, np.array([5]))
    engine.keep(lane, np.array([4]))
    with pytest.raises(ValueError, match="lane 0: token 4 was no candidate"):
        engine.keep(lane, np.array([4]))


def test_a_utility_of_another_size_is_refused():
    with pytest.raises(ValueError, match="2234 outcome labels"):
        QueryEngine(NET, UTILITY[:-1])
