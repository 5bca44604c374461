"""A run that begins with a network made before, and curves of every n-th iteration."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.errors import UserError
from games.hearts.game import HeartsGame
from games.shards import read_shard
from learner.model.checkpoint import checkpoint_id
from selfplay.checks import check
from selfplay.config import EvaluationConfig, TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.report.contents import read_run
from selfplay.report.terminal import learning_curve
from selfplay.run_directory import RunDirectory
from selfplay.verify import main as verify
from tests.selfplay.material import run, tiny_config
from tests.test_repository import build_command


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A network that a run has made."""
    config = tiny_config(str(tmp_path_factory.mktemp("before") / "run"))
    config.selfplay, config.evaluation = replace(config.selfplay, iterations=0), EvaluationConfig()
    run(config)
    return RunDirectory(config.run.dir).checkpoint(0)


def begun_with(network: str, directory: Path, **selfplay: object) -> TrainConfig:
    config = tiny_config(str(directory / "run"))
    return replace(config, selfplay=replace(config.selfplay, first_network=network, **selfplay))


def test_the_network_is_iteration_0_and_iteration_1_goes_on_from_it(network: str, tmp_path: Path) -> None:
    config = begun_with(network, tmp_path, replay_games=10_000)
    (note,) = [note for note in check(config) if "iteration 0" in note]
    assert note.startswith(f"iteration 0 is {network}: ") and "initial_games" in note
    workers, directory = run(config), RunDirectory(config.run.dir)
    assert checkpoint_id(directory.checkpoint(0)) == checkpoint_id(network)
    assert [task.init_from for task in workers.trained] == [directory.checkpoint(0), directory.checkpoint(1)]
    assert not any("/000/" in path for path in workers.generated)
    assert not any("/000/" in path for task in workers.trained for path in task.shards)
    assert directory.finished(2) and verify([directory.root]) == 0
    assert sorted(read_run(directory.root).curve) == [0, 1, 2]


def test_a_run_that_has_taken_it_over_no_longer_needs_it(network: str, tmp_path: Path) -> None:
    copied = shutil.copytree(network, tmp_path / "net")
    config = begun_with(str(copied), tmp_path)
    run(replace(config, selfplay=replace(config.selfplay, iterations=0)))
    shutil.rmtree(copied)
    check(config)
    run(config)
    assert RunDirectory(config.run.dir).finished(2)


def test_another_network_on_resume_is_refused(network: str, tmp_path: Path) -> None:
    run(begun_with(network, tmp_path, iterations=0))
    with pytest.raises(UserError, match=r"selfplay\.first_network"):
        run(tiny_config(str(tmp_path / "run")))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kibitz:heart", "kibitz:heart: no such network comes with Kibitz; there is .*hearts"),
        ("kibitz:skat", "kibitz:skat/config.json: game is 'skat', the game in use has 'hearts'"),
        ("kibitz:hearts", "kibitz:hearts: has n_layer=[0-9]+, but model.n_layer=1 is asked for"),
        ("kibitz:alphahearts", "model_type"),
        ("nowhere", "nowhere: no such directory"),
    ],
)
def test_a_network_that_cannot_be(name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        check(begun_with(name, tmp_path))
    assert not (tmp_path / "run").exists()


def test_what_only_iteration_0_would_read_stays_unused(network: str, tmp_path: Path) -> None:
    config = begun_with(network, tmp_path, labels="hearts_rules")
    message = r"selfplay\.labels=hearts_rules: no network learns .* give learner\.policy\.kind=labels"
    with pytest.raises(UserError, match=message):
        check(config)
    labels = {"policy": {"kind": "labels"}}  # as a preset with an iteration 0 of its own has
    config = replace(config, initial_learner=labels)
    assert "labels and branches of iteration 0" in " ".join(check(config))
    run(config)
    assert read_shard(RunDirectory(config.run.dir).shard(1, "00000.parquet"), HeartsGame()).labels is None


def test_curves_of_every_nth_iteration_and_the_last(tmp_path: Path) -> None:
    config = tiny_config(str(tmp_path / "run"))
    config.selfplay, config.evaluation.curve_every = replace(config.selfplay, iterations=3), 2
    workers, directory = run(config), RunDirectory(config.run.dir)
    assert all(Path(directory.tournament(i)).is_file() == (i != 1) for i in range(4))
    evaluation = Evaluation(config, directory)
    (line,) = learning_curve(evaluation).values()
    assert evaluation.complete() and sorted(line) == [0, 2, 3]
    assert json.loads(Path(f"{directory.root}/state.json").read_text())["stage"] == "finished"
    with pytest.raises(ValueError, match=r"evaluation\.curve_every=0"):
        EvaluationConfig(curve_every=0)
    config.evaluation.curve_every = 1  # may change: what is missing is played
    assert not Evaluation(config, directory).complete()
    assert run(config).evaluated and workers.trained and Evaluation(config, directory).complete()


def test_the_gradient_preset_goes_on_from_the_network_that_ships(tmp_path: Path) -> None:
    few = (
        "selfplay.first_network=kibitz:skat",
        "selfplay.iterations=1",
        "selfplay.games_per_iteration=8",
        "learner.device=cpu",
        "engine.device=cpu",
    )
    none = "evaluation.curve=[]", "evaluation.final=[]"
    config = build_command("train", "experiment=skat_strong", f"run.dir={tmp_path}/run", *few, *none)
    assert "iteration 0 is kibitz:skat" in " ".join(check(config))
    (task,) = run(config).trained
    assert task.learner.policy.magnet == task.init_from == RunDirectory(config.run.dir).checkpoint(0)
