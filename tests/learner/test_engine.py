"""Whatever was cached, shared, released or batched: the engine answers as a plain forward pass over the history."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from games.hearts.game import HeartsGame
from learner.config import EngineConfig
from learner.inference.engine import QueryEngine
from learner.inference.pool import MIB, slot_bytes
from learner.observation_model import EMPTY
from tests.learner.material import TINY, tiny_net, transformers_model
from tests.marks import slow

GAME = HeartsGame()
NET = tiny_net(GAME, seed=3)
V, L = NET.arch.vocab_size, NET.arch.n_positions
UTILITY = np.random.default_rng(0).normal(size=NET.arch.num_outcomes).astype(np.float32)
CPU = EngineConfig(device="cpu")
MODEL = transformers_model(NET).eval()


@torch.no_grad()
def plain(history: list[int]) -> tuple[np.ndarray, float]:
    """Next-token distribution and value of one history, by the transformers model and nothing else."""
    out = MODEL(torch.tensor(history)[None])
    outcomes = torch.softmax(out.outcome_logits[0, -1], -1).numpy()
    return torch.softmax(out.logits[0, -1], -1).numpy(), float(outcomes @ UTILITY)


def ask(engine, handles, new, **options):
    """Query with lists of tokens; values of all rows unless said otherwise."""
    counts = np.array([len(tokens) for tokens in new], np.int64)
    tokens = np.concatenate([np.zeros(0, np.int64), *(np.asarray(tokens, np.int64) for tokens in new)])
    options.setdefault("values", np.ones(len(new), bool))
    return engine.query(np.asarray(handles, np.int64), tokens, counts, **options)


def assert_plain(answer, histories, candidates=None, look_ahead=False, atol=2e-5):
    leaf = 0
    for row, history in enumerate(histories):
        next_token, value = plain(history)
        np.testing.assert_allclose(answer.next_token[row], next_token, atol=atol)
        assert answer.value[row] == pytest.approx(value, abs=atol)
        for action in np.nonzero(candidates[row])[0] if candidates is not None else ():
            following, behind = plain([*history, action])
            assert answer.action_values[leaf] == pytest.approx(behind, abs=atol)
            if look_ahead:
                np.testing.assert_allclose(answer.action_next[leaf], following, atol=atol)
            leaf += 1
    assert leaf == len(answer.action_values) == len(answer.action_handles)


def some_histories(rng, count, longest=40):
    return [rng.integers(0, V, length).tolist() for length in rng.integers(1, longest, count)]


def nothing(count):
    return [EMPTY] * count


@pytest.mark.parametrize("max_batch", [4, *slow(1, 1000)])
def test_queries_equal_plain_forward_passes_over_growing_kept_and_branching_histories(max_batch):
    rng = np.random.default_rng(max_batch)
    engine = QueryEngine(NET, UTILITY, replace(CPU, max_batch=max_batch))
    free_before = engine.slots_left
    known = [(EMPTY, [])]  # what is held, and the history it stands for
    for turn in range(4):
        begin = [known[index] for index in rng.integers(0, len(known), rng.integers(1, 10))]
        new = [rng.integers(0, V, rng.integers(0 if history else 1, 8)).tolist() for _, history in begin]
        histories = [[*history, *tokens] for (_, history), tokens in zip(begin, new, strict=True)]
        candidates = rng.random((len(begin), V)) < rng.choice([0.0, 0.03, 0.1], (len(begin), 1))
        look_ahead = turn % 2 == 0
        handles = [handle for handle, _ in begin]
        answer = ask(engine, handles, new, candidates=candidates, look_ahead=look_ahead)
        assert_plain(answer, histories, candidates, look_ahead)
        leaves = [[*histories[row], token] for row, token in np.argwhere(candidates)]
        got = [*zip(answer.handles, histories, strict=True), *zip(answer.action_handles, leaves, strict=True)]
        known += got
        for index in sorted(rng.permutation(len(known) - 1)[: len(got) // 2] + 1, reverse=True):
            engine.release(known.pop(index)[0])
    engine.release(np.array([handle for handle, _ in known]))
    assert engine.slots_left == free_before
    assert np.std([plain(history)[1] for _, history in known if history]) > 0.01, "or equality means nothing"


def test_each_token_is_computed_once():
    histories = some_histories(np.random.default_rng(3), 4, longest=20)
    engine = QueryEngine(NET, UTILITY, CPU)
    candidates = np.zeros((4, V), bool)
    candidates[:, [5, 9]] = True
    answer = ask(engine, nothing(4), histories, candidates=candidates)
    grown = ask(engine, answer.action_handles[1::2], [[1, 2]] * 4)
    assert_plain(grown, [[*history, 9, 1, 2] for history in histories])
    assert engine.stats.tokens == sum(map(len, histories)) + 2 * 4 + 2 * 4
    assert engine.stats.passes == 2


def test_values_are_given_where_they_are_asked_for_alone():
    histories = some_histories(np.random.default_rng(13), 5)
    asked = np.array([True, False, False, True, False])
    candidates = np.zeros((5, V), bool)
    candidates[1, [3, 4]] = True
    answer = ask(QueryEngine(NET, UTILITY, CPU), nothing(5), histories, values=asked, candidates=candidates)
    assert np.array_equal(np.isnan(answer.value), ~asked)
    for row in np.flatnonzero(asked):
        assert answer.value[row] == pytest.approx(plain(histories[row])[1], abs=2e-5)
    assert answer.action_values[1] == pytest.approx(plain([*histories[1], 4])[1], abs=2e-5)
    assert answer.action_next.shape == (0, V)


def test_histories_of_full_length_are_answered():
    rng = np.random.default_rng(6)
    histories = [rng.integers(0, V, length).tolist() for length in (L - 1, L - 3, 1)]
    engine, everything = QueryEngine(NET, UTILITY, CPU), np.ones((3, V), bool)
    answer = ask(engine, nothing(3), histories, candidates=everything)
    assert_plain(answer, histories, everything)
    full = [[*history, *rng.integers(0, V, L - len(history))] for history in histories]
    rest = [history[-count:] for history, count in zip(full, (1, 3, L - 1), strict=True)]
    assert_plain(ask(engine, answer.handles, rest), full)
    with pytest.raises(ValueError, match=f"row 0: no candidate fits behind a history of full length {L}"):
        ask(engine, answer.handles, rest, candidates=everything)


@pytest.mark.parametrize("max_batch", [1, 1000])
def test_an_empty_batch_gives_an_empty_answer(max_batch):
    answer = ask(QueryEngine(NET, UTILITY, replace(CPU, max_batch=max_batch)), [], [])
    assert answer.next_token.shape == (0, V) and answer.handles.shape == (0,)


@pytest.mark.parametrize("trunk", ["auto", "torch"])
def test_bf16_answers_are_close(trunk):
    histories = some_histories(np.random.default_rng(9), 6)
    engine = QueryEngine(NET, UTILITY, replace(CPU, precision="bf16", trunk=trunk))
    assert_plain(ask(engine, nothing(6), histories), histories, atol=0.03)


def test_automatic_precision_is_settled_for_the_device():
    assert slot_bytes(NET.arch, "cuda", "auto") == slot_bytes(NET.arch, "cuda", "bf16")  # there need not be one
    assert slot_bytes(NET.arch, "cpu", "fp32") == 2 * slot_bytes(NET.arch, "cpu", "bf16")
    engine = QueryEngine(NET, UTILITY, replace(CPU, precision="auto", cache_mb=1))
    assert engine.slots_left == MIB // slot_bytes(NET.arch, "cpu", "auto")


@pytest.mark.parametrize("trunk", ["auto", "torch"])
def test_the_cache_takes_no_more_than_it_was_given(trunk):
    for precision in ("fp32", "bf16"):
        engine = QueryEngine(NET, UTILITY, replace(CPU, precision=precision, cache_mb=1, trunk=trunk))
        token = slot_bytes(NET.arch, "cpu", precision)
        assert MIB - token <= engine.network.cache.nbytes <= MIB + token  # torch's has one slot to spare
        assert engine.slots_left == MIB // token


@pytest.mark.parametrize(("error", "failing"), [(MemoryError, 1), (KeyboardInterrupt, 2)])
def test_a_pass_that_fails_gives_back_what_those_before_it_have_answered(monkeypatch, error, failing):
    engine = QueryEngine(NET, UTILITY, replace(CPU, max_batch=1))
    (handle,), left, start, passes = ask(engine, [EMPTY], [[1, 2]]).handles, engine.slots_left, engine.network.start, []

    def fail(*arguments):
        passes.append(arguments)
        if len(passes) == failing:
            raise error
        return start(*arguments)

    with monkeypatch.context() as broken, pytest.raises(error):
        broken.setattr(engine.network, "start", fail)
        ask(engine, [handle, EMPTY], [[3], [4]], candidates=np.ones((2, V), bool))
    assert len(passes) == failing and engine.slots_left == left
    assert_plain(ask(engine, [handle], [[3]]), [[1, 2, 3]])


def test_a_full_cache_says_what_to_do_and_keeps_what_it_has():
    engine = QueryEngine(NET, UTILITY, replace(CPU, cache_mb=1))
    count = engine.slots_left // 50
    histories = [[1] * 50] * count
    handles = ask(engine, nothing(count), histories).handles
    left, message = engine.slots_left, r"cache of keys and values is full.* raise engine\.cache_mb"
    with pytest.raises(ValueError, match=message):
        ask(engine, [EMPTY], [[1] * 50])
    with pytest.raises(ValueError, match=message):  # candidates need slots too
        ask(engine, handles[:5], [[2] * (left // 5)] * 5, candidates=np.ones((5, V), bool))
    assert engine.slots_left == left
    assert_plain(ask(engine, handles[3:4], [[]]), histories[:1])
    engine.release(handles[:1])
    assert_plain(ask(engine, [EMPTY], [[1] * 50]), histories[:1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"handles": [0, 7]}, "row 1: the handle 7 is not held"),
        ({"handles": [0, -2]}, "row 1: the handle -2 is not held"),
        ({"handles": [0, 10**12]}, "row 1: the handle 1000000000000 is not held"),
        ({"handles": [1, 0]}, "row 0: the handle 1 is not held"),  # on the way to a history that is held
        ({"counts": [4, 0], "handles": [0, EMPTY]}, "row 1: its history is empty"),
        ({"counts": [2, 1]}, "counts add up to 3 new tokens, and there are 4"),
        ({"counts": [5, -1]}, "counts add up to 4 new tokens"),
        ({"counts": [4]}, "counts have shape"),
        ({"tokens": np.zeros(L + 1, int), "counts": [L, 1]}, f"row 0: its history has {L + 1} tokens"),
        ({"tokens": [1, 2, 3, V]}, f"row 1: token {V} is not in the vocabulary"),
        ({"candidates": np.ones((2, V + 1), bool)}, "candidates have shape"),
        ({"values": np.ones(3, bool)}, "values have shape"),
    ],
)
def test_queries_that_make_no_sense_are_refused_and_change_nothing(change, message):
    engine = QueryEngine(NET, UTILITY, CPU)
    held = [*ask(engine, [EMPTY], [[4]]).handles, *ask(engine, [EMPTY], [[5, 6]]).handles]
    assert held == [0, 2]
    left, passes = engine.slots_left, engine.stats.passes
    query = {"handles": [0, 0], "tokens": [1, 2, 3, 4], "counts": [2, 2]} | change
    histories = [np.array(query.pop(key)) for key in ("handles", "tokens", "counts")]
    with pytest.raises(ValueError, match=message):
        engine.query(*histories, **query)
    assert (engine.slots_left, engine.stats.passes) == (left, passes)
    engine.release(np.array(held))
    assert engine.slots_left == left + 3


@pytest.mark.parametrize("wrong", [[2, 0, 2], [0, 1], [0, 10**12], [0, 0]])
def test_a_handle_that_nobody_holds_is_not_released(wrong):
    engine = QueryEngine(NET, UTILITY, CPU)
    assert ask(engine, [EMPTY], [[4]]).handles == [0]
    assert ask(engine, [EMPTY], [[5, 6]]).handles == [2]
    left = engine.slots_left
    with pytest.raises(ValueError, match="not held"):
        engine.release(np.array(wrong))
    assert engine.slots_left == left
    engine.release(np.array([[2, EMPTY], [EMPTY, 0]]))
    assert engine.slots_left == left + 3


class Ledger:
    """What the engine's tree must be, kept in a dictionary: node -> the node before it."""

    def __init__(self):
        self.engine = QueryEngine(NET, UTILITY, replace(CPU, cache_mb=1, max_batch=3))
        self.size = self.engine.slots_left
        self.held = []
        """(handle, names of the nodes of its history), one for each hold."""
        self.made = 0

    def grow(self, handle, nodes, count):
        self.made += count
        return (handle, (*nodes, *range(self.made - count, self.made)))

    def query(self, begin, counts, candidates):
        handles = np.array([handle for handle, _ in begin], np.int64)
        answer = self.engine.query(handles, np.ones(sum(counts), np.int64), np.array(counts), candidates)
        grown = [self.grow(*row) for row in zip(answer.handles, (nodes for _, nodes in begin), counts, strict=True)]
        rows = np.nonzero(candidates)[0]
        self.held += grown
        self.held += [
            self.grow(handle, grown[row][1], 1) for handle, row in zip(answer.action_handles, rows, strict=True)
        ]

    def check(self):
        in_use = {node for _, nodes in self.held for node in nodes}
        assert self.size - self.engine.slots_left == len(in_use)
        histories = dict(self.held)
        assert all(histories[handle] == nodes for handle, nodes in self.held)  # one history to a handle
        assert len(set(histories.values())) == len(histories)


