"""Pictures of tournaments."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.arena.tournament.report import interval, signed
from search.arena.tournament.result import Lead

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_heat_map(
    ahead: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    axes: Sequence[str],
    title: str,
    around_zero: bool = False,
) -> bytes:
    """A PNG of points a hand ahead (``float[rows, columns]``), each with its number; NaN stays blank.

    Args:
        rows: names of the rows, from the top.
        columns: names of the columns.
        axes: labels of the two axes, rows first.
        around_zero: two colours that meet in white at 0, for leads of both signs; else one scale from the least to the
            largest value.
    """
    from matplotlib.figure import Figure

    width, height = 2.4 + 0.9 * len(columns) + _inches(rows), 1.6 + 0.7 * len(rows)
    figure = Figure(figsize=(width, height), layout="constrained")
    plot = figure.add_subplot()
    low, high = np.nanmin(ahead), np.nanmax(ahead)
    most = max(-low, high)
    if around_zero:
        image = plot.imshow(ahead, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
    else:
        image = plot.imshow(ahead, cmap="viridis", aspect="auto")
    for (row, column), value in np.ndenumerate(ahead):
        if not np.isnan(value):
            dark = abs(value) > 0.6 * most if around_zero else value < (low + high) / 2
            written = signed(value) if abs(value) < 100 else f"{value:+.0f}"  # no cell is wider
            plot.text(column, row, written, ha="center", va="center", color="white" if dark else "black")
    plot.set_xticks(range(len(columns)), columns)
    plot.set_yticks(range(len(rows)), rows)
    plot.set_ylabel(axes[0])
    plot.set_xlabel(axes[1])
    plot.set_title(title, fontsize="medium", wrap=True)
    figure.colorbar(image, label="points a hand ahead")
    return png(figure)


def draw_leads(names: Sequence[str], leads: Sequence[Lead], title: str) -> bytes:
    """A PNG of leads as horizontal bars, each with its 95 % interval and its numbers.

    Args:
        names: of the bars, from the top.
        leads: one for each name.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5 + _inches(names), 1.4 + 0.4 * len(names)), layout="constrained")
    plot = figure.add_subplot()
    for row, (ahead, low, high) in enumerate(leads):
        plot.barh(row, ahead, height=0.6, color="#4c78a8" if ahead >= 0 else "#e45756")
        if low is not None and high is not None:
            plot.errorbar(ahead, row, xerr=[[ahead - low], [high - ahead]], color="black", capsize=3, linewidth=1)
        written = f"{signed(ahead)} ({interval(low, high)})"
        plot.text(1.02, row, written, transform=plot.get_yaxis_transform(), va="center", fontsize="small")
    plot.axvline(0, color="grey", linewidth=0.8)
    plot.set_yticks(range(len(names)), names)
    plot.invert_yaxis()
    plot.grid(axis="x", alpha=0.3)
    plot.set_axisbelow(True)
    plot.set_xlabel("points a hand ahead, 95 % interval")
    plot.set_title(title, fontsize="medium", wrap=True)
    return png(figure)


def _inches(names: Sequence[str]) -> float:
    """Extra width for names of more than ten characters."""
    return 0.085 * max(0, max(map(len, names)) - 10)


def png(figure: "Figure") -> bytes:
    """A figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    return buffer.getvalue()
