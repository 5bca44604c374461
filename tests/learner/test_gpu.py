"""The same answers and the same training on a GPU."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from games.hearts.game import HeartsGame
from learner.config import EngineConfig, LearnerConfig, QNetworkConfig
from learner.inference.cuda_graphs import recorded
from learner.inference.engine import QueryEngine
from learner.inference.pool import SlotPool
from learner.observation_model import EMPTY
from learner.training import replayed
from selfplay.gpu.probes import answers
from tests.games.material import histories_of
from tests.learner.material import NO_PASS, TINY, branched_shard, changed, tiny_net, train
from tests.learner.test_fake_gpu import TOLD
from tests.learner.test_pool import engines, questions
from tests.selfplay.material import tiny_config

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
GAME = HeartsGame()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("bf16", 0.05)])
def test_queries_on_a_gpu_equal_those_on_a_cpu(precision, tolerance, graphs, masked):
    rng = np.random.default_rng(0)
    net, utility = tiny_net(GAME), rng.normal(size=GAME.outcomes.num_labels).astype(np.float32)
    counts = rng.integers(1, 50, 20)
    histories, _ = histories_of(GAME, 20, 1)
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


@pytest.mark.parametrize("graphs", [False, True])
def test_queries_of_many_shapes_are_answered_alike_when_another_engine_is_dropped(graphs, tmp_path):
    errors = answers(None, tiny_config(str(tmp_path)), "cuda", graphs)  # of told networks and boards too
    assert all(error < (1e-4 if "fp32" in name else 0.1) for name, error in errors.items()), errors


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


DROPOUT = replace(TOLD, embd_pdrop=0.05, resid_pdrop=0.05)
TRAININGS = {
    "told": (GAME, DROPOUT, {"optimizer": "muon", "others_weight": 0.1, "batch_threads": 2}),
    "branches": (GAME, DROPOUT, {"branch_weight": 0.5, "outcome_positions": 4}),
    "values": (GAME, TOLD, {"kind": "values", "improved": True}),
    "q_network": (HeartsGame(**NO_PASS), QNetworkConfig(width=16), {"branch_weight": 0.5, "weight_decay": 0.0}),
}


@pytest.mark.parametrize("name", TRAININGS)
def test_steps_that_are_replayed_have_the_losses_of_those_that_run(name, monkeypatch, tmp_path):
    captures = []
    monkeypatch.setattr(replayed, "_OFTEN", 1)
    monkeypatch.setattr(replayed, "recorded", lambda *args: captures.append(args) or recorded(*args))
    game, model, settings = TRAININGS[name]
    shards = [branched_shard(game, tmp_path, 60)]
    config = LearnerConfig(batch_size=16, max_steps=40, device="cuda", log_every_steps=1)
    lines = {}
    for graphs in (False, True):
        config, lines[graphs] = changed(config, cuda_graphs=graphs, **settings), []
        train(game, model, config, shards, tmp_path / str(graphs), on_progress=lines[graphs].append)
        assert bool(captures) == graphs
    assert len(captures) < 15
    for plain, found in zip(lines[False], lines[True], strict=True):
        assert found["loss"] == pytest.approx(plain["loss"], rel=1e-3)


def test_a_cache_that_a_gpu_has_no_room_for_is_refused():
    with pytest.raises(ValueError, match=r"engine\.cache_mb=100000000: the device has no room"):
        QueryEngine(tiny_net(GAME), np.zeros(GAME.outcomes.num_labels), EngineConfig("cuda", cache_mb=10**8))
