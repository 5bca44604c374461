"""A tournament for people to read, laid out as Tables 2 and 3 of paper 001."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from search.tournament.result import TournamentResult


def render(result: TournamentResult) -> RenderableType:
    """The result as rich prints it: points per hand, then differences with interval and p."""
    table = Table(title=title(result))
    table.add_column("points per hand", overflow="fold")
    for column in result.columns:
        table.add_column(column.name, justify="right", no_wrap=True)
    for section in sections(result):
        for row in section:
            table.add_row(*row, end_section=row is section[-1])
    return Group(table, Text(times(result)))


def sections(result: TournamentResult) -> list[list[list[str]]]:
    """Rows of the table, the name of each first, then a text for every column: the points of the entrants, then a
    section for every pair of them."""
    points = []
    for player, letter in zip(result.players, _letters(result), strict=True):
        mark = " (sees hidden cards)" if player in result.sees_hidden else ""
        points.append([f"{player} ({letter}){mark}", *(f"{column.points[player]:z.2f}" for column in result.columns)])
    return [points, *(_pair(result, k) for k in range(len(result.columns[0].comparisons)))]


def _pair(result: TournamentResult, k: int) -> list[list[str]]:
    compared = [column.comparisons[k] for column in result.columns]
    a, b = (_letters(result)[result.players.index(name)] for name in (compared[0].a, compared[0].b))
    return [
        [f"Δ = {a} - {b}", *(signed(one.delta) for one in compared)],
        ["95 % interval", *(interval(one.low, one.high) for one in compared)],
        ["Wilcoxon p", *(_probability(one.p_value) for one in compared)],
    ]


def signed(value: float) -> str:
    """With its sign and two decimals; what rounds to zero is ``+0.00``, never ``-0.00``."""
    return f"{value:+z.2f}"


def interval(low: float | None, high: float | None) -> str:
    """``low..high``, or ``-`` where there is none."""
    return "-" if low is None or high is None else f"{signed(low)}..{signed(high)}"


def _letters(result: TournamentResult) -> str:
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(result.players)]


def title(result: TournamentResult) -> str:
    """Game, size and what the points mean."""
    better = "fewer points are better" if result.lower_is_better else "more points are better"
    return f"{result.game}: {result.deals} deals, {result.matches} matches; {better}"


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def times(result: TournamentResult) -> str:
    """How long each entrant takes for a turn."""
    times = (f"{player} {1000 * seconds:.3g} ms" for player, seconds in result.seconds_per_turn.items())
    return "time per turn: " + ", ".join(times)
