"""Runs of every kind: killed, or with lost files, they end in the same bytes as ones left alone; what they hold."""

import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cluster.watching.progress import OnProgress
from games.hearts.game import HeartsGame
from games.shards import read_shard, shard_info
from learner.task import TrainingTask, run_task
from selfplay.checks import check
from selfplay.config import GateConfig, TrainConfig
from selfplay.generator import ShardReport
from selfplay.plan import ShardPlan
from selfplay.report.contents import read_run
from selfplay.report.page import write_page
from selfplay.verify import main as verify
from tests.selfplay.material import MADE, InProcess, contents, over, remove, run, tiny_config

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
    return plain(directory, **{"staleness": 1, "iterations": 3, **selfplay})


def gated(directory: Path | str) -> TrainConfig:
    """A network that does not beat the best one before it is left behind."""
    return plain(directory, gate=GateConfig(2))


def with_targets(directory: Path | str, **selfplay: object) -> TrainConfig:
    """Deals have branches and labels, and are learned from again."""
    config = plain(directory, replay_games=40, branches=1, labels="hearts_rules", **selfplay)
    return over(config, "learner.loss.branch_weight=0.5; learner.policy.kind=values; learner.policy.label_weight=0.5")


def by_gradient(directory: Path | str, **selfplay: object) -> TrainConfig:
    """Networks learn by a policy gradient, after one that has learned by imitation; magnets stay for two iterations."""
    games = {"newest_player": "imitation", "probabilities": True, "population": False}
    config = plain(directory, **{"iterations": 3, **games, **selfplay})
    config.initial_learner = {"policy": {"kind": "played"}, "loss": {"outcome_positions": 4}}
    policy = "learner.policy={kind: gradient, magnet_weight: 0.2, magnet_iterations: 2}"
    return over(config, f"learner.loss.outcome_positions=0; {policy}")


def stepping(directory: Path | str) -> TrainConfig:
    """The newest network plays branches to a later turn."""
    return over(plain(directory, **STEPS), "learner.loss.branch_weight=0.5")


KINDS: dict[str, Callable[..., TrainConfig]] = {
    "plain": plain,
    "overlap": overlapping,
    "gate": gated,
    "targets": with_targets,
    "targets and overlap": partial(with_targets, staleness=1),
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


def slow_but(kinds: Iterable[str], fast: str) -> list[Any]:
    """Parameters: all kinds, of which one is in the fast suite."""
    return [kind if kind == fast else pytest.param(kind, marks=SLOW) for kind in kinds]


@pytest.mark.parametrize("kind", slow_but(KINDS, "targets and overlap"))
def test_a_run_killed_in_play_and_then_in_training_ends_in_the_same_bytes(kind, undisturbed, tmp_path) -> None:
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
        ("targets and overlap", ["001/checkpoint", "001/metrics.json", "002"]),  # while the first network trained
        pytest.param(
            "targets",
            ["002/checkpoint", "002/metrics.json", "002/shards/00001.parquet", "001/shards/00002.parquet"],
            marks=SLOW,
        ),
        pytest.param("overlap", ["002/checkpoint", "002/metrics.json", "003"], marks=SLOW),
        pytest.param("overlap", ["002/metrics.json", "003/checkpoint", "003/metrics.json"], marks=SLOW),
        pytest.param("overlap", ["003/checkpoint", "003/metrics.json", "003/shards/00001.parquet"], marks=SLOW),
        pytest.param("overlap", ["001/checkpoint", "001/metrics.json", "002", "003"], marks=SLOW),
    ],
)
def test_a_run_that_lost_files_makes_these_again_and_no_others(kind, lost, undisturbed, tmp_path) -> None:
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


@SLOW
@pytest.mark.parametrize("kind", ["plain", "overlap"])
def test_a_run_made_longer_plays_what_it_would_have_played_at_once(kind, undisturbed, tmp_path) -> None:
    last = KINDS[kind](tmp_path).selfplay.iterations
    for iterations in (last - 1, last):
        run(KINDS[kind](tmp_path, iterations=iterations))
    assert contents(tmp_path, *MADE) == contents(undisturbed(kind), *MADE)


def test_a_run_behind_a_uri_equals_one_in_a_directory(finished: Path, tmp_path: Path) -> None:
    run(plain(f"file://{tmp_path}/remote", iterations=0))
    assert contents(tmp_path / "remote", *MADE) == contents(finished, *(f"iterations/000/{name[13:]}" for name in MADE))


# ---- what these runs hold


def test_a_run_whose_shards_hold_branches_and_labels_is_verified_reported_and_has_nothing_left_to_do(
    undisturbed, tmp_path
) -> None:
    root = str(undisturbed("targets and overlap"))
    for path in Path(root).glob("iterations/00[12]/shards/*.parquet"):
        assert {"branches", "labels"} <= shard_info(path).provenance.keys()
    assert verify([root]) == 0
    workers = run(KINDS["targets and overlap"](root))
    assert (workers.generated, workers.trained) == ([], [])
    found = read_run(root)
    assert not found.notes and all(figures["train/branch_loss"] > 0 for figures in found.figures.values())
    assert 0 < found.figures[2]["generate/illegal_mass"] < 1
    assert "selfplay.replay_games" in Path(write_page(root, str(tmp_path / "page.html"), deals=1)).read_text()


@pytest.mark.parametrize("iterations", [1, pytest.param(4, marks=SLOW)])
def test_a_run_goes_from_imitation_to_its_own_games(iterations: int, tmp_path: Path) -> None:
    config = by_gradient(tmp_path, iterations=iterations)
    check(config)
    workers = run(config)
    for iteration in range(iterations + 1):
        for path in sorted((tmp_path / f"iterations/{iteration:03d}/shards").glob("*.parquet")):
            shard = read_shard(path, HeartsGame())
            assert (shard.probabilities is None) == (iteration == 0)
            if iteration:
                assert set(shard.player) == {f"imitation@{iteration - 1:03d}"}
    magnets = [task.learner.policy.magnet[-len("000/checkpoint") :] for task in workers.trained]
    every = ["", "000/checkpoint", "000/checkpoint", "002/checkpoint", "002/checkpoint"]
    assert magnets == every[: iterations + 1]
