"""Pictures of tournaments."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.tournament.report import signed

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_heat_map(
    ahead: np.ndarray, rows: Sequence[str], columns: Sequence[str], axes: Sequence[str], title: str
) -> bytes:
    """A PNG of points a hand ahead (``float[rows, columns]``), each with its number; what is not a number stays blank.

    Args:
        rows: what the rows are called, from the top.
        columns: what the columns are called.
        axes: what the rows have in common, and what the columns have.
    """
    from matplotlib.figure import Figure

    long_names = 0.085 * max(0, max(map(len, rows)) - 10)  # inches that they take from the cells
    figure = Figure(figsize=(2.4 + 0.9 * len(columns) + long_names, 1.6 + 0.7 * len(rows)), layout="constrained")
    plot = figure.add_subplot()
    image = plot.imshow(ahead, cmap="viridis", aspect="auto")
    middle = (np.nanmax(ahead) + np.nanmin(ahead)) / 2
    for (row, column), value in np.ndenumerate(ahead):
        if not np.isnan(value):
            colour = "white" if value < middle else "black"
            written = signed(value) if abs(value) < 100 else f"{value:+.0f}"  # no cell is wider
            plot.text(column, row, written, ha="center", va="center", color=colour)
    plot.set_xticks(range(len(columns)), columns)
    plot.set_yticks(range(len(rows)), rows)
    plot.set_ylabel(axes[0])
    plot.set_xlabel(axes[1])
    plot.set_title(title, fontsize="medium", wrap=True)
    figure.colorbar(image, label="points a hand ahead")
    return png(figure)


def png(figure: "Figure") -> bytes:
    """A figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    return buffer.getvalue()
