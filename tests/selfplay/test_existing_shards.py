"""A run whose iteration 0 learns from shards that exist already (``selfplay.initial.shards``)."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.cli import configured
from cluster.errors import UserError
from games.config import GameConfig
from games.registry import make_game
from games.rng import derive_many
from games.shards import Sequences, read_shard, write_shard
from learner.model.checkpoint import checkpoint_id
from selfplay.checks import check
from selfplay.config import EvaluationConfig, GenerateConfig, InitialConfig, TeacherConfig, TrainConfig
from selfplay.run_directory import RunDirectory
from selfplay.verify import main as verify
from tests.selfplay.material import run, tiny_config


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run that has played the games of its iteration 0 itself."""
    config = tiny_config(str(tmp_path_factory.mktemp("before") / "run"))
    run(config)
    return RunDirectory(config.run.dir)


def learning_from(shards: str | Path, directory: Path, **selfplay: object) -> TrainConfig:
    config = tiny_config(str(directory / "run"))
    return replace(config, selfplay=replace(config.selfplay, initial=InitialConfig(shards=str(shards)), **selfplay))


def test_the_networks_are_those_of_the_run_that_played_these_games(played: RunDirectory, tmp_path: Path) -> None:
    shards = Path(played.iteration(0)) / "shards"
    config = learning_from(shards, tmp_path)
    (note,) = [note for note in check(config) if "iteration 0" in note]
    assert note.startswith(f"iteration 0 learns from the shards in {shards}: ") and "initial_games" in note
    workers, directory = run(config), RunDirectory(config.run.dir)
    for iteration in range(3):
        assert checkpoint_id(directory.checkpoint(iteration)) == checkpoint_id(played.checkpoint(iteration))
    assert not any("/000/" in path for path in workers.generated)
    assert workers.trained[0].shards == tuple(str(shards / f"{i:05d}.parquet") for i in range(3))
    assert directory.finished(2) and verify([directory.root]) == 0


def test_their_deals_are_replayed_in_the_order_of_their_names(played: RunDirectory, tmp_path: Path) -> None:
    shards = shutil.copytree(Path(played.iteration(0)) / "shards", tmp_path / "records")
    (shards / "00000.parquet").rename(shards / "last.parquet")
    workers = run(learning_from(shards, tmp_path, replay_games=21, iterations=1))
    assert [Path(path).name for path in workers.trained[0].shards] == ["00001.parquet", "00002.parquet", "last.parquet"]
    own = [f"{i:05d}.parquet" for i in range(3)]
    assert [Path(path).name for path in workers.trained[1].shards] == ["last.parquet", *own]  # 20 deals and its


def test_a_run_that_has_learned_from_them_no_longer_needs_them(played: RunDirectory, tmp_path: Path) -> None:
    shards = shutil.copytree(Path(played.iteration(0)) / "shards", tmp_path / "records")
    config = learning_from(shards, tmp_path)
    run(replace(config, selfplay=replace(config.selfplay, iterations=0)))
    shutil.rmtree(shards)
    check(config)
    run(config)
    directory = RunDirectory(config.run.dir)
    assert directory.finished(2) and verify([directory.root]) == 0


def test_other_shards_on_resume_are_refused(played: RunDirectory, tmp_path: Path) -> None:
    run(learning_from(f"{played.iteration(0)}/shards", tmp_path, iterations=0))
    with pytest.raises(UserError, match=r"selfplay\.initial"):
        run(learning_from(f"{played.iteration(1)}/shards", tmp_path))


def test_shards_that_cannot_be(tmp_path: Path) -> None:
    empty, skat, broken = tmp_path / "empty", tmp_path / "skat", tmp_path / "broken"
    for directory in (empty, skat, broken):
        directory.mkdir()
    game, seeds = make_game("skat"), derive_many(1, 2)
    states = game.deal(seeds)
    game.playout(states, seeds)
    write_shard(skat / "a.parquet", Sequences.of_deals(game, states, seeds, "random"), game, {})
    (broken / "a.parquet").write_bytes(b"PAR1")
    for directory, says in (
        (tmp_path / "none", "no such directory"),
        (empty, r"no \*.parquet shard in this directory"),
        (skat, "a.parquet: written for game skat, but this game has hearts"),
        (broken, "a.parquet: "),
    ):
        with pytest.raises(UserError, match=rf"selfplay\.initial\.shards={directory}: .*{says}") as raised:
            check(learning_from(directory, tmp_path))
        assert "\n" not in str(raised.value) and not (tmp_path / "run").exists()


def test_a_teacher_and_shards_alone_play_their_games() -> None:
    with pytest.raises(ValueError, match=r"selfplay\.teacher\.shards=x: .*iteration 0's alone"):
        TeacherConfig(shards="x")
    with pytest.raises(ValueError, match=r"initial\.shards=x: "):
        GenerateConfig(initial=InitialConfig(shards="x"))


def test_the_preset_for_records_wants_a_directory() -> None:
    preset = "experiment=skat_policies_records", "run.dir=x"
    named = configured("train", TrainConfig, [*preset, "selfplay.initial.shards=DIR"])
    assert named.selfplay.initial.shards == "DIR" and named.model.kind == "skat_policies"
    with pytest.raises(UserError, match=r"selfplay\.initial\.players=\{\}: .*shards=DIR"):
        configured("train", TrainConfig, preset)


def test_labels_may_come_with_the_shards(played: RunDirectory, tmp_path: Path) -> None:
    shards, labelled = Path(played.iteration(0)) / "shards", tmp_path / "labelled"
    game = make_game("hearts")
    for path in shards.glob("*.parquet"):
        found = read_shard(path, game)
        write_shard(labelled / path.name, replace(found, labels=found.tokens), game, {"labels": "hearts_rules"})
    config = replace(learning_from(labelled, tmp_path, iterations=0), initial_learner={"policy": {"kind": "labels"}})
    check(config)
    (task,) = run(config).trained
    assert task.learner.policy.kind == "labels" and task.learner.policy.weight == 1.0
    with pytest.raises(UserError, match=r"learner\.policy\.kind=labels: shards .* hold no labels"):
        run(replace(config, run=replace(config.run, dir=f"{tmp_path}/other"), selfplay=replace(
            config.selfplay, initial=InitialConfig(shards=str(shards)))))  # fmt: skip


def test_shards_of_the_crew_need_not_say_how_often_it_succeeded(tmp_path: Path) -> None:
    game, seeds = make_game("crew"), derive_many(1, 40)
    states = game.deal(seeds)
    game.playout(states, seeds)
    write_shard(tmp_path / "shards/a.parquet", Sequences.of_deals(game, states, seeds, "random"), game, {})
    config = learning_from(tmp_path / "shards", tmp_path, iterations=0)
    config = replace(config, game=GameConfig("crew"), evaluation=EvaluationConfig())
    check(config)
    run(config)
    assert verify([config.run.dir]) == 0 and not Path(RunDirectory(config.run.dir).successes(0)).exists()
