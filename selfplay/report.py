"""What a run has come to: the learning curve, printed and plotted, and the last tournaments."""

import io
import math
from typing import Any

from rich.console import Console
from rich.table import Table

from cluster import storage
from search.tournament.report import interval, render, signed
from search.tournament.result import Comparison, TournamentResult, from_record
from selfplay.run_directory import RunDirectory

Curve = list[tuple[int, list[TournamentResult]]]
"""Iterations with the tournaments their network played, in order."""


def learning_curve(run: RunDirectory, iterations: int) -> Curve:
    """The tournaments of every iteration that has been evaluated."""
    paths = [(i, run.tournament(i)) for i in range(iterations + 1)]
    return [(i, _results(path)) for i, path in paths if storage.exists(path)]


def report(run: RunDirectory, iterations: int, console: Console) -> None:
    """Print the learning curve and the last tournaments, and plot the curve to ``results/learning_curve.png``."""
    curve = learning_curve(run, iterations)
    if any(results for _, results in curve):
        console.print(_curve_table(curve))
        plotted = run.result("learning_curve.png")
        storage.write_bytes_atomic(plotted, plot(curve))
        console.print(f"learning curve: {plotted}", highlight=False)
    final = run.result("tournament.json")
    for result in _results(final) if storage.exists(final) else []:
        console.print(render(result))


def plot(curve: Curve) -> bytes:
    """The learning curve as a PNG: points a hand ahead of each baseline, 95 % intervals as bars."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for k, first in enumerate(curve[-1][1]):
        compared = [(i, results[k].columns[-1].comparisons[0]) for i, results in curve if len(results) > k]
        ahead = [pair.advantage for _, pair in compared]
        half = [_half_width(pair) for _, pair in compared]
        axes.errorbar([i for i, _ in compared], ahead, yerr=half, marker="o", capsize=3, label=_against(first))
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xlabel("iteration")
    axes.set_ylabel("points a hand ahead")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()
    axes.grid(alpha=0.3)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    return buffer.getvalue()


def _curve_table(curve: Curve) -> Table:
    table = Table(title="learning curve: points a hand ahead (95 % interval), one seat against the others")
    table.add_column("iteration", justify="right")
    for result in curve[-1][1]:
        table.add_column(_against(result), justify="right")
    for iteration, results in curve:
        table.add_row(str(iteration), *(_ahead(result) for result in results))
    return table


def _ahead(result: TournamentResult) -> str:
    pair = result.columns[-1].comparisons[0]
    low, high = pair.low, pair.high
    if low is not None and high is not None and result.lower_is_better:
        low, high = -high, -low
    return f"{signed(pair.advantage)} ({interval(low, high)})"


def _half_width(pair: Comparison) -> float:
    """Of the interval; not a number where there is none, which is plotted as no bar."""
    return math.nan if pair.low is None or pair.high is None else (pair.high - pair.low) / 2


def _against(result: TournamentResult) -> str:
    return f"{result.players[0]} against {result.players[1]}"


def _results(path: str) -> list[TournamentResult]:
    records: list[dict[str, Any]] = storage.read_json(path)
    return [from_record(record) for record in records]
