"""Learning curves as PNG files."""

import math
import textwrap
from collections.abc import Mapping
from typing import Any

from search.arena.tournament.pictures import png
from search.arena.tournament.result import TournamentResult, lead

Line = Mapping[int, TournamentResult]
"""Iteration -> a tournament with its network."""
Panel = Mapping[str, Line]
"""Name of a line -> line."""
_COLUMNS, _LINE_WIDTH = 2, 72
_DASHES = ("--", ":", "-.")


def draw_curves(
    panels: Mapping[str, Panel], levels: Mapping[str, Mapping[str, TournamentResult]] | None = None
) -> bytes:
    """A PNG of points a hand ahead by iteration, 95 % intervals as bands.

    Args:
        panels: title -> panel. A line's name has the same colour in all panels.
        levels: title -> name -> a tournament of a player that does not learn, drawn as a level line.
    """
    from matplotlib.figure import Figure

    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(7 * columns, 4.5 * rows), layout="constrained")
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    places = [*figure.subplots(rows, columns, squeeze=False).flat]
    for axes, (title, panel) in zip(places, panels.items(), strict=False):
        for name, line in panel.items():
            _draw(axes, name, line, f"C{names.index(name) % 10}")
        for k, (name, result) in enumerate((levels or {}).get(title, {}).items()):
            label = textwrap.fill(name, _LINE_WIDTH)
            colour, dashes = f"C{(len(names) + k) % 10}", _DASHES[k % len(_DASHES)]
            axes.axhline(lead(result)[0], color=colour, linestyle=dashes, label=label)
        _finish(axes, title)
    for axes in places[len(panels) :]:
        axes.set_axis_off()
    return png(figure)


def _draw(axes: Any, name: str, line: Line, colour: str) -> None:
    """Draw a line through the leads, with a band where there are intervals."""
    iterations, label = sorted(line), textwrap.fill(name, _LINE_WIDTH)
    found = [[math.nan if end is None else end for end in lead(line[i])] for i in iterations]
    ahead, low, high = (list(values) for values in zip(*found, strict=True))
    axes.plot(iterations, ahead, marker="o", markersize=4, color=colour, label=label)
    axes.fill_between(iterations, low, high, color=colour, alpha=0.15, linewidth=0)


def _finish(axes: Any, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xlabel("iteration")
    axes.set_ylabel("points a hand ahead")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(textwrap.fill(title, _LINE_WIDTH), fontsize="medium")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