@settings(max_examples=30)
@given(st.data())
def test_the_slots_in_use_are_those_of_the_held_histories(data):
    ledger = Ledger()
    for _ in range(data.draw(st.integers(1, 8))):
        if ledger.held and data.draw(st.booleans()):
            which = data.draw(st.sets(st.integers(0, len(ledger.held) - 1)))
            ledger.engine.release(np.array([ledger.held[index][0] for index in which], np.int64))
            ledger.held = [entry for index, entry in enumerate(ledger.held) if index not in which]
        else:
            begin = data.draw(st.lists(st.sampled_from([(EMPTY, ()), *ledger.held]), min_size=1, max_size=5))
            counts = [data.draw(st.integers(0 if nodes else 1, 4)) for _, nodes in begin]
            candidates = np.zeros((len(begin), V), bool)
            for row in range(len(begin)):
                candidates[row, list(data.draw(st.sets(st.integers(0, V - 1), max_size=2)))] = True
            ledger.query(begin, counts, candidates)
        ledger.check()
    ledger.engine.release(np.array([handle for handle, _ in ledger.held], np.int64))
    assert ledger.engine.slots_left == ledger.size


def test_an_engine_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="2234 outcome labels"):
        QueryEngine(NET, UTILITY[:-1], CPU)
    wide = tiny_net(GAME, config=replace(TINY, n_embd=1024, n_layer=4))
    with pytest.raises(ValueError, match=r"engine\.cache_mb=1: holds 32 tokens"):
        QueryEngine(wide, UTILITY, replace(CPU, cache_mb=1))
