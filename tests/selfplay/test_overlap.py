"""Games of the next iteration while a network trains: planned, not raced, and ended in order."""

import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.watching.progress import OnProgress
from games.shards import shard_info
from learner.task import TrainingTask
from selfplay.config import GateConfig, TrainConfig
from selfplay.generator import ShardReport
from selfplay.overlap import StoppedError, at_once
from selfplay.plan import ShardPlan, known_networks
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import InProcess, run, tiny_config
from tests.selfplay.test_gate import decide
from tests.selfplay.test_loop import contents


def overlapping(root: Path, iterations: int = 3, gate_deals: int = 0) -> TrainConfig:
    config = tiny_config(str(root))
    selfplay = replace(config.selfplay, overlap=True, iterations=iterations, gate=GateConfig(gate_deals))
    return replace(config, selfplay=selfplay, evaluation=replace(config.evaluation, curve=[], final=[]))


class Together(InProcess):
    """Workers whose training waits for the first shard of the next iteration, and so needs both at work at once."""

    def __init__(self, config: TrainConfig) -> None:
        super().__init__(config)
        self._last = config.selfplay.iterations
        self._played = {iteration: threading.Event() for iteration in range(self._last + 1)}

    def generate(self, plans: Iterable[tuple[ShardPlan, str]], on_progress: OnProgress) -> Iterator[ShardReport]:
        for plan, path in plans:
            yield from super().generate([(plan, path)], on_progress)
            self._played[plan.iteration].set()

    def train(self, task: TrainingTask, on_progress: OnProgress) -> Mapping[str, float]:
        iteration = int(Path(task.out).parent.name)
        if 0 < iteration < self._last:
            assert self._played[iteration + 1].wait(60), "no game of the next iteration was played meanwhile"
        return super().train(task, on_progress)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("overlap") / "run"
    workers = run(overlapping(root), Together)
    directory = RunDirectory(str(root))
    assert [task.init_from for task in workers.trained] == [None, *(directory.checkpoint(i) for i in range(3))]
    return root


def networks(root: Path, iteration: int) -> list[str]:
    """Who plays, as every shard of an iteration says."""
    paths = sorted((root / f"iterations/{iteration:03d}/shards").glob("*.parquet"))
    (said,) = {shard_info(path).provenance["checkpoints"] for path in paths}
    return [name.split(":")[0] for name in said.split()]


def assert_equal_runs(ours: Path, theirs: Path) -> None:
    for pattern in ("iterations/*/shards/*.parquet", "iterations/*/checkpoint/model.safetensors"):
        assert contents(ours, pattern) == contents(theirs, pattern)


def test_an_iteration_plays_with_what_is_finished_when_the_one_before_begins_to_train(finished: Path) -> None:
    assert [known_networks(iteration, overlap=True) for iteration in range(5)] == [0, 1, 1, 2, 3]
    assert [known_networks(iteration, overlap=False) for iteration in range(5)] == [0, 1, 2, 3, 4]
    assert [networks(finished, i) for i in (0, 1, 2, 3)] == [[], ["000"], ["000"], ["000", "001"]]


@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_a_gate_counts_from_the_iteration_on_that_is_planned_after_it(tmp_path: Path, advantage: float) -> None:
    run(overlapping(tmp_path, iterations=1, gate_deals=2))
    decide(tmp_path / "iterations/001/gate.json", advantage)
    config = overlapping(tmp_path, iterations=3, gate_deals=2)
    starts = [Path(task.init_from or "").parent.name for task in run(config, Together).trained]
    assert starts[0] == ("001" if advantage > 0 else "000"), "the gate of 1 is known when 2 begins to train"
    assert networks(tmp_path, 2) == ["000"], "the gate of 1 was not known when 2 was planned"
    assert networks(tmp_path, 3) == (["000", "001"] if advantage > 0 else ["000"])


class FailedError(Exception):
    pass


class FailingToTrain(Together):
    """Workers whose second network fails while the third iteration's games are played."""

    def train(self, task: TrainingTask, on_progress: OnProgress) -> Mapping[str, float]:
        if task.out.endswith("002/checkpoint"):
            assert self._played[3].wait(60)
            raise FailedError
        return super().train(task, on_progress)


class Interrupted(Together):
    """Workers interrupted between two shards of the third iteration, while the second network trains."""

    def generate(self, plans: Iterable[tuple[ShardPlan, str]], on_progress: OnProgress) -> Iterator[ShardReport]:
        for plan, path in plans:
            if (plan.iteration, plan.shard) == (3, 1):
                raise KeyboardInterrupt
            yield from super().generate([(plan, path)], on_progress)

    def train(self, task: TrainingTask, on_progress: OnProgress) -> Mapping[str, float]:
        if task.out.endswith("002/checkpoint"):
            while True:
                threading.Event().wait(0.01)
                on_progress({})
        return super().train(task, on_progress)


@pytest.mark.parametrize(("kind", "error"), [(FailingToTrain, FailedError), (Interrupted, KeyboardInterrupt)])
def test_what_ends_one_stage_ends_both_and_the_same_command_goes_on(
    kind: type[InProcess], error: type[BaseException], finished: Path, tmp_path: Path
) -> None:
    config = overlapping(tmp_path / "run")
    with pytest.raises(error):
        run(config, kind)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ThreadPool")]
    shards = len(list((tmp_path / "run/iterations/003/shards").glob("*.parquet")))
    assert shards >= 1 and not (tmp_path / "run/iterations/002/checkpoint").exists()
    assert len(run(config).generated) == 3 - shards
    assert_equal_runs(tmp_path / "run", finished)


@pytest.mark.parametrize(
    "lost",
    [
        ["002/checkpoint", "002/metrics.json", "003"],  # killed while the second network trained
        ["002/metrics.json", "003/checkpoint", "003/metrics.json", "003/shards/00001.parquet"],  # just after it
        ["003/checkpoint", "003/metrics.json", "003/shards/00001.parquet"],  # it was done, the games were not
        ["001/checkpoint", "001/metrics.json", "002", "003"],
    ],
)
def test_a_run_killed_anywhere_ends_in_the_same_bytes(finished: Path, tmp_path: Path, lost: list[str]) -> None:
    root = tmp_path / "resumed"
    shutil.copytree(finished, root)
    for name in lost:
        path = root / "iterations" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    run(overlapping(root))
    assert_equal_runs(root, finished)


def test_a_longer_run_plays_what_it_would_have_played_at_once(finished: Path, tmp_path: Path) -> None:
    run(overlapping(tmp_path, iterations=2))
    run(overlapping(tmp_path, iterations=3))
    assert_equal_runs(tmp_path, finished)


def test_the_first_error_is_raised_and_the_other_side_told_to_stop() -> None:
    def until_stopped() -> None:
        assert stop.wait(60)
        raise StoppedError

    def fail() -> None:
        raise FailedError

    for aside, here in ((fail, until_stopped), (until_stopped, fail)):
        stop = threading.Event()
        with pytest.raises(FailedError):
            at_once(aside, here, stop)
    assert at_once(lambda: 1, lambda: "a", threading.Event()) == (1, "a")
