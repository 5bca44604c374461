"""Results of a run in the terminal: the learning curve, printed and plotted, and the final tournaments."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from cluster.files import storage
from search.tournament.report import render
from search.tournament.result import TournamentResult
from search.tournament.seatings import PAIRS
from selfplay.config import TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.report.contents import ahead_text, matched
from selfplay.report.pictures import draw_curves
from selfplay.run_directory import RunDirectory

Curve = list[tuple[int, list[TournamentResult | None]]]
"""Iterations with the results of ``evaluation.curve``, in the configuration's order, None for unplayed ones."""


def learning_curve(evaluation: Evaluation, iterations: int) -> Curve:
    """Every iteration with a result."""
    curve = [(i, evaluation.curve(i)) for i in range(iterations + 1)]
    return [(i, results) for i, results in curve if any(results)]


def report(config: TrainConfig, run: RunDirectory, console: Console) -> None:
    """Print the learning curve and the final tournaments, and plot the curve to ``results/learning_curve.png``."""
    evaluation = Evaluation(config, run)
    curve = learning_curve(evaluation, config.selfplay.iterations)
    if curve:
        console.print(_curve_table(curve))
        plotted = run.result("learning_curve.png")
        storage.write_bytes_atomic(plotted, plot(curve))
        console.print(f"learning curve: {plotted}", highlight=False)
    for result in filter(None, evaluation.final()):
        console.print(render(result))


def plot(curve: Curve) -> bytes:
    """The learning curve as a PNG: points a hand ahead of each baseline, 95 % intervals as bars."""
    titles = _titles(curve)
    lines = {
        title: {i: result for i, results in curve if (result := results[k]) is not None}
        for k, title in enumerate(titles)
    }
    return draw_curves({"": lines})


def _curve_table(curve: Curve) -> Table:
    mixed = any(result and len(result.columns) > 1 for _, results in curve for result in results)
    pairs = any(result and result.seating == PAIRS for _, results in curve for result in results)
    one = "one seat (of pairs two) against the others" if pairs else "one seat against the others"
    seats = one if mixed else "each at all seats"
    table = Table(title=f"learning curve: points a hand ahead (95 % interval), {seats}")
    table.add_column("iteration", justify="right")
    for title in _titles(curve):
        table.add_column(title, justify="right")
    for iteration, results in curve:
        table.add_row(str(iteration), *(ahead_text(result) if result else "-" for result in results))
    return table


def _titles(curve: Curve) -> list[str]:
    """Titles of the curve's tournaments; empty for a tournament without results."""
    columns: Sequence[Sequence[TournamentResult | None]] = list(zip(*(results for _, results in curve), strict=True))
    return [matched(next(filter(None, column))) if any(column) else "not played" for column in columns]
