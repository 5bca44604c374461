"""Sweeps of tournaments: ``python -m search.arena.tournament --multirun`` as people run it, and what it finds out."""

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from cluster.errors import raised
from cluster.watching.progress import OnProgress
from search.arena.tournament.deals import Deals
from search.arena.tournament.evaluator import DealsTask, Evaluator
from search.arena.tournament.matches import Matches
from search.arena.tournament.parts import Tournament, play_tournaments
from search.arena.tournament.result import TournamentResult
from search.arena.tournament.sweep import HEAT_MAP, behind, read_points
from search.arena.tournament.tournament import run_tournament
from search.players.random_player import RandomPlayer
from tests.search.material import of_hearts
from tests.search.toy import ToyGame
from tests.search.turns import BREAKING
from tests.selfplay.commands import here

Sweep = Callable[..., subprocess.CompletedProcess]

GRID = ("search.argmax_val.threshold=0.02,0.1", "search.argmax_val.policy_weight=0,0.5")


@pytest.fixture(scope="module")
def sweep(network: str) -> Sweep:
    """Runs the command with a small network, in this process."""

    def run(out: Path, *arguments: str) -> subprocess.CompletedProcess:
        fixed = [f"checkpoint={network}", "players=[argmax_val,hearts_rules]", "deals=2", "deals_per_task=1"]
        return here("search.arena.tournament", "--multirun", *fixed, f"out={out}", *arguments)

    return run


@pytest.fixture(scope="module")
def swept(sweep: Sweep, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("sweep") / "grid"
    done = sweep(out, *GRID)
    assert done.returncode == 0, done.stderr
    return out, done.stdout


def test_every_point_has_a_result_named_after_what_is_swept(swept: tuple[Path, str]) -> None:
    out, printed = swept
    grid = product(("0", "0.5"), ("0.02", "0.1"))
    names = [f"search.argmax_val.policy_weight={weight},search.argmax_val.threshold={low}.json" for weight, low in grid]
    assert sorted(path.name for path in out.iterdir()) == sorted([*names, HEAT_MAP])
    assert (out / HEAT_MAP).read_bytes().startswith(b"\x89PNG")
    assert printed.count("best") == 2  # a heading and a row
    points = read_points(str(out))
    assert [point.values["search.argmax_val.threshold"] for point in points] == ["0.02", "0.02", "0.1", "0.1"]
    for point in points:
        assert point.result.settings["search"]["argmax_val"]["threshold"] == float(
            point.values["search.argmax_val.threshold"]
        )
        assert f"{point.result.advantage:+.2f}" in printed


@pytest.mark.slow
def test_a_second_start_plays_nothing_and_a_wider_one_only_what_is_new(swept: tuple[Path, str], sweep: Sweep) -> None:
    out, _ = swept
    before = {path: path.stat().st_mtime_ns for path in out.glob("*.json")}
    again = sweep(out, *GRID)
    assert again.returncode == 0 and again.stdout.count("played before") == 4 and "deals/s" not in again.stderr
    wider = sweep(out, "search.argmax_val.threshold=0.02,0.1,0.3", GRID[1])
    assert wider.returncode == 0 and wider.stdout.count("played before") == 4
    assert "2 tournaments: 4 of 4 deals" in wider.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(read_points(str(out))) == 6


@pytest.mark.slow
def test_a_point_in_whose_place_another_result_lies_is_named_and_the_others_are_played(swept, sweep, tmp_path) -> None:
    other = sorted(swept[0].glob("*.json"))[0]
    (tmp_path / other.name).write_text(other.read_text().replace('"deals": 2', '"deals": 7'))
    done = sweep(tmp_path, *GRID)
    assert done.returncode == 2
    assert f"{other.name}: holds a tournament with deals=7, and this one has deals=2; remove it" in done.stderr
    assert len(list(tmp_path.glob("*.json"))) == 4 and done.stdout.count("policy_weight=") == 3
    (tmp_path / other.name).write_text("{}")
    broken = sweep(tmp_path, *GRID)
    assert broken.returncode == 2 and f"{other.name}: holds no tournament" in broken.stderr
    assert f"{other.name}: left out" in broken.stderr and broken.stdout.count("best") == 2


def test_a_file_that_lacks_a_player_is_left_out_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = run_tournament(ToyGame(), [RandomPlayer("a"), RandomPlayer("b")], 6, 1)
    for name in ("by_deal", "decisions", "seconds_per_turn"):
        record = whole.record()
        del record[name]["b"]
        (tmp_path / f"{name}.json").write_text(json.dumps(record))
    whole.write(str(tmp_path / "whole.json"))
    assert [point.result for point in read_points(str(tmp_path))] == [whole]
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["by_deal.json", "decisions.json", "seconds_per_turn.json"]
    assert all("left out" in line and "b is missing" in line for line in lines)


@pytest.mark.slow
def test_two_evaluators_find_what_one_process_finds(swept: tuple[Path, str], sweep: Sweep, tmp_path: Path) -> None:
    done = sweep(tmp_path, *GRID, "cluster=local", "cluster.evaluators=2", "cluster.num_gpus=0")
    assert done.returncode == 0, done.stderr
    paths = list(tmp_path.glob("*.json"))
    assert len(paths) == 4
    for path in paths:
        alone, shared = (json.loads((directory / path.name).read_text()) for directory in (swept[0], tmp_path))
        assert alone["by_deal"] == shared["by_deal"] and alone["columns"] == shared["columns"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("deals=0,5",), "deals=0: must be at least 1"),
        pytest.param(
            ("search.argmax_val.treshold=0.1,0.2",), "unknown key 'search.argmax_val.treshold'", marks=pytest.mark.slow
        ),
    ],
)
def test_a_bad_point_ends_in_one_line_and_code_2(sweep, arguments, message, tmp_path) -> None:
    done = sweep(tmp_path, *arguments)
    assert done.returncode == 2
    assert sum(line.startswith("error: ") for line in done.stderr.splitlines()) == 1 and message in done.stderr
    assert "Traceback" not in done.stderr


