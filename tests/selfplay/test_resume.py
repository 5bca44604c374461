"""Runs of every kind that are killed, or lose files, end in the same bytes as runs that were left alone."""

import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from cluster.watching.progress import OnProgress
from games.shards import shard_info
from learner.task import TrainingTask, run_task
from selfplay.config import GateConfig, TrainConfig
from selfplay.generator import ShardReport
from selfplay.plan import ShardPlan
from tests.learner.material import changed
from tests.selfplay.material import MADE, InProcess, contents, remove, run, tiny_config

SLOW = pytest.mark.slow
STEPS = {"branches": 1, "newest_branch_player": "argmax_val:threshold=0.02", "branch_steps": 1}


def plain(directory: Path | str, **selfplay: object) -> TrainConfig:
    """Trainings that are saved after every step; no tournaments."""
    config = tiny_config(str(directory))
    config.learner = replace(config.learner, checkpoint_every_steps=1, log_every_steps=1)
    config.evaluation = replace(config.evaluation, curve=[], final=[])
    return replace(config, selfplay=replace(config.selfplay, **selfplay))


def overlapping(directory: Path | str, **selfplay: object) -> TrainConfig:
    """Games of the next iteration while a network trains."""
    return plain(directory, **{"overlap": True, "iterations": 3, **selfplay})


def gated(directory: Path | str) -> TrainConfig:
    """A network that does not beat the best one before it is left behind."""
    return plain(directory, gate=GateConfig(2))


def taught(directory: Path | str, **selfplay: object) -> TrainConfig:
    """Every later iteration has eleven deals of the initial players, with branches and labels."""
    config = plain(directory, teacher_games=11, replay_games=40, branches=1, labels="hearts_rules", **selfplay)
    config.learner = changed(config.learner, branch_weight=0.5, kind="values", label_weight=0.5)
    return config


def by_gradient(directory: Path | str, **selfplay: object) -> TrainConfig:
    """Networks learn by a policy gradient, after one that has learned by imitation; magnets stay for two iterations."""
    games = {"newest_player": "imitation", "probabilities": True, "population": False, "past_share": 0.25}
    config = plain(directory, **{"iterations": 3, **games, **selfplay})
    config.learner = changed(
        config.learner, kind="gradient", outcome_positions=0, magnet_weight=0.2, magnet_iterations=2
    )
    return replace(config, initial_learner={"policy": {"kind": "played"}, "loss": {"outcome_positions": 4}})


def stepping(directory: Path | str) -> TrainConfig:
    """The newest network plays branches to a later turn."""
    config = plain(directory, **STEPS)
    config.learner = changed(config.learner, branch_weight=0.5)
    return config


KINDS: dict[str, Callable[..., TrainConfig]] = {
    "plain": plain,
    "overlap": overlapping,
    "gate": gated,
    "teacher": taught,
    "teacher and overlap": partial(taught, overlap=True),
    "gradient": by_gradient,
    "network's branches": stepping,
}


