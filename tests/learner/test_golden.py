"""Losses of twenty steps of every training against those in ``golden/``.

``python -m tests.learner.test_golden`` records them anew; do so only where what is learned is meant to change.
"""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from games.config import GameConfig
from games.registry import make_game
from learner.config import LearnerConfig, QNetworkConfig, TransformerConfig
from learner.task import TrainingTask, run_task
from tests.learner.material import NO_PASS, branched_shard, changed

GOLDEN = Path(__file__).parent / "golden"
TOLERANCE = {"rel": 1e-4, "abs": 1e-6}
"""Sums of another processor round differently, and twenty steps carry that on: without vector instructions the losses
differ by 2e-6 of their size."""

LEARNER = LearnerConfig(
    learning_rate=1e-3, warmup_steps=3, num_epochs=9, max_steps=20, batch_size=16, device="cpu", num_threads=1,
    log_every_steps=1,
)  # fmt: skip
TRANSFORMER = TrainingTask(
    game=GameConfig("hearts"),
    model=TransformerConfig(
        n_layer=2, n_head=2, n_embd=16, token_types=True, mask_tokens=True, mask_outcomes=True, features=["all"]
    ),
    learner=changed(LEARNER, outcome_positions=2, others_weight=0.5),
    shards=(),
    out="",
    init_from=None,
    seed=7,
)
Q_NETWORK = replace(
    TRANSFORMER,
    game=GameConfig("hearts", NO_PASS),
    model=QNetworkConfig(architecture="pv16", width=16, target_every_steps=5, huber_delta=1.0),
    learner=replace(LEARNER, weight_decay=0.0, betas=(0.3, 0.999)),
)
TRAININGS = {
    "transformer": TRANSFORMER,
    "transformer_branches": replace(TRANSFORMER, learner=changed(TRANSFORMER.learner, branch_weight=0.5)),
    "q_network": Q_NETWORK,
    "q_network_branches": replace(Q_NETWORK, learner=changed(Q_NETWORK.learner, branch_weight=0.5)),
}


def losses(name: str, directory: Path) -> dict[str, list[float]]:
    """Every loss by name: one number for each step, or for validation one in all."""
    task = TRAININGS[name]
    # Of the forty deals of this seed one is held out.
    shard = branched_shard(make_game(task.game.name, task.game.options), directory, 40, seed=5)
    out, threads = directory / "out", torch.get_num_threads()
    try:
        last = run_task(replace(task, shards=(shard,), out=str(out)), lambda metrics: None)
    finally:
        torch.set_num_threads(threads)
    history = json.loads((out / "training" / "state.json").read_text())["history"]
    measured = [key for key in last if key.endswith(("loss", "error"))]
    return {key: [line[key] for line in history] if key in history[0] else [last[key]] for key in measured}


@pytest.mark.parametrize("name", TRAININGS)
def test_every_training_has_the_losses_it_had(name: str, tmp_path: Path) -> None:
    golden, found = json.loads((GOLDEN / f"{name}.json").read_text()), losses(name, tmp_path)
    assert found.keys() == golden.keys() and "validation_loss" in golden and len(golden["loss"]) == 20
    for key, values in golden.items():
        assert found[key] == pytest.approx(values, **TOLERANCE), key


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for training in TRAININGS:
        with tempfile.TemporaryDirectory() as scratch:
            text = json.dumps(losses(training, Path(scratch)), indent=1)
            (GOLDEN / f"{training}.json").write_text(text + "\n")
