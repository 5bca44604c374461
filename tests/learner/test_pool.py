"""Networks of one shape share a pool: its slots, and passes over rows of several."""

import gc
import weakref

import numpy as np
import pytest

from games.hearts.game import HeartsGame
from games.rng import derive_many
from learner.config import EngineConfig
from learner.inference.engine import QueryEngine
from learner.inference.pool import SlotPool
from learner.inference.stacked_trunk import TILE
from learner.model.network import initialise
from learner.observation_model import EMPTY, Query
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.player import GoMcts
from search.players import table
from search.players.argmax_val import ArgmaxVal
from search.players.config import ArgmaxValConfig, ImitationConfig
from search.players.imitation import Imitation
from search.players.random_player import Exploring
from search.players.table import play_table
from tests.learner.material import tiny_net

GAME = HeartsGame()
V = GAME.vocabulary.size
UTILITIES = np.random.default_rng(0).normal(size=(4, GAME.outcomes.num_labels)).astype(np.float32)


def network(seed):
    """A network whose answers are far from those of others."""
    net = tiny_net(GAME)
    initialise(net, seed)
    for matrix in net.hidden_matrices():
        matrix.data *= 8
    return net


def engines(count, config, pool=None):
    """Engines of ``count`` networks with different utilities."""
    return [QueryEngine(network(seed), UTILITIES[seed], config, GAME, pool) for seed in range(count)]


def questions(rng, rows, handles=None):
    """A query of each engine: some with candidates, some with values."""
    for number, count in enumerate(rows):
        counts = rng.integers(1, 5, count)
        marked = rng.random((count, V)) < 0.1 if number % 2 == 0 else None
        judged = rng.random(count) < 0.5 if number == 2 else None
        known = np.full(count, EMPTY) if handles is None else handles[number]
        yield Query(known, rng.integers(0, V - 1, counts.sum()), counts, marked, judged)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("bf16", 0.02)])