ON_RAY = ("cluster=local", "cluster.evaluators=1", "cluster.num_gpus=0")


@pytest.mark.parametrize("place", [(), pytest.param(ON_RAY, marks=pytest.mark.slow)], ids=["here", "ray"])
def test_a_point_that_fails_while_it_is_played_says_why_and_the_others_are_played(sweep, place, tmp_path) -> None:
    players = f"players=['{BREAKING}',random],[hearts_rules,random]"
    done = sweep(tmp_path / "out", players, "seed=1,2", *place)
    assert done.returncode == 1, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 2 and all(BREAKING in line and "out of luck" in line for line in errors)
    assert "in choose" in done.stderr, "the traceback names the line"
    assert len(list((tmp_path / "out").glob("*.json"))) == 2 and done.stdout.count("hearts_rules,random], seed=") == 2


@pytest.mark.slow
def test_a_cache_too_small_for_a_tournament_is_refused_before_anything_is_played(sweep: Sweep, tmp_path: Path) -> None:
    few = ("players=[argmax_val,random]", "deals=1", "deals_per_task=1")
    done = sweep(tmp_path, "checkpoint=kibitz:hearts", "engine.cache_mb=1,64", *few)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert done.returncode == 2 and len(errors) == 1 and "Traceback" not in done.stderr
    assert errors[0].startswith("error: engine.cache_mb=1: table_size=256: keys and values of 56 histories may take")
    assert len(list(tmp_path.glob("*.json"))) == 1


def test_what_is_left_of_a_tournament_that_has_failed_is_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Tournament(of_hearts(28), ("hearts_rules", "random"), "", Deals(1, 4), deals_per_task=1)
    tried, play = list[tuple[int, int]](), Evaluator.play

    def broken(self: Evaluator, task: DealsTask) -> Matches:
        tried.append((task.match, task.deals.first))
        if task.match == 0 and task.deals.first == 1:
            raise RuntimeError("broken")
        return play(self, task)

    monkeypatch.setattr(Evaluator, "play", broken)
    results = dict(play_tournaments([one, replace(one, deals=Deals(2, 4))], Evaluator().evaluate))
    assert tried == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (1, 3)]
    assert isinstance(results[0], RuntimeError) and isinstance(results[1], TournamentResult)


def result(seed: int = 1, deals: int = 9, second: str = "b", first: str = "a") -> TournamentResult:
    return run_tournament(ToyGame(), [RandomPlayer(first), RandomPlayer(second)], deals=deals, seed=seed)


def test_the_gap_between_points_is_paired_by_deal() -> None:
    best = result()
    assert best.advantage == pytest.approx(best.columns[0].comparisons[0].advantage)
    assert best.advantage_by_deal.mean() == pytest.approx(best.advantage)
    shift = np.linspace(-1, 0.5, 9)
    sign = 1 if best.lower_is_better else -1
    other = replace(best, by_deal={**best.by_deal, "a": (np.array(best.by_deal["a"]) - sign * shift).tolist()})
    gap, low, high = behind(best, other) or pytest.fail("same deals")
    expected = stats.ttest_1samp(shift, 0).confidence_interval(0.95)
    assert (gap, low, high) == pytest.approx((shift.mean(), *expected))
    assert behind(best, result(seed=2)) is None and behind(best, result(deals=8)) is None
    assert behind(best, replace(best, first=9)) is None and behind(best, replace(best, seating="pairs")) is None


def test_tournaments_share_one_queue_of_parts_of_nearly_equal_size() -> None:
    one = Tournament(of_hearts(28), ("hearts_rules", "random"), "", Deals(1, 5), deals_per_task=0)
    tasks = one.tasks(match=3)
    assert [(task.deals.first, task.deals.count, task.match) for task in tasks] == [(0, 1, 3), (1, 2, 3), (3, 2, 3)]
    two = replace(one, players=("random", "hearts_rules"), deals=Deals(1, 2))
    order: list[int] = []

    def backwards(
        tasks: Iterable[DealsTask], on_progress: OnProgress
    ) -> Iterator[tuple[DealsTask, Matches | Exception]]:
        for task, matches in Evaluator().evaluate(reversed([*tasks]), on_progress):
            order.append(task.match)
            yield task, matches

    results = {index: raised(result) for index, result in play_tournaments([one, two], backwards)}
    assert order == [1, 0, 0, 0]
    assert results[0].by_deal["hearts_rules"][:2] == results[1].by_deal["hearts_rules"]
