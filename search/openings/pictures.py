"""The picture of what first actions are worth, as a PNG file."""

import math

from search.openings.measure import suit_place
from search.openings.report import OpeningsResult, title
from search.tournament.pictures import png

_COLOURS = ("#54a24b", "#f58518", "#e45756", "#4c78a8")
"""Of the suits: in Hearts clubs, diamonds, hearts and spades."""


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
