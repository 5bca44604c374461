"""A run whose iteration 0 is a network made before, or learns from shards that exist already."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.files import storage
from games.config import GameConfig
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many
from games.shards import Sequences, read_shard, write_shard
from learner.model.checkpoint import checkpoint_id
from selfplay.checks import check
from selfplay.config import EvaluationConfig, InitialConfig, MatchConfig, TrainConfig
from selfplay.first_network import take_over
from selfplay.report.contents import read_run
from selfplay.run_directory import RunDirectory
from selfplay.verify import main as verify
from tests.selfplay.material import run
from tests.selfplay.test_resume import plain
from tests.test_repository import build_command


@pytest.fixture
def before(finished: Path) -> RunDirectory:
    """A run that has played the games of its iteration 0 itself."""
    return RunDirectory(str(finished))


def begun_with(network: str | Path, directory: Path, **selfplay: object) -> TrainConfig:
    return plain(directory / "run", first_network=str(network), **selfplay)


def learning_from(shards: str | Path, directory: Path, **selfplay: object) -> TrainConfig:
    return plain(directory / "run", initial=InitialConfig(shards=str(shards)), **selfplay)


@pytest.mark.parametrize(
    ("begun", "name"), [pytest.param(begun_with, "checkpoint", marks=pytest.mark.slow), (learning_from, "shards")]
)
def test_a_run_takes_iteration_0_over_then_needs_it_no_more_and_takes_no_other(begun, name, before, tmp_path):
    given = shutil.copytree(f"{before.iteration(0)}/{name}", tmp_path / "given")
    first = begun(given, tmp_path, iterations=0)
    (note,) = [note for note in check(first) if "iteration 0" in note]
    assert note.startswith("iteration 0 ") and f"{given}: " in note and "initial_games" in note
    assert [task.init_from for task in run(first).trained] == [None] * (begun is learning_from)
    shutil.rmtree(given)
    config, directory = begun(given, tmp_path, iterations=1), RunDirectory(first.run.dir)
    check(config)
    workers = run(config)
    for iteration in range(2):
        assert checkpoint_id(directory.checkpoint(iteration)) == checkpoint_id(before.checkpoint(iteration))
    assert not any("/000/" in path for path in workers.generated)
    assert [task.init_from for task in workers.trained] == [directory.checkpoint(0)]
    assert directory.finished(1) and verify([directory.root]) == 0
    with pytest.raises(UserError, match=r"selfplay\.(first_network|initial)"):
        run(begun(f"{before.iteration(1)}/{name}", tmp_path, iterations=1))


# ---- a network


@pytest.mark.parametrize("staleness", [0, 1])
def test_what_only_iteration_0_would_read_stays_unused(before: RunDirectory, staleness: int, tmp_path: Path) -> None:
    more = {"labels": "hearts_rules", "replay_games": 99, "iterations": 1, "staleness": staleness}
    config = begun_with(before.checkpoint(0), tmp_path, **more)
    message = r"selfplay\.labels=hearts_rules: no network learns .* give learner\.policy\.kind=labels"
    with pytest.raises(UserError, match=message):
        check(config)
    config.initial_learner = {"policy": {"kind": "labels"}}  # as a preset with an iteration 0 of its own has
    assert "labels and branches of iteration 0" in " ".join(check(config))
    workers = run(config)
    assert not any("/000/" in path for task in workers.trained for path in task.shards)
    assert read_shard(RunDirectory(config.run.dir).shard(1, "00000.parquet"), HeartsGame()).labels is None
    assert sorted(read_run(config.run.dir).figures) == [1]


@pytest.mark.slow
def test_the_gradient_preset_goes_on_from_the_network_that_ships(tmp_path: Path) -> None:
    few = (
        *("selfplay.first_network=kibitz:skat", "selfplay.iterations=1", "selfplay.games_per_iteration=8"),
        *("learner.device=cpu", "engine.device=cpu", "evaluation.curve=[]", "evaluation.final=[]"),
    )
    config = build_command("train", "experiment=skat_strong", f"run.dir={tmp_path}/run", *few)
    assert "iteration 0 is kibitz:skat" in " ".join(check(config))
    (task,) = run(config).trained
    assert task.learner.policy.magnet == task.init_from == RunDirectory(config.run.dir).checkpoint(0)


# ---- shards


def random_shard(game_name: str, count: int, path: Path) -> None:
    game, seeds = make_game(game_name), derive_many(1, count)
    states = game.deal(seeds)
    game.playout(states, seeds)
    write_shard(path, Sequences.of_deals(game, states, seeds, "random"), game, {})


def test_their_deals_are_replayed_in_the_order_of_their_names(before: RunDirectory, tmp_path: Path) -> None:
    shards = shutil.copytree(f"{before.iteration(0)}/shards", tmp_path / "records")
    (shards / "00000.parquet").rename(shards / "last.parquet")
    first, second = run(learning_from(shards, tmp_path, replay_games=21, iterations=1)).trained
    assert [Path(path).name for path in first.shards] == ["00001.parquet", "00002.parquet", "last.parquet"]
    own = [f"{i:05d}.parquet" for i in range(3)]
    assert [Path(path).name for path in second.shards] == ["last.parquet", *own]  # 20 deals and its


def test_shards_that_cannot_be(tmp_path: Path) -> None:
    for name in ("empty", "broken"):
        (tmp_path / name).mkdir()
    random_shard("skat", 2, tmp_path / "skat/a.parquet")
    (tmp_path / "broken/a.parquet").write_bytes(b"PAR1")
    for name, says in (
        ("none", "no such directory"),
        ("empty", r"no \*.parquet shard in this directory"),
        ("skat", "a.parquet: written for game skat, but this game has hearts"),
        ("broken", "a.parquet: "),
    ):
        with pytest.raises(UserError, match=rf"selfplay\.initial\.shards={tmp_path}/{name}: .*{says}") as raised:
            check(learning_from(tmp_path / name, tmp_path))
        assert "\n" not in str(raised.value) and not (tmp_path / "run").exists()


def test_labels_may_come_with_the_shards(before: RunDirectory, tmp_path: Path) -> None:
    shards, game = Path(before.iteration(0), "shards"), HeartsGame()
    for path in shards.glob("*.parquet"):
        found = read_shard(path, game)
        write_shard(tmp_path / path.name, replace(found, labels=found.tokens), game, {"labels": "hearts_rules"})
    labels = {"policy": {"kind": "labels"}}
    config = replace(learning_from(tmp_path, tmp_path, iterations=0), initial_learner=labels)
    check(config)
    (task,) = run(config).trained
    assert task.learner.policy.kind == "labels" and task.learner.policy.weight == 1.0
    config = replace(learning_from(shards, tmp_path / "other", iterations=0), initial_learner=labels)
    with pytest.raises(UserError, match=r"learner\.policy\.kind=labels: shards .* hold no labels"):
        run(config)


def test_shards_of_the_crew_need_not_say_how_often_it_succeeded(tmp_path: Path) -> None:
    random_shard("crew", 40, tmp_path / "shards/a.parquet")
    config = learning_from(tmp_path / "shards", tmp_path, iterations=0)
    config = replace(config, game=GameConfig("crew"), evaluation=EvaluationConfig())
    check(config)
    run(config)
    assert verify([config.run.dir]) == 0 and not Path(RunDirectory(config.run.dir).successes(0)).exists()


def test_a_network_that_has_half_arrived_in_a_bucket_is_sent_again(before: RunDirectory, tmp_path, bucket) -> None:
    run, config = RunDirectory("mock://run"), begun_with(before.checkpoint(0), tmp_path, iterations=0)
    storage.write_bytes_atomic(f"{run.checkpoint(0)}/config.json", b"{}")
    storage.write_json_atomic(run.metrics(0), {})
    assert not run.trained(0)
    take_over(config, run)
    assert run.trained(0) and len(storage.list_names(run.checkpoint(0))) > 1
    assert storage.read_bytes(f"{run.checkpoint(0)}/config.json") != b"{}"


def test_the_newest_network_of_another_run_plays_nowhere_where_work_goes_on_for_long(finished: Path, tmp_path) -> None:
    """The run may go on, and the player would become another."""
    player = f"argmax_val@{finished}"
    said = rf"{player} is a run, .*; name one: argmax_val@{finished}/iterations/\d+/checkpoint"
    for config in (
        plain(tmp_path / "run", initial=InitialConfig(players=[player])),
        replace(plain(tmp_path / "run"), evaluation=EvaluationConfig(curve=[MatchConfig(["argmax_val", player], 5)])),
    ):
        with pytest.raises(UserError, match=said):
            check(config)
