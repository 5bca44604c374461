"""The charts of a page, as plotly figures: each shows one run or compares several.

The x axis counts iterations, for losses the optimiser steps of the whole run.
"""

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from search.arena.tournament.report import matched
from search.arena.tournament.result import lead
from selfplay.report.contents import STAGES, Run, seconds_by_stage

Runs = Mapping[str, Run]
"""Label -> run; several runs have their labels in the legend."""

COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#b279a2", "#9d755d", "#72b7b2", "#d6a100")
"""Readable on white and on black."""
_DASHES = ("solid", "dash", "dot", "dashdot")
_TICKS = {"log": "~s", "tiny": ".0e"}
"""Logarithmic kinds of the y axis -> their number format; other kinds are linear."""
_MOST_POINTS = 400
_LOSSES = ("loss", "observation_loss", "outcome_loss", "branch_loss", "entropy", "magnet_kl", "clipped")
_RATES = {
    "decisions_per_second": "self-play, decisions",
    "evaluator_decisions_per_second": "tournaments, decisions",
    "tokens_per_second": "training, tokens",
    "states_per_second": "training of Q-networks, states",
}
_IDLE = {"idle/gpu": "GPUs", "idle/generators": "generators", "idle/learner": "learner"}
_CAPTIONS = {
    "curve": "Points a hand ahead of each baseline, one seat (of pairs two) against the others, in a cooperative game "
    "each at all seats; bars are 95 % intervals over deals.",
    "losses": "Cross-entropies by optimiser step of the whole run; 'loss' is the weighted sum that is trained on. With "
    "a policy gradient also the policy's entropy and its divergence from the magnet, in nats, and the share of actions "
    "beyond the clip.",
    "illegal": "Probability that the network which plays gives to illegal actions, mean over self-play.",
    "rates": "All actors together, means over each stage; of several tournaments the last.",
    "idle": "Part of the time since the network before in which actors, or the GPUs of the cluster, had nothing to do.",
    "time": "Wall time by stage; time between commands is left out.",
}


@dataclass(frozen=True)
class Chart:
    """A figure and its texts."""

    key: str
    """Its id on the page."""
    title: str
    caption: str
    json: str
    """For plotly's ``newPlot``; holds no ``<``, so that it can stand inside a script element."""


def charts(runs: Runs) -> list[Chart]:
    """All charts with data."""
    made = [
        _chart("curve", "Learning curve", _CAPTIONS["curve"], "iteration", "points a hand ahead", _curves(runs)),
        _chart("losses", "Losses", _CAPTIONS["losses"], "step", "nats", _losses(runs)),
        _chart("illegal", "Illegal tokens", _CAPTIONS["illegal"], "iteration", "probability", _illegal(runs), "tiny"),
        _chart("rates", "Throughput", _CAPTIONS["rates"], "iteration", "a second", _rates(runs), "log"),
        _chart("idle", "Idle", _CAPTIONS["idle"], "iteration", "share of the time", _idle(runs)),
        _chart("time", "Where the time went", _CAPTIONS["time"], _bars_of(runs), "minutes", _times(runs), "stacked"),
    ]
    return [chart for chart in made if chart]


def _chart(
    key: str, title: str, caption: str, x: str, y: str, traces: Iterator[go.Scatter | go.Bar], scale: str = "linear"
) -> Chart | None:
    drawn = list(traces)
    if not drawn:
        return None
    figure = go.Figure(drawn)
    figure.update_layout(
        template="none",
        colorway=COLOURS,
        barmode="stack" if scale == "stacked" else "group",
        hovermode="x unified",
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        xaxis={
            "title": {"text": x},
            "automargin": True,
            "zeroline": False,
            **({"dtick": 1} if _few(drawn) and x == "iteration" else {}),
        },
        yaxis={"title": {"text": y}, "automargin": True, **_scale(scale, drawn)},
    )
    return Chart(key, title, caption, figure.to_json().replace("<", "\\u003c"))


def _scale(scale: str, traces: Sequence[go.Scatter | go.Bar]) -> dict[str, Any]:
    """A logarithmic axis has whole decades, a tick for each."""
    if scale not in _TICKS:
        return {}
    low, high = min(min(trace.y) for trace in traces), max(max(trace.y) for trace in traces)
    decades = [math.floor(math.log10(low)), math.floor(math.log10(high)) + 1]
    return {"type": "log", "dtick": 1, "range": decades, "tickformat": _TICKS[scale]}


def _few(traces: Sequence[go.Scatter | go.Bar]) -> bool:
    """Whether there is room for a tick at every iteration."""
    return max(len(set(trace.x)) for trace in traces) <= 12


