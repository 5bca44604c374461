"""Values of first actions: the record, the table, and the picture as a PNG file."""

import math
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from search.arena.openings.measure import OpeningValue, suit_place
from search.arena.recorded import Recorded
from search.arena.tournament.pictures import png
from search.arena.tournament.report import interval

_COLOURS = ("#54a24b", "#f58518", "#e45756", "#4c78a8")
"""Colours of the suits: in Hearts clubs, diamonds, hearts and spades."""


@dataclass(frozen=True)
class OpeningsResult(Recorded):
    """The result and its settings."""

    WHAT = "openings"

    deals: int
    seed: int
    actions: tuple[OpeningValue, ...]
    """The actions in the order of ``by_action``."""
    settings: dict[str, Any]
    """Path and id of the checkpoint, engine settings."""

    @property
    def depends_on(self) -> dict[str, Any]:
        """See ``Recorded``."""
        own = {name: getattr(self, name) for name in ("game", "game_options", "deals", "seed")}
        checkpoint, engine = self.settings["checkpoint"], self.settings["engine"]
        return {**own, "checkpoint": checkpoint["id"], "engine.precision": engine["precision"]}


def title(result: OpeningsResult) -> str:
    """Title: game and number of deals."""
    return f"first decisions in {result.game}: {result.deals} deals"


def render(result: OpeningsResult) -> RenderableType:
    """The result as rich prints it: a row for each action."""
    table = Table(title=title(result))
    table.add_column("action")
    for heading in ("deals", "points", "95 %", "variance"):
        table.add_column(heading, justify="right", no_wrap=True)
    for value in result.actions:
        variance = "-" if value.variance is None else f"{value.variance:.2f}"
        ends = interval(value.low, value.high, "z.2f")
        table.add_row(Text(value.action), str(value.deals), f"{value.mean:z.2f}", ends, variance)
    note = "points that the network, seeing all cards, expects the seat to make (minus q): mean and variance over deals"
    return Group(table, Text(note))


def charts(result: OpeningsResult) -> bytes:
    """Mean points with 95 % intervals (paper 002, Figure 9) above their variance (Figure 10), a bar for each action in
    the order of ``result``, a colour for each suit."""
    from matplotlib.figure import Figure

    actions = result.actions
    names, rows = [value.action for value in actions], range(len(actions))
    place = suit_place(names)
    suits = list(dict.fromkeys(name[place] for name in names)) if place is not None else []
    colours = [_COLOURS[suits.index(name[place]) % len(_COLOURS)] if place is not None else "C0" for name in names]
    figure = Figure(figsize=(2 + 0.22 * max(len(names), 20), 7), layout="constrained")
    means, variances = figure.subplots(2, 1)
    half = [math.nan if value.high is None else value.high - value.mean for value in actions]
    means.bar(rows, [value.mean for value in actions], color=colours, yerr=half, capsize=2, error_kw={"linewidth": 1})
    variances.bar(rows, [value.variance or 0.0 for value in actions], color=colours)
    for axes, what in ((means, "points expected (minus q)"), (variances, "variance over deals")):
        axes.set_xticks(rows, names, rotation=90, fontsize="small")
        axes.set_xlim(-1, len(names))
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
        axes.set_ylabel(what)
    figure.suptitle(title(result), fontsize="medium")
    return png(figure)
