"""The same answers and the same training on a GPU."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from games.hearts.game import HeartsGame
from learner.config import LearnerConfig
from learner.inference.engine import QueryEngine
from learner.training.train import train
from tests.learner.material import TINY, shard_of, tiny_net

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
GAME = HeartsGame()


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("bf16", 0.05)])
def test_queries_on_a_gpu_equal_those_on_a_cpu(precision, tolerance, graphs):
    rng = np.random.default_rng(0)
    net, utility = tiny_net(GAME), rng.normal(size=GAME.outcomes.num_labels).astype(np.float32)
    tokens, lengths = rng.integers(0, 61, (20, 75)), rng.integers(1, 50, 20)
    candidates = rng.random((20, 61)) < 0.1
    candidates[:, 7] = True
    tokens[np.arange(20), lengths] = 7
    answers = []
    for device, kind in (("cpu", "fp32"), ("cuda", precision)):
        engine = QueryEngine(net, utility, device, kind, cuda_graphs=graphs)
        held, asked = np.zeros(20, np.int64), {"values": np.ones(20, bool)}
        for _ in range(3):  # captured, then replayed on other slots
            paths = np.full((20, 75), -1, np.int64)
            first = engine.query(paths, held, tokens, lengths, candidates, **asked, look_ahead=True)
        paths[np.arange(20), lengths] = first.action_slots[np.nonzero(candidates)[1] == 7]
        second = engine.query(paths, lengths + 1, tokens, lengths + 3, **asked)
        answers.append((first.next_token, first.value, first.action_values, first.action_next, *second[:2]))
    for cpu, gpu in zip(*answers, strict=True):
        np.testing.assert_allclose(gpu, cpu, atol=tolerance)


def test_training_on_a_gpu_follows_the_cpu_and_resumes(tmp_path):
    shards = [shard_of(GAME, tmp_path, 32)]
    config = LearnerConfig(batch_size=16, num_epochs=1, device="cpu", checkpoint_every_steps=2, log_every_steps=3)
    cpu = train(GAME, TINY, config, shards, tmp_path / "cpu")

    def stop(metrics):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        train(GAME, TINY, replace(config, device="cuda"), shards, tmp_path / "cuda", on_progress=stop)
    gpu = train(GAME, TINY, replace(config, device="cuda"), shards, tmp_path / "cuda")
    assert gpu["observation_loss"] == pytest.approx(cpu["observation_loss"], rel=1e-3)
