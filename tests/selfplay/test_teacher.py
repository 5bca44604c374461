"""Runs whose shards hold more than their own games: deals of the initial players, probabilities for a gradient."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from games.config import GameConfig
from games.hearts.game import HeartsGame
from games.shards import read_shard, shard_info
from selfplay import verify
from selfplay.checks import check
from selfplay.config import InitialConfig
from selfplay.generator import ShardReport
from selfplay.loop import _figures
from selfplay.report.contents import read_run
from selfplay.report.page import write_page
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import run, tiny_config
from tests.selfplay.test_resume import by_gradient, taught

GAME = HeartsGame()


def test_figures_about_networks_are_of_their_games_alone() -> None:
    """A mean over a teacher's games too would make every network look better than it is."""
    reports = [ShardReport(10, 500, 0.25, 0.5), ShardReport(30, 0, 0.0, 0.0)]
    figures = _figures(reports, began=0.0)
    assert figures["illegal_mass"] == 0.25 and figures["batch_fill"] == 0.5


# ---- runs


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("taught") / "run"
    workers = run(taught(root))
    directory = RunDirectory(str(root))
    assert workers.trained[2].shards == tuple(
        [directory.shard(1, f"{shard:05d}.parquet") for shard in (3, 4)]
        + [directory.shard(2, f"{shard:05d}.parquet") for shard in range(5)]
    )
    return root


def test_a_teachers_shards_hold_its_players_their_branches_and_labels(finished: Path) -> None:
    for iteration in (1, 2):
        for shard, (games, by) in enumerate([*((n, "argmax_val") for n in (8, 8, 4)), (8, "rules"), (3, "rules")]):
            path = finished / f"iterations/{iteration:03d}/shards/{shard:05d}.parquet"
            rows, said = read_shard(str(path), GAME), shard_info(str(path)).provenance
            assert len(set(rows.deal_seed)) == games and rows.branches is not None and rows.labels is not None
            assert {"branches", "labels"} <= said.keys() and said["iteration"] == str(iteration)
            if by == "rules":
                assert set(rows.player) == {"hearts_rules"} and said["seating"] == "initial"
            else:
                assert all(player.startswith("argmax_val") for player in rows.player)


def test_a_run_with_a_teacher_is_verified_reported_and_has_nothing_left_to_do(finished: Path, tmp_path: Path) -> None:
    assert verify.main([str(finished)]) == 0
    workers = run(taught(finished))
    assert (workers.generated, workers.trained) == ([], [])
    found = read_run(str(finished))
    assert not found.notes and all(figures["train/branch_loss"] > 0 for figures in found.figures.values())
    assert 0 < found.figures[2]["generate/illegal_mass"] < 1
    assert "selfplay.teacher_games" in Path(write_page(str(finished), str(tmp_path / "page.html"), deals=1)).read_text()


def test_successes_of_an_iteration_are_the_networks_own(tmp_path: Path) -> None:
    config = tiny_config(str(tmp_path / "run"))
    config.game = GameConfig("crew", {"missions": "1-3"})
    initial = InitialConfig(["crew_rules"])
    config.selfplay = replace(config.selfplay, initial=initial, iterations=1, teacher_games=9)
    config.evaluation = replace(config.evaluation, curve=[], final=[])
    run(config)
    counts = [
        json.loads((tmp_path / f"run/iterations/{iteration:03d}/successes.json").read_text())["successes"]
        for iteration in (0, 1)
    ]
    assert [sum(games for games, _ in each.values()) for each in counts] == [24, 20]
    assert verify.main([str(tmp_path / "run")]) == 0


def test_a_run_goes_from_imitation_to_its_own_games(tmp_path: Path) -> None:
    config = by_gradient(tmp_path / "run", iterations=4)
    check(config)
    workers = run(config)
    for iteration in range(5):
        for path in sorted((tmp_path / f"run/iterations/{iteration:03d}/shards").glob("*.parquet")):
            shard = read_shard(path, GAME)
            assert (shard.probabilities is None) == (iteration == 0)
            if iteration > 1:
                assert set(shard.player) == {f"imitation@{iteration - 1:03d}"}
    magnets = [task.learner.policy.magnet[-len("000/checkpoint") :] for task in workers.trained]
    assert magnets == ["", "000/checkpoint", "000/checkpoint", "002/checkpoint", "002/checkpoint"]
