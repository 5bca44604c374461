"""Deals of the initial players in every iteration: who sits where, fresh seeds, what is learned, resumed runs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from games.config import GameConfig
from games.hearts.game import HeartsGame
from games.shards import read_shard, shard_info
from selfplay import verify
from selfplay.config import InitialConfig, SelfplayConfig, TeacherConfig
from selfplay.generator import ShardReport
from selfplay.loop import _figures
from selfplay.plan import Seating, ShardPlan, num_kept, plan_shards, replayed, seats
from selfplay.report.contents import read_run
from selfplay.report.page import write_page
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import run, tiny_config
from tests.selfplay.test_resume import taught

GAME = HeartsGame()
PLAYERS = InitialConfig(["hearts_rules", "random"], keep=["hearts_rules"])
CONFIG = SelfplayConfig(
    initial=PLAYERS, initial_games=40, games_per_iteration=20, teacher_games=25, games_per_shard=10, replay_games=60
)


def plans(iteration: int, config: SelfplayConfig = CONFIG) -> list[ShardPlan]:
    return plan_shards(config, iteration, 7, cooperative=False, checkpoint_of=lambda i: f"net{i}")


# ---- plans


@pytest.mark.parametrize(("iteration", "seating"), [(1, Seating.EVERYBODY), (3, Seating.POPULATION)])
def test_a_later_iteration_has_its_own_shards_and_then_the_teachers(iteration: int, seating: Seating) -> None:
    every = plans(iteration)
    assert [plan.shard for plan in every] == list(range(5)) and {plan.iteration for plan in every} == {iteration}
    assert [plan.num_games for plan in every] == [10, 10, 10, 10, 5]
    assert [plan.seating for plan in every] == [seating] * 2 + [Seating.INITIAL] * 3
    assert [plan.of_teacher for plan in every] == [False] * 2 + [True] * 3
    assert all(plan.networks == () and plan.initial == PLAYERS for plan in every[2:])
    assert every[:2] == plans(iteration, replace(CONFIG, teacher_games=0)), "the networks' games are the same without"


def test_teachers_of_their_own_play_the_teachers_deals_alone() -> None:
    teacher = TeacherConfig(["hearts_simple"])
    every = plans(2, replace(CONFIG, teacher=teacher))
    assert [plan.initial for plan in every if plan.of_teacher] == [teacher] * 3
    assert [plan for plan in every if not plan.of_teacher] == plans(2, replace(CONFIG, teacher_games=0))
    assert plans(0, replace(CONFIG, teacher=teacher)) == plans(0)


def test_iteration_0_is_what_it_was() -> None:
    assert plans(0) == plans(0, replace(CONFIG, teacher_games=0)) and not any(plan.of_teacher for plan in plans(0))


def test_no_two_deals_are_the_same_and_seats_are_drawn_anew() -> None:
    every = [plan for iteration in range(4) for plan in plans(iteration)]
    deals, bits = (np.concatenate([each(plan) for plan in every]) for each in (ShardPlan.deal_seeds, first_bits))
    assert len(deals) == 40 + 3 * 45 == len(np.unique(deals)) == len(np.unique(bits))


def first_bits(plan: ShardPlan) -> np.ndarray:
    return plan.seat_bits(4)[:, 0]


def test_the_initial_players_sit_and_are_kept_as_in_iteration_0() -> None:
    plan = plans(2, replace(CONFIG, teacher_games=5_000, games_per_shard=5_000))[-1]
    seating, keep = seats(plan, plan.seat_bits(4))
    assert np.array_equal(keep, seating == 0) and abs(keep.mean() - 0.5) < 0.02
    assert num_kept(plan, 4) == keep.sum()


@pytest.mark.parametrize(
    ("replay_games", "seen"),
    [(0, []), (45, []), (46, [(1, 4)]), (70, [(1, 2), (1, 3), (1, 4)]), (71, [(1, 1), (1, 2), (1, 3), (1, 4)])],
)
def test_replay_counts_a_teachers_deals_of_an_iteration_and_takes_an_earlier_ones_first(
    replay_games: int, seen: list[tuple[int, int]]
) -> None:
    config = replace(CONFIG, replay_games=replay_games)
    shards = replayed(config, 2, lambda iteration: plans(iteration, config))
    assert [(plan.iteration, plan.shard) for plan in shards] == [*seen, *((2, shard) for shard in range(5))]


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


def test_a_teachers_shard_that_is_missing_or_in_anothers_place_is_found(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(shutil.copytree(finished, tmp_path / "run"))
    shards = root / "iterations/001/shards"
    shutil.copy(shards / "00003.parquet", shards / "00004.parquet")
    shutil.copy(shards / "00003.parquet", shards / "00005.parquet")
    assert verify.main([str(root)]) == 1
    lines = capsys.readouterr().out
    assert f"{shards}/00004.parquet: its shard is 3, and 4 belongs there" in lines
    assert f"{shards}/00005.parquet: belongs to nothing" in lines


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
