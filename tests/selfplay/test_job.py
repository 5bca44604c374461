"""The loop as a Ray job, submitted as a user submits it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ray._private.worker import BaseContext

from cluster.actors.connection import connect
from cluster.config import ClusterConfig
from cluster.submit import main
from tests.selfplay.commands import ROOT, TINY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def head() -> Iterator[BaseContext]:
    with connect(ClusterConfig(num_cpus=8, num_gpus=0, object_store_mb=100, dashboard=True)) as connection:
        yield connection


def submitted(head: BaseContext, *arguments: str) -> int:
    """Exit code of ``python -m selfplay ARGUMENTS`` as a job, with the repository as its working directory."""
    where = ["--address", f"http://{head.dashboard_url}", "--working-dir", str(ROOT)]
    return main([*where, "--", sys.executable, "-m", "selfplay", *arguments])


def test_a_run_submitted_as_a_job_leaves_a_complete_run_directory(
    head: BaseContext, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = (
        *TINY,
        "cluster=job",
        "cluster.generators=1",
        "cluster.generator_memory_mb=0",
        "cluster.generator_gpus=0",
        "cluster.evaluator_gpus=0",
        "cluster.learner_gpus=0",
        "selfplay.initial_games=40",
        "selfplay.iterations=1",
        "selfplay.games_per_iteration=20",
        "selfplay.games_per_shard=20",
        "learner.max_steps=10",
        "evaluation.final=[{players: [argmax_val, random], deals: 2}]",
        f"run.dir={tmp_path}/run",
    )
    code = submitted(head, *arguments)
    assert code == 0, "".join(capfd.readouterr())  # in full, as a tuple would not be
    run = tmp_path / "run"
    assert json.loads((run / "state.json").read_text()) == {"format": 1, "iteration": 1, "stage": "finished"}
    for iteration, shards in ((0, 2), (1, 1)):
        directory = run / f"iterations/{iteration:03d}"
        assert len(list((directory / "shards").glob("*.parquet"))) == shards
        assert (directory / "checkpoint/model.safetensors").is_file()
        assert json.loads((directory / "metrics.json").read_text())["train/step"] > 0
    (final,) = json.loads((run / "results/tournament.json").read_text())
    assert (final["players"], final["deals"]) == (["argmax_val", "random"], 2)
    assert "argmax_val" in capfd.readouterr().out


def test_a_job_refuses_a_run_directory_that_would_vanish_with_it(
    head: BaseContext, capfd: pytest.CaptureFixture[str]
) -> None:
    assert submitted(head, *TINY, "cluster=job", "run.dir=runs/here") == 2
    assert "error: run.dir=runs/here is relative to the job's copy of the code" in capfd.readouterr().out
