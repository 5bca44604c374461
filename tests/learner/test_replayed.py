"""Steps that are replayed as CUDA graphs, as far as they can be seen without a GPU: batches are padded to few layouts,
learn the same, and a step depends on nothing but its batch's memory."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch

from games.hearts.game import HeartsGame
from learner import kinds
from learner.config import LearnerConfig
from learner.network_kind import TrainingSetup
from learner.training import loop, replayed, sending, sequences
from learner.training.batches import make_batch
from learner.training.loss import losses
from tests.learner.material import branched_shard, changed, train
from tests.learner.test_fake_gpu import OBJECTIVES, TOLD

GAME = HeartsGame()
LEARNER = LearnerConfig(device="cpu", batch_size=16, num_threads=1, log_every_steps=1)


@pytest.mark.parametrize("name", ["float32", "told", "branches", "labels", "improved", "gradient", "board"])
def test_a_padded_batch_teaches_what_one_teaches_that_is_not_padded(name: str, tmp_path: Path) -> None:
    game, model, learner, make_shard = OBJECTIVES[name]
    learner = replace(learner, device="cpu", precision="fp32", batch_size=16, num_threads=1)
    kind, shard = kinds.find(model.kind), make_shard(game, tmp_path)
    objective = kind.objective(TrainingSetup(kind, game, model, learner, [shard]))
    objective.begin(loop.starting_network(objective.setup, None))
    learned = []
    for padded in (False, True):
        recipe = replace(objective.recipe, padded=padded)
        batch = make_batch(objective.data, objective.rows(0), recipe, seed=3)
        found = losses(objective.net, batch, objective.policy).named()
        objective.net.zero_grad()
        sum(found[name] for name, weight in objective.weights.items() if weight).backward()
        gradients = [parameter.grad.clone() for parameter in objective.net.parameters() if parameter.grad is not None]
        learned.append(({name: loss.detach() for name, loss in found.items()}, gradients, len(batch.prefixes)))
    (plain, plain_gradients, real), (found, gradients, every) = learned
    assert every > real and any(gradient.any() for gradient in gradients)
    torch.testing.assert_close(found, plain)
    torch.testing.assert_close(gradients, plain_gradients, rtol=1e-4, atol=1e-6)


@pytest.fixture
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """Batches are sent and steps replayed on a CPU: a replay makes the step again that was captured. Counts calls."""
    calls: Counter = Counter()

    def recorded(run: Any, device: Any, generator: Any) -> Any:
        def replay() -> None:
            calls["replays"] += 1
            run()

        calls["captures"] += 1
        run()
        return replay, None

    for module in (loop, sending, sequences):
        monkeypatch.setattr(module, "is_copied", lambda device: True)
    monkeypatch.setattr(sending, "_pinned", lambda size: torch.empty(size, dtype=torch.uint8))
    monkeypatch.setattr(torch.cuda, "current_stream", MagicMock())
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda tensor, stream: None)
    monkeypatch.setattr(replayed, "recorded", recorded)
    return calls


def trained(directory: Path, shard: str, **settings: object) -> list[float]:
    lines: list[float] = []
    config = changed(LEARNER, branch_weight=0.5, outcome_positions=4, num_epochs=3, **settings)
    train(GAME, TOLD, config, [shard], directory, on_progress=lambda line: lines.append(line["loss"]))
    return lines


def test_batches_have_few_layouts_and_steps_that_are_replayed_have_the_losses_of_those_that_run(
    as_on_a_gpu: Counter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(replayed, "_OFTEN", 1)
    shard = branched_shard(GAME, tmp_path, 40)
    replays = trained(tmp_path / "replayed", shard)
    assert 0 < as_on_a_gpu["captures"] <= 8 and as_on_a_gpu["replays"] >= len(replays) / 2
    calls = as_on_a_gpu.total()
    assert trained(tmp_path / "off", shard, cuda_graphs=False) == replays and as_on_a_gpu.total() == calls
    monkeypatch.undo()
    assert trained(tmp_path / "plain", shard) == pytest.approx(replays, rel=1e-3)


def test_a_capture_that_fails_names_the_key_that_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: Any) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(replayed, "recorded", refused)
    monkeypatch.setattr(replayed, "_OFTEN", 0)
    rows = torch.arange(3)
    sent = MagicMock(buffer=rows.view(torch.uint8).clone(), arrived=lambda: rows, layout=lambda: ())
    with pytest.raises(RuntimeError, match="not permitted") as failed:
        replayed.Replayed(lambda batch: None, torch.Generator())(sent)
    assert "learner.cuda_graphs=false" in failed.value.__notes__[0]