@pytest.fixture(scope="module")
def undisturbed(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Run of a kind that was left alone."""
    played = {"plain": finished}

    def of_kind(kind: str) -> Path:
        if kind not in played:
            played[kind] = tmp_path_factory.mktemp("undisturbed") / "run"
            run(KINDS[kind](played[kind]))
        return played[kind]

    return of_kind


class PowerCutError(Exception):
    """The power is gone."""


class PowerCut(InProcess):
    """Workers that are gone between two shards of iteration 2, or after the second step of its training."""

    def __init__(self, config: TrainConfig, moment: str) -> None:
        super().__init__(config)
        self._moment = moment

    def generate(self, plans: Iterable[tuple[ShardPlan, str]], on_progress: OnProgress) -> Iterator[ShardReport]:
        for plan, path in plans:
            if (self._moment, plan.iteration, plan.shard) == ("playing", 2, 1):
                raise PowerCutError
            yield from super().generate([(plan, path)], on_progress)

    def train(self, task: TrainingTask, on_progress: OnProgress) -> Mapping[str, float]:
        def after_step(metrics: Mapping[str, float]) -> None:
            on_progress(metrics)
            if self._moment == "training" and task.out.endswith("002/checkpoint") and metrics["step"] == 2:
                raise PowerCutError

        return run_task(task, after_step)


FEW = ("overlap", "teacher", "gradient")
"""Kinds that between them hold what all of them hold, but for gates and branches that networks play out."""


@pytest.mark.parametrize("kind", [kind if kind in FEW else pytest.param(kind, marks=SLOW) for kind in KINDS])
def test_a_run_killed_in_play_and_then_in_training_ends_in_the_same_bytes(
    kind: str, undisturbed: Callable[[str], Path], tmp_path: Path
) -> None:
    calm, config = undisturbed(kind), KINDS[kind](tmp_path)
    for moment in ("playing", "training"):
        with pytest.raises(PowerCutError):
            run(config, partial(PowerCut, moment=moment))
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("ThreadPool")]
    assert list(tmp_path.glob("iterations/002/checkpoint.partial/step-*"))
    assert run(config).trained[0].out.endswith("002/checkpoint")
    assert contents(tmp_path, *MADE) == contents(calm, *MADE)


@pytest.mark.parametrize(
    ("kind", "lost"),
    [
        ("plain", ["002/checkpoint", "002/metrics.json", "002/shards/00001.parquet"]),
        ("plain", ["001/metrics.json"]),  # killed between checkpoint and metrics
        ("plain", ["001/checkpoint"]),
        ("teacher", ["002/checkpoint", "002/metrics.json", "002/shards/00001.parquet", "002/shards/00004.parquet"]),
        ("overlap", ["002/checkpoint", "002/metrics.json", "003"]),  # while the second network trained
        pytest.param("overlap", ["002/metrics.json", "003/checkpoint", "003/metrics.json"], marks=SLOW),
        pytest.param("overlap", ["003/checkpoint", "003/metrics.json", "003/shards/00001.parquet"], marks=SLOW),
        pytest.param("overlap", ["001/checkpoint", "001/metrics.json", "002", "003"], marks=SLOW),
    ],
)
def test_a_run_that_lost_files_makes_these_again_and_no_others(
    kind: str, lost: list[str], undisturbed: Callable[[str], Path], tmp_path: Path
) -> None:
    calm, root = undisturbed(kind), tmp_path / "run"
    shutil.copytree(calm, root)
    remove(*(root / "iterations" / name for name in lost))
    (root / "iterations/001/shards/.00001.parquet.abc.tmp").write_bytes(b"half a shard")
    before = contents(root, MADE[0])
    workers = run(KINDS[kind](root))
    made = {str(Path(path).relative_to(root)) for path in workers.generated}
    assert made == contents(calm, MADE[0]).keys() - before.keys()
    assert contents(root, *MADE) == contents(calm, *MADE)
    assert all((root / "iterations" / name).exists() for name in lost)


@pytest.mark.parametrize("kind", ["plain", pytest.param("overlap", marks=SLOW)])
def test_a_run_made_longer_plays_what_it_would_have_played_at_once(
    kind: str, undisturbed: Callable[[str], Path], tmp_path: Path
) -> None:
    last = KINDS[kind](tmp_path).selfplay.iterations
    for iterations in (last - 1, last):
        run(KINDS[kind](tmp_path, iterations=iterations))
    assert contents(tmp_path, *MADE) == contents(undisturbed(kind), *MADE)


def test_a_run_behind_a_uri_equals_one_in_a_directory(undisturbed: Callable[[str], Path], tmp_path: Path) -> None:
    run(plain(f"file://{tmp_path}/remote"))
    assert contents(tmp_path / "remote", *MADE) == contents(undisturbed("plain"), *MADE)


@SLOW
def test_branches_are_played_out_by_the_newest_network_there_is(undisturbed: Callable[[str], Path]) -> None:
    for iteration, player in enumerate(
        ("hearts_rules", "argmax_val:threshold=0.02@000", "argmax_val:threshold=0.02@001")
    ):
        for path in (undisturbed("network's branches") / f"iterations/{iteration:03d}/shards").iterdir():
            assert f"played out by {player}" in shard_info(path).provenance["branches"]