@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize("max_batch", [1024, 50])
def test_networks_of_a_pool_answer_together_as_each_does_alone(precision, tolerance, graphs, max_batch):
    config = EngineConfig("cpu", precision, max_batch, 64, cuda_graphs=graphs, trunk="torch")
    pool = SlotPool(tiny_net(GAME).arch, config, GAME)
    alone, pooled = engines(3, config), engines(3, config, pool)
    which, rows = [0, 1, 2, 2], [3, TILE, 40, 5]  # one network is asked by two players
    left, rng, asked = pool.tree.left, np.random.default_rng(1), list(questions(np.random.default_rng(0), rows))
    expected = [alone[n].query(*query) for n, query in zip(which, asked, strict=True)]
    assert np.abs(alone[0].query(*asked[3]).next_token - expected[3].next_token).max() > 10 * tolerance
    for _ in range(3):
        passes = pool.stats.passes
        answers = pool.query([(pooled[n].network, query) for n, query in zip(which, asked, strict=True)])
        assert pool.stats.passes - passes == -(-sum(rows) // max_batch)
        for found, wanted in zip(answers, expected, strict=True):
            for one, other in zip(found[1:3] + found[4:], wanted[1:3] + wanted[4:], strict=True):
                assert one.shape == other.shape
                np.testing.assert_allclose(one, other, atol=tolerance)
        for n, held, query in zip(which, answers, asked, strict=True):
            pooled[n].release(query.handles)
            pooled[n].release(held.action_handles)
        seed, held = rng.integers(100), [answer.handles for answer in answers]
        more, same = (
            list(questions(np.random.default_rng(seed), rows, handles))
            for handles in (held, [answer.handles for answer in expected])
        )
        asked, expected = more, [alone[n].query(*query) for n, query in zip(which, same, strict=True)]
    for n, handles in zip(which, held, strict=True):
        pooled[n].release(handles)
    assert pool.tree.left == left


def test_a_pool_answers_for_networks_that_come_and_without_those_that_have_gone():
    config = EngineConfig("cpu", "fp32", cache_mb=64, trunk="torch")
    pool = SlotPool(tiny_net(GAME).arch, config, GAME)
    pooled, alone = engines(2, config, pool), engines(4, config)

    def check(numbers):
        asked = list(questions(np.random.default_rng(0), [4] * len(numbers)))
        answers = pool.query([(engine.network, query) for (_, engine), query in zip(numbers, asked, strict=True)])
        for (number, _), query, answer in zip(numbers, asked, answers, strict=True):
            np.testing.assert_allclose(answer.next_token, alone[number].query(*query).next_token, atol=1e-5)
            np.testing.assert_allclose(answer.action_values, alone[number].query(*query).action_values, atol=1e-5)

    check(list(enumerate(pooled)))
    gone = weakref.ref(pooled[0].network)
    del pooled[0]
    gc.collect()
    assert gone() is None
    check([(1, pooled[0]), (1, pooled[0])])
    stack = weakref.ref(pool._stack[0])
    pooled += [QueryEngine(network(n), UTILITIES[n], config, GAME, pool) for n in (2, 3)]
    assert stack() is None, "weights of an earlier population are kept"
    assert len({id(engine.network.cache) for engine in pooled}) == 1
    check(list(enumerate(pooled, 1)))


def on_a_device(engine, events, failing=0):
    """Let the pool take the engine's network for one on a device; notes when passes begin and when answers are read,
    of which number ``failing`` fails."""
    begin = engine.network.start

    def start(*given):
        number, answer = events.count("begun") + 1, begin(*given)
        events.append("begun")

        def read():
            events.append("read")
            if number == failing:
                raise KeyboardInterrupt
            return answer()

        return read

    engine.pool.beside, engine.network.start = True, start


def mixed(engine):
    return [ArgmaxVal(engine, ArgmaxValConfig()), Exploring(Imitation(engine, ImitationConfig()), 0.3)]


def searching(engine):
    return [GoMcts(engine, GoMctsConfig(num_runs=4, num_steps=1)), Imitation(engine, ImitationConfig())]


@pytest.mark.parametrize(("players_of", "deals"), [(mixed, 13), (searching, 4)])
def test_a_table_plays_one_half_while_a_device_computes_for_the_other(players_of, deals, monkeypatch):
    monkeypatch.setattr(table, "_WIDE", 4)
    config, seeds, results = EngineConfig("cpu", "fp32", cache_mb=64), derive_many(1, deals), []
    for beside in (False, True):
        engine, events = QueryEngine(network(0), UTILITIES[0], config, GAME), []
        if beside:
            on_a_device(engine, events)
        left, seating = engine.slots_left, np.arange(deals * 4).reshape(deals, 4) % 2
        results.append(play_table(GAME, players_of(engine), seating, seeds, 6, secret=1))
        assert engine.slots_left == left
    apart, halves = results
    assert apart.states.tobytes() == halves.states.tobytes() and apart.fill == pytest.approx(halves.fill, abs=0.2)
    np.testing.assert_array_equal(apart.decisions, halves.decisions)
    begun = np.cumsum([1 if event == "begun" else -1 for event in events])
    assert begun.max() == 2 and begun[-1] == 0, "passes under way"
    assert (begun == 2).sum() > 0.4 * len(events)


@pytest.mark.parametrize("failing", [1, 2, 9])
def test_a_table_that_breaks_off_gives_back_what_both_halves_have_asked(failing, monkeypatch):
    monkeypatch.setattr(table, "_WIDE", 4)
    engine = QueryEngine(network(0), UTILITIES[0], EngineConfig("cpu", "fp32", cache_mb=64), GAME)
    player, left = ArgmaxVal(engine, ArgmaxValConfig()), engine.slots_left
    on_a_device(engine, [], failing)
    with pytest.raises(KeyboardInterrupt):
        play_table(GAME, [player], np.zeros((8, 4), np.int64), derive_many(1, 8), secret=1)
    player.forget(np.arange(8))
    assert engine.slots_left == left


def test_a_paused_query_whose_room_was_taken_meanwhile_is_refused_and_keeps_nothing():
    (engine,) = engines(1, EngineConfig("cpu", "fp32", 2, 1, trunk="torch"))
    engine.pool.beside = True  # as on a device
    whole, rows = GAME.max_length, engine.slots_left // GAME.max_length

    def ask(count):
        return Query(np.full(count, EMPTY), np.zeros(count * whole, np.int64), np.full(count, whole))

    paused = engine.pool.querying([(engine.network, ask(rows))])
    next(paused)
    other = engine.pool.query([(engine.network, ask(2))])[0]
    with pytest.raises(ValueError, match="the cache of keys and values is full"):
        list(paused)
    engine.release(other.handles)
    assert engine.slots_left == engine.pool.tree.limit
