"""The same answers and the same training on a GPU."""

import gc
from dataclasses import replace

import numpy as np
import pytest
import torch

from games.hearts.game import HeartsGame
from games.rng import derive_many
from games.samegame.game import SameGame
from learner.config import EngineConfig, LearnerConfig
from learner.inference.engine import QueryEngine
from learner.inference.pool import SlotPool
from learner.observation_model import EMPTY
from tests.learner.material import TINY, branched_shard, changed, tiny_net, train
from tests.learner.test_pool import engines, questions

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
GAME = HeartsGame()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("bf16", 0.05)])
def test_queries_on_a_gpu_equal_those_on_a_cpu(precision, tolerance, graphs, masked):
    rng = np.random.default_rng(0)
    net, utility = tiny_net(GAME), rng.normal(size=GAME.outcomes.num_labels).astype(np.float32)
    counts = rng.integers(1, 50, 20)
    states = GAME.deal(derive_many(1, 20))
    GAME.playout(states, derive_many(2, 20))
    histories, _ = GAME.histories(states, np.arange(20) % 4)
    tokens = histories[np.arange(histories.shape[1]) < counts[:, None]]
    more = rng.integers(0, 61, 40)
    candidates = rng.random((20, 61)) < 0.1
    candidates[:, 7] = True
    answers = []
    for config in (
        EngineConfig(device="cpu", mask_outcomes=masked),
        EngineConfig(device="cuda", precision=precision, cuda_graphs=graphs, mask_outcomes=masked, cache_mb=256),
    ):
        engine, asked = QueryEngine(net, utility, config, GAME), {"values": np.ones(20, bool)}
        for _ in range(3):  # captured, then replayed on other slots
            first = engine.query(np.full(20, EMPTY), tokens, counts, candidates, **asked, look_ahead=True)
        kept = first.action_handles[np.nonzero(candidates)[1] == 7]
        second = engine.query(kept, more, np.full(20, 2), **asked)
        answers.append((*first[1:3], *first[4:], *second[1:3]))
    for cpu, gpu in zip(*answers, strict=True):
        np.testing.assert_allclose(gpu, cpu, atol=tolerance)


def asked_alike(*engines):
    """Queries of many shapes, to all engines; the answers of each."""
    rng, answers = np.random.default_rng(1), [[] for _ in engines]
    for rows in (3, 40, 100, 200, 400, 600):
        for length in (1, 4, 12, 24, 40):
            tokens, counts = rng.integers(0, 52, rows * length), np.full(rows, length)
            candidates = rng.random((rows, GAME.vocabulary.size)) < 0.05
            for more in ({}, {"candidates": candidates}, {"candidates": candidates, "look_ahead": True}):
                for engine, found in zip(engines, answers, strict=True):
                    answer = engine.query(np.full(rows, EMPTY), tokens, counts, **more)
                    found.append((answer.next_token, answer.action_values, answer.action_next))
                    engine.release(answer.handles)
                    engine.release(answer.action_handles)
    return answers


def test_graphs_of_many_shapes_answer_alike_when_another_engine_is_dropped():
    utility = np.random.default_rng(0).normal(size=GAME.outcomes.num_labels).astype(np.float32)
    graphs = EngineConfig("cuda", cuda_graphs=True, cache_mb=256)
    cpu, kept, dropped = (
        QueryEngine(tiny_net(GAME), utility, config) for config in (EngineConfig("cpu"), graphs, graphs)
    )
    expected, first, _ = asked_alike(cpu, kept, dropped)
    assert len(kept.network._run._captured) > 64
    del dropped
    gc.collect()
    torch.cuda.empty_cache()
    later = QueryEngine(tiny_net(GAME), utility, graphs)  # captures into memory that the other has left
    for answers in (first, *asked_alike(kept, later)):
        for wanted, found in zip(expected, answers, strict=True):
            for one, other in zip(wanted, found, strict=True):
                np.testing.assert_allclose(other, one, atol=1e-4)


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("bf16", 0.05)])
def test_networks_that_are_asked_in_one_pass_on_a_gpu_answer_as_each_does_alone(precision, tolerance, graphs):
    config = EngineConfig("cuda", precision, cache_mb=256, cuda_graphs=graphs)
    pool = SlotPool(tiny_net(GAME).arch, config, GAME)
    pooled, alone = engines(3, config, pool), engines(3, config)
    for rows in ([3, 200, 40], [40, 3, 300], [3, 200, 40]):  # captured, then replayed with other rows and tokens
        asked = list(questions(np.random.default_rng(sum(rows)), rows))
        answers = pool.query([(engine.network, query) for engine, query in zip(pooled, asked, strict=True)])
        for engine, query, answer in zip(alone, asked, answers, strict=True):
            wanted = engine.query(*query)
            for one, other in zip(answer[1:3] + answer[4:5], wanted[1:3] + wanted[4:5], strict=True):
                np.testing.assert_allclose(one, other, atol=tolerance)
    assert pool.together and pool.stats.passes == 3


def test_a_board_is_read_in_float32_on_a_gpu():
    game = SameGame(rows=5, columns=4, colours=3)
    net = tiny_net(game, config=replace(TINY, features=["board"], board_channels=[5, 3]))
    states = game.deal(derive_many(1, 20))
    game.playout(states, derive_many(2, 20))
    histories, _ = game.histories(states, np.zeros(20, np.int64))
    counts, asked = np.full(20, net.arch.first + 2), {"values": np.ones(20, bool)}
    tokens = histories[:, : net.arch.first + 2].ravel()
    cpu, gpu = (
        QueryEngine(net, game.outcomes.utility(""), EngineConfig(device, cuda_graphs=device == "cuda"), game).query(
            np.full(20, EMPTY), tokens, counts, **asked
        )
        for device in ("cpu", "cuda")
    )
    np.testing.assert_allclose(gpu.value, cpu.value, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(gpu.next_token, cpu.next_token, atol=1e-5)


@pytest.mark.parametrize("branch_weight", [0.0, 0.5])
def test_training_on_a_gpu_follows_the_cpu_and_resumes(branch_weight, tmp_path):
    shards = [branched_shard(GAME, tmp_path, 32)]
    config = LearnerConfig(batch_size=16, num_epochs=1, device="cpu", checkpoint_every_steps=2, log_every_steps=3)
    config = changed(config, branch_weight=branch_weight)
    cpu = train(GAME, TINY, config, shards, tmp_path / "cpu")

    def stop(metrics):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        train(GAME, TINY, replace(config, device="cuda"), shards, tmp_path / "cuda", on_progress=stop)
    gpu = train(GAME, TINY, replace(config, device="cuda"), shards, tmp_path / "cuda")
    for loss in ("observation_loss", "loss"):
        assert gpu[loss] == pytest.approx(cpu[loss], rel=1e-3)


def test_a_cache_that_a_gpu_has_no_room_for_is_refused():
    with pytest.raises(ValueError, match=r"engine\.cache_mb=100000000: the device has no room"):
        QueryEngine(tiny_net(GAME), np.zeros(GAME.outcomes.num_labels), EngineConfig("cuda", cache_mb=10**8))
