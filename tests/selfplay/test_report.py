"""The learning curve, printed and plotted from tournaments of few and of enough deals."""

from dataclasses import replace

import pytest
from rich.console import Console

from search.arena.tournament.result import TournamentResult
from search.arena.tournament.tournament import run_tournament
from search.players.random_player import RandomPlayer
from selfplay.report.pictures import draw_curves
from selfplay.report.terminal import curve_table
from tests.search.toy import ToyGame


def tournament(deals: int) -> TournamentResult:
    return run_tournament(ToyGame(), [RandomPlayer("a"), RandomPlayer("b")], deals, seed=1)


def printed(result: TournamentResult) -> str:
    console = Console(width=140)
    with console.capture() as capture:
        console.print(curve_table("curve", {"line": {0: result}}))
    return capture.get()


def test_a_curve_point_has_an_interval_from_five_deals_on() -> None:
    assert "(-)" in printed(tournament(4)) and "(-)" not in printed(tournament(5))


def test_a_curve_point_that_rounds_to_zero_has_no_minus() -> None:
    result = tournament(6)
    last = result.columns[-1]
    nothing = replace(last.comparisons[0], delta=0.001, advantage=-0.001, low=-0.001, high=0.001)
    result = replace(result, lower_is_better=True, columns=(replace(last, comparisons=(nothing,)),))
    assert "+0.00 (+0.00..+0.00)" in printed(result)


@pytest.mark.filterwarnings("error")
def test_points_with_and_without_interval_are_plotted_together() -> None:
    assert draw_curves({"": {"line": {0: tournament(2), 1: tournament(9)}}}).startswith(b"\x89PNG")
