"""Results of a run in the terminal: the learning curve, printed and plotted, and the final tournaments."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cluster.files import storage
from search.arena.tournament.report import ahead_text, matched, render
from search.arena.tournament.seatings import PAIRS
from selfplay.config import TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.report.pictures import Panel, draw_curves
from selfplay.run_directory import RunDirectory


def report(config: TrainConfig, run: RunDirectory, console: Console) -> None:
    """Print the learning curve and the final tournaments, and plot the curve to ``results/learning_curve.png``:
    points a hand ahead of each baseline, with 95 % intervals."""
    evaluation = Evaluation(config, run)
    curve = learning_curve(evaluation)
    if curve:
        console.print(curve_table(_title(curve), curve))
        plotted = run.result("learning_curve.png")
        storage.write_bytes_atomic(plotted, draw_curves({"": curve}))
        console.print(f"learning curve: {plotted}", highlight=False)
    for result in filter(None, evaluation.final()):
        console.print(render(result))


def learning_curve(evaluation: Evaluation) -> Panel:
    """The results of ``evaluation.curve``, in the configuration's order; without tournaments that no iteration has
    played."""
    played = evaluation.curve_iterations
    columns = zip(*(evaluation.curve(i) for i in played), strict=True)
    lines = ({i: each for i, each in zip(played, column, strict=True) if each is not None} for column in columns)
    return {matched(next(iter(line.values()))): line for line in lines if line}


def _title(curve: Panel) -> str:
    results = [result for line in curve.values() for result in line.values()]
    seats = "each at all seats"
    if any(len(result.columns) > 1 for result in results):
        pairs = " (of pairs two)" if any(result.seating == PAIRS for result in results) else ""
        seats = f"one seat{pairs} against the others"
    return f"learning curve: points a hand ahead (95 % interval), {seats}"


def curve_table(title: str, panel: Panel) -> Table:
    """A panel as rich prints it: a row for each iteration, a column for each line."""
    drawn = Table(title=title, title_justify="left")
    drawn.add_column("iteration", justify="right")
    for name in panel:
        drawn.add_column(Text(name), justify="right", overflow="fold")
    for iteration in sorted({iteration for line in panel.values() for iteration in line}):
        results = (line.get(iteration) for line in panel.values())
        drawn.add_row(str(iteration), *("-" if result is None else ahead_text(result) for result in results))
    return drawn