def _trace(
    runs: Runs, label: str, k: int, what: str, points: Mapping[int, float], mode: str = "lines+markers", **more: Any
) -> Iterator[go.Scatter]:
    """A line through ``points``, if any. The lines of a single run differ by colour (this one is line ``k``); of
    several runs each run has a colour, and each quantity a dash pattern."""
    number = list(runs).index(label)
    colour, dash = (k, 0) if len(runs) == 1 else (number, k)
    if points:
        yield go.Scatter(
            x=sorted(points),
            y=[points[x] for x in sorted(points)],
            name=html.escape(what if len(runs) == 1 else f"{label}: {what}"),  # plotly interprets markup
            mode=mode,
            line={"color": COLOURS[colour % len(COLOURS)], "dash": _DASHES[dash % len(_DASHES)]},
            **more,
        )


def _curves(runs: Runs) -> Iterator[go.Scatter]:
    matches = dict.fromkeys(matched(r) for run in runs.values() for results in run.curve.values() for r in results)
    for label, run in runs.items():
        for k, match in enumerate(matches):
            played = {i: lead(r) for i, results in run.curve.items() for r in results if matched(r) == match}
            ends = [played[i] for i in sorted(played)]
            bars = {
                "array": [0.0 if high is None else high - ahead for ahead, _, high in ends],
                "arrayminus": [0.0 if low is None else ahead - low for ahead, low, _ in ends],
                "thickness": 1,
            }
            yield from _trace(runs, label, k, match, {i: one[0] for i, one in played.items()}, error_y=bars)


def _losses(runs: Runs) -> Iterator[go.Scatter]:
    """All losses of a single run; of several runs only the sums."""
    for label, run in runs.items():
        for k, key in enumerate(_LOSSES if len(runs) == 1 else _LOSSES[:1]):
            logged = {line.step: line.values[key] for line in run.log if key in line.values}  # a repeated step:
            yield from _trace(runs, label, k, key.replace("_", " "), _thinned(logged), "lines")  # the later line counts
        if len(runs) == 1:
            yield from _trace(runs, label, len(_LOSSES), "loss, held-out", _held_out(run), "markers")


def _thinned(points: Mapping[int, float]) -> dict[int, float]:
    """Averages of neighbours, so that few enough points remain."""
    steps, parts = sorted(points), min(len(points), _MOST_POINTS)
    chunks = [steps[len(steps) * i // parts : len(steps) * (i + 1) // parts] for i in range(parts)]
    return {chunk[-1]: sum(points[step] for step in chunk) / len(chunk) for chunk in chunks}


def _held_out(run: Run) -> dict[int, float]:
    """Optimiser steps at the end of each iteration's training -> loss on held-out sequences."""
    step, points = 0, dict[int, float]()
    for _, figures in sorted(run.figures.items()):
        step += int(figures.get("train/step", 0))
        if "train/validation_loss" in figures:
            points[step] = figures["train/validation_loss"]
    return points


def _illegal(runs: Runs) -> Iterator[go.Scatter]:
    for label, run in runs.items():
        yield from _trace(runs, label, 0, "illegal mass", _by_iteration(run, "illegal_mass"))


def _rates(runs: Runs) -> Iterator[go.Scatter]:
    for label, run in runs.items():
        for k, (key, what) in enumerate(_RATES.items()):
            yield from _trace(runs, label, k, what, _by_iteration(run, key))


def _idle(runs: Runs) -> Iterator[go.Scatter]:
    for label, run in runs.items():
        for k, (key, what) in enumerate(_IDLE.items()):
            shares = {i: figures[key] for i, figures in run.figures.items() if key in figures}
            yield from _trace(runs, label, k, what, shares)


def _by_iteration(run: Run, key: str) -> dict[int, float]:
    """A figure of every iteration with a network: from its ``metrics.json``, else, while the iteration runs, from the
    log, whose training lines count steps."""
    points = {line.step: line.values[key] for line in run.log if key in line.values and "loss" not in line.values}
    for i, figures in run.figures.items():
        points[i] = figures.get(f"generate/{key}", figures.get(f"train/{key}", points.get(i, 0.0)))
    return {i: value for i, value in points.items() if value > 0}


def _bars_of(runs: Runs) -> str:
    return "iteration" if len(runs) == 1 else "run"


def _times(runs: Runs) -> Iterator[go.Bar]:
    """The stages of each iteration of a single run; of several runs the stages of each run."""
    spent = {label: seconds_by_stage(run.log) for label, run in runs.items()}
    for stage in STAGES:
        bars: dict[Any, float]
        if len(runs) == 1:
            bars = {i: stages.get(stage, 0.0) for one in spent.values() for i, stages in sorted(one.items())}
        else:
            bars = {html.escape(label): sum(s.get(stage, 0.0) for s in one.values()) for label, one in spent.items()}
        if any(bars.values()):
            yield go.Bar(x=list(bars), y=[seconds / 60 for seconds in bars.values()], name=stage)
