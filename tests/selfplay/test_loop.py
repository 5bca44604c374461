"""The loop over a run directory, with the plain workers in this process."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.metrics import MetricsLogger
from selfplay.config import TrainConfig
from selfplay.loop import Loop
from selfplay.report import learning_curve
from selfplay.run_directory import RunDirectory, first_difference
from tests.selfplay.material import InProcess, tiny_config


def run(config: TrainConfig) -> InProcess:
    directory = RunDirectory(config.run.dir)
    directory.check(config)
    directory.begin(config)
    workers = InProcess(config)
    with MetricsLogger(directory.root, config.game.name) as metrics:
        Loop(config, directory, workers, metrics).run()
    return workers


def contents(root: Path, pattern: str) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.glob(pattern)) if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run") / "finished"
    run(tiny_config(str(root)))
    return root


def test_a_run_leaves_shards_checkpoints_metrics_and_tournaments_of_every_iteration(finished: Path) -> None:
    for iteration, shards in ((0, 3), (1, 3), (2, 3)):
        directory = finished / "iterations" / f"{iteration:03d}"
        assert len(list((directory / "shards").glob("*.parquet"))) == shards
        assert (directory / "checkpoint" / "model.safetensors").is_file()
        assert json.loads((directory / "metrics.json").read_text())["train/step"] > 0
        (record,) = json.loads((directory / "tournament.json").read_text())
        assert record["players"] == ["argmax_val", "random"]
    assert json.loads((finished / "results" / "tournament.json").read_text())[0]["deals"] == 2
    assert json.loads((finished / "state.json").read_text()) == {"iteration": 2, "stage": "finished"}
    assert RunDirectory(str(finished)).finished()


def test_what_is_measured_goes_to_metrics_jsonl(finished: Path) -> None:
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    seen = {name for line in lines for name in line["values"]}
    wanted = {
        "iteration",
        "games_total",
        "games_per_second",
        "illegal_mass",
        "loss",
        "points_ahead/random",
        "evaluator_fill",
    }
    assert wanted <= seen


def test_the_learning_curve_has_a_point_for_every_iteration(finished: Path) -> None:
    curve = learning_curve(RunDirectory(str(finished)), iterations=2)
    assert [iteration for iteration, _ in curve] == [0, 1, 2]
    assert all(results[0].column("1A/3B").matches == 3 * 4 for _, results in curve)


def test_each_iteration_starts_from_the_weights_of_the_one_before(tmp_path: Path) -> None:
    config = tiny_config(str(tmp_path / "run"))
    workers = run(config)
    starts = [task.init_from for task in workers.trained]
    directory = RunDirectory(config.run.dir)
    assert starts == [None, directory.checkpoint(0), directory.checkpoint(1)]


def test_a_finished_run_has_nothing_left_to_do(finished: Path) -> None:
    before = contents(finished, "iterations/**/*")
    workers = run(tiny_config(str(finished)))
    assert (workers.generated, workers.trained) == ([], [])
    assert contents(finished, "iterations/**/*") == before


def test_a_resumed_run_ends_in_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    root = tmp_path / "resumed"
    shutil.copytree(finished, root)
    shutil.rmtree(root / "iterations" / "002" / "checkpoint")
    (root / "iterations" / "002" / "shards" / "00001.parquet").unlink()
    (root / "iterations" / "002" / "metrics.json").unlink()
    (root / "iterations" / "002" / "tournament.json").unlink()
    (root / "iterations" / "002" / "shards" / ".00001.parquet.abc.tmp").write_bytes(b"half a shard")
    config = tiny_config(str(root))
    workers = run(config)
    assert workers.generated == [RunDirectory(config.run.dir).shard(2, "00001.parquet")]
    for pattern in ("iterations/*/shards/*.parquet", "iterations/*/checkpoint/model.safetensors"):
        assert contents(root, pattern) == contents(finished, pattern)


def test_a_run_killed_between_checkpoint_and_metrics_writes_the_metrics(finished: Path, tmp_path: Path) -> None:
    root = tmp_path / "resumed"
    shutil.copytree(finished, root)
    metrics = root / "iterations" / "001" / "metrics.json"
    before = json.loads(metrics.read_text())
    metrics.unlink()
    run(tiny_config(str(root)))
    assert json.loads(metrics.read_text())["train/step"] == before["train/step"]


def test_a_uri_works_as_a_run_directory(finished: Path, tmp_path: Path) -> None:
    config = tiny_config(f"file://{tmp_path}/remote")
    config = replace(config, selfplay=replace(config.selfplay, iterations=1))
    run(config)
    pattern = "iterations/001/shards/*.parquet"
    assert contents(tmp_path / "remote", pattern) == contents(finished, pattern)


def test_other_settings_are_refused_and_named(finished: Path) -> None:
    config = tiny_config(str(finished))
    other = replace(config, learner=replace(config.learner, learning_rate=0.5))
    with pytest.raises(UserError, match=r"learner\.learning_rate=0\.001.*0\.5"):
        RunDirectory(str(finished)).check(other)


def test_what_the_run_does_not_learn_from_may_change() -> None:
    mine = {"cluster": {"generators": 2}, "evaluation": {"final": []}, "run": {"dir": "a", "seed": 1}}
    theirs = {"cluster": {"generators": 9}, "evaluation": {"final": [1]}, "run": {"dir": "b", "seed": 1}}
    assert first_difference(mine, theirs) is None
    assert first_difference(mine, {**theirs, "run": {"dir": "a", "seed": 2}}) == ("run.seed", 1, 2)
    assert first_difference(mine, {**theirs, "model": {"n_layer": 2}}) == ("model", None, {"n_layer": 2})
