"""Whatever was cached, shared, given back or batched: the engine answers as a plain forward pass over the history."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from games.hearts.game import HeartsGame
from learner.inference.engine import MIB, QueryEngine, slot_bytes
from learner.inference.packing import sub_batches
from tests.learner.material import TINY, tiny_net, transformers_model

GAME = HeartsGame()
NET = tiny_net(GAME, seed=3)
V, L = NET.arch.vocab_size, NET.arch.n_positions
UTILITY = np.random.default_rng(0).normal(size=NET.arch.num_outcomes).astype(np.float32)


MODEL = transformers_model(NET).eval()


@torch.no_grad()
def plain(history: np.ndarray) -> tuple[np.ndarray, float]:
    """Next-token distribution and value of one history, by the transformers model and nothing else."""
    out = MODEL(torch.from_numpy(history.astype(np.int64))[None])
    outcomes = torch.softmax(out.outcome_logits[0, -1], -1).numpy()
    return torch.softmax(out.logits[0, -1], -1).numpy(), float(outcomes @ UTILITY)


class Asking:
    """Paths of some histories in an engine, as a player keeps them."""

    def __init__(self, engine: QueryEngine, count: int) -> None:
        self.engine = engine
        self.paths = np.full((count, L), -1, np.int64)
        self.held = np.zeros(count, np.int64)

    def query(self, tokens, lengths, rows=None, **options):
        rows = np.arange(len(self.held)) if rows is None else rows
        paths, values = self.paths[rows], np.ones(len(rows), bool)
        answer = self.engine.query(paths, self.held[rows], tokens[rows], lengths[rows], values=values, **options)
        self.paths[rows], self.held[rows] = paths, lengths[rows]
        return answer

    def truncate(self, row: int, length: int) -> None:
        self.engine.free(self.paths[row, length:])
        self.paths[row, length:] = -1
        self.held[row] = min(self.held[row], length)


def assert_plain(answer, tokens, lengths, candidates=None, look_ahead=False, atol=2e-5):
    leaf = 0
    for row, length in enumerate(lengths):
        history = tokens[row, :length]
        next_token, value = plain(history)
        np.testing.assert_allclose(answer.next_token[row], next_token, atol=atol)
        assert answer.value[row] == pytest.approx(value, abs=atol)
        for action in np.nonzero(candidates[row])[0] if candidates is not None else ():
            following, behind = plain(np.append(history, action))
            assert answer.action_values[leaf] == pytest.approx(behind, abs=atol)
            if look_ahead:
                np.testing.assert_allclose(answer.action_next[leaf], following, atol=atol)
            leaf += 1
    assert leaf == len(answer.action_values) == len(answer.action_slots)


def some_histories(rng, count, longest=40):
    return rng.integers(0, V, (count, L)).astype(np.uint8), rng.integers(1, longest, count)


def test_values_differ_enough_for_the_comparison_to_mean_something():
    rng = np.random.default_rng(8)
    values = [plain(rng.integers(0, V, 10))[1] for _ in range(20)]
    assert np.std(values) > 0.01


@pytest.mark.parametrize("max_batch", [1, 4, 1000])
def test_queries_equal_plain_forward_passes_over_growing_kept_and_branching_histories(max_batch):
    rng = np.random.default_rng(max_batch)
    asking = Asking(QueryEngine(NET, UTILITY, max_batch=max_batch), 9)
    free_before = asking.engine.slots_left
    tokens, lengths = some_histories(rng, 9, longest=20)
    for turn in range(4):
        rows = rng.permutation(9)[: rng.integers(1, 10)]
        candidates = rng.random((len(rows), V)) < rng.choice([0.0, 0.03, 0.1], (len(rows), 1))
        answer = asking.query(tokens, lengths, rows, candidates=candidates, look_ahead=turn % 2 == 0)
        assert_plain(answer, tokens[rows], lengths[rows], candidates, turn % 2 == 0)
        leaf_row, leaf_token = np.nonzero(candidates)
        for index, row in enumerate(rows):
            mine = np.flatnonzero(leaf_row == index)
            kept = rng.choice(mine) if len(mine) and rng.random() < 0.7 else -1
            asking.engine.free(answer.action_slots[mine[mine != kept]])
            if kept >= 0:
                asking.paths[row, lengths[row]] = answer.action_slots[kept]
                tokens[row, lengths[row]] = leaf_token[kept]
                asking.held[row] += 1
            elif rng.random() < 0.4:
                back = max(lengths[row] - rng.integers(0, 6), 0)
                asking.truncate(row, back)
                tokens[row, back:] = rng.integers(0, V, L - back)
        lengths = lengths + rng.integers(1, 8, 9)
    asking.engine.free(asking.paths)
    assert asking.engine.slots_left == free_before


def test_histories_that_begin_alike_share_slots():
    rng = np.random.default_rng(12)
    asking = Asking(QueryEngine(NET, UTILITY), 3)
    tokens, lengths = np.repeat(rng.integers(0, V, (1, L)), 3, axis=0), np.array([10, 14, 17])
    asking.query(tokens, lengths, np.array([0]))
    asking.paths[1:, :10], asking.held[1:] = asking.paths[0, :10], 10
    tokens[1:, 10:] = rng.integers(0, V, (2, L - 10))
    computed = asking.engine.stats.tokens
    rows = np.array([1, 2])
    assert_plain(asking.query(tokens, lengths, rows), tokens[rows], lengths[rows])
    assert asking.engine.stats.tokens == computed + 4 + 7
    assert_plain(asking.query(tokens, lengths), tokens, lengths)


def test_a_query_without_new_tokens_answers_again():
    tokens, lengths = some_histories(np.random.default_rng(2), 4)
    asking = Asking(QueryEngine(NET, UTILITY), 4)
    asking.query(tokens, lengths)
    computed, left = asking.engine.stats.tokens, asking.engine.slots_left
    assert_plain(asking.query(tokens, lengths), tokens, lengths)
    assert (asking.engine.stats.tokens, asking.engine.slots_left) == (computed + 4, left)


def test_each_token_is_computed_once():
    tokens, lengths = some_histories(np.random.default_rng(3), 4, longest=20)
    asking = Asking(QueryEngine(NET, UTILITY), 4)
    candidates = np.zeros((4, V), bool)
    candidates[:, [5, 9]] = True
    answer = asking.query(tokens, lengths, candidates=candidates)
    asking.paths[np.arange(4), lengths] = answer.action_slots[1::2]
    asking.held += 1
    tokens[np.arange(4), lengths] = 9
    asking.query(tokens, lengths + 3)
    stats = asking.engine.stats
    assert stats.tokens == lengths.sum() + 2 * 4 + 2 * 4
    assert (stats.passes, stats.rows, stats.candidates) == (2, 8, 8)


def test_histories_that_are_not_asked_about_stay_as_they_are():
    tokens, lengths = some_histories(np.random.default_rng(4), 6)
    one, two = (Asking(QueryEngine(NET, UTILITY), 6) for _ in range(2))
    for asking in (one, two):
        asking.query(tokens, lengths)
    one.query(tokens, lengths + 5, np.array([1, 4]))
    rest = np.array([0, 2, 3, 5])
    first, second = (asking.query(tokens, lengths + 1, rest) for asking in (one, two))
    np.testing.assert_array_equal(first.next_token, second.next_token)
    np.testing.assert_array_equal(first.value, second.value)


@pytest.mark.parametrize("similar", [False, True])
def test_wide_and_narrow_rows_share_a_batch(similar, monkeypatch):
    rng = np.random.default_rng(5)
    tokens = rng.integers(0, V, (80, L)).astype(np.uint8)
    lengths = np.where(np.arange(80) % 2 == 0, 2, 60)
    candidates = rng.random((80, V)) < 0.05
    monkeypatch.setattr(  # as a GPU wants it
        "learner.inference.engine.sub_batches", lambda width, most, **_: sub_batches(width, most, similar)
    )
    asking = Asking(QueryEngine(NET, UTILITY), 80)
    answer = asking.query(tokens, lengths, candidates=candidates)
    assert (2 if similar else 1) <= asking.engine.stats.passes <= (4 if similar else 1)
    assert_plain(answer, tokens, lengths, candidates)


def test_values_are_given_where_they_are_asked_for_alone():
    tokens, lengths = some_histories(np.random.default_rng(13), 5)
    engine = QueryEngine(NET, UTILITY)
    paths, asked = np.full((5, L), -1, np.int64), np.array([True, False, False, True, False])
    answer = engine.query(paths, np.zeros(5, np.int64), tokens, lengths, values=asked)
    assert np.array_equal(np.isnan(answer.value), ~asked)
    for row in np.flatnonzero(asked):
        assert answer.value[row] == pytest.approx(plain(tokens[row, : lengths[row]])[1], abs=2e-5)


def test_histories_of_full_length_are_answered():
    rng = np.random.default_rng(6)
    tokens = rng.integers(0, V, (3, L)).astype(np.uint8)
    asking = Asking(QueryEngine(NET, UTILITY), 3)
    everything = np.ones((3, V), bool)
    almost = np.array([L - 1, L - 3, 1])
    assert_plain(asking.query(tokens, almost, candidates=everything), tokens, almost, everything)
    full = np.full(3, L)
    assert_plain(asking.query(tokens, full), tokens, full)
    with pytest.raises(ValueError, match="row 0: no candidate fits"):
        asking.query(tokens, full, candidates=everything)


def test_an_empty_batch_gives_an_empty_answer():
    answer = Asking(QueryEngine(NET, UTILITY), 0).query(np.zeros((0, L), np.uint8), np.zeros(0, np.int64))
    assert answer.next_token.shape == (0, V)


def test_bf16_answers_are_close():
    tokens, lengths = some_histories(np.random.default_rng(9), 6)
    asking = Asking(QueryEngine(NET, UTILITY, precision="bf16"), 6)
    assert_plain(asking.query(tokens, lengths), tokens, lengths, atol=0.03)


def test_the_cache_takes_no_more_than_it_was_given():
    for precision in ("fp32", "bf16"):
        engine = QueryEngine(NET, UTILITY, precision=precision, cache_mb=1)
        assert engine._trunk.cache.nbytes <= MIB < engine._trunk.cache.nbytes + slot_bytes(NET.arch, "cpu", precision)
        assert engine.slots_left == MIB // slot_bytes(NET.arch, "cpu", precision)


def test_a_full_cache_says_what_to_do_and_keeps_what_it_has():
    engine = QueryEngine(NET, UTILITY, cache_mb=1)
    count = engine.slots_left // 50
    tokens, lengths = np.zeros((count + 1, L), np.uint8), np.full(count + 1, 50)
    asking = Asking(engine, count + 1)
    asking.query(tokens, lengths, np.arange(count))
    with pytest.raises(ValueError, match=r"cache of keys and values is full.* raise engine\.cache_mb"):
        asking.query(tokens, lengths, np.array([count]))
    assert_plain(asking.query(tokens, lengths, np.array([3])), tokens[:1], lengths[:1])
    asking.truncate(0, 0)
    assert_plain(asking.query(tokens, lengths, np.array([count])), tokens[:1], lengths[:1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q: q | {"held": np.array([0, 5])}, "row 1: 5 tokens held of a history of 4"),
        (lambda q: q | {"held": np.array([2, 0])}, "row 0: its path is not the beginning of its history"),
        (lambda q: q | {"lengths": np.array([3, 0])}, "row 1: length 0"),
        (lambda q: q | {"lengths": np.array([L + 1, 2])}, f"row 0: length {L + 1}"),
        (lambda q: q | {"candidates": np.ones((2, V + 1), bool)}, "candidates have shape"),
    ],
)
def test_queries_that_make_no_sense_are_refused(change, message):
    engine = QueryEngine(NET, UTILITY)
    query = {"paths": np.full((2, L), -1, np.int64), "held": np.zeros(2, np.int64)}
    query |= {"tokens": np.zeros((2, L), np.uint8), "lengths": np.array([3, 4])}
    with pytest.raises(ValueError, match=message):
        engine.query(**change(query))
    assert engine.slots_left == 4096 * MIB // slot_bytes(NET.arch)


@pytest.mark.parametrize("break_it", ["another token", "slots of another history", "a slot that was given back"])
def test_a_path_that_is_not_the_beginning_of_its_history_is_refused(break_it):
    tokens, lengths = some_histories(np.random.default_rng(10), 2)
    lengths[:] = 10
    asking = Asking(QueryEngine(NET, UTILITY), 2)
    asking.query(tokens, lengths)
    if break_it == "another token":
        tokens[1, 7] = (tokens[1, 7] + 1) % V
    elif break_it == "slots of another history":
        asking.paths[1, 5:10] = asking.paths[0, 5:10]
        tokens[1, 5:10] = tokens[0, 5:10]
    else:
        asking.engine.free(asking.paths[1, 9:])
    with pytest.raises(ValueError, match="row 1: its path is not the beginning"):
        asking.query(tokens, lengths + 1)


def test_a_slot_that_nobody_holds_is_not_given_back():
    tokens, lengths = some_histories(np.random.default_rng(11), 1)
    asking = Asking(QueryEngine(NET, UTILITY), 1)
    asking.query(tokens, lengths)
    asking.engine.free(asking.paths)
    with pytest.raises(ValueError, match="nobody holds"):
        asking.engine.free(asking.paths)


def test_a_utility_of_another_size_is_refused():
    with pytest.raises(ValueError, match="2234 outcome labels"):
        QueryEngine(NET, UTILITY[:-1])


def test_a_cache_that_holds_no_history_is_refused():
    wide = tiny_net(GAME, config=replace(TINY, n_embd=1024, n_layer=4))
    with pytest.raises(ValueError, match=r"engine\.cache_mb=1: holds 32 tokens"):
        QueryEngine(wide, UTILITY, cache_mb=1)
