"""The panel beside the table: points, or the network's expectations."""

import textwrap
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from rich.text import Text

from search.apps.pictures.canvas import Canvas
from search.apps.pictures.scene import TABLE_HEIGHT
from search.apps.play.hints import Expectation, Visits

PANEL_WIDTH = 30


def draw_scores(
    names: Sequence[str], points: Sequence[float], finished: np.ndarray | None = None, remarks: Sequence[str] = ()
) -> Text:
    """Points of every seat, the observer's first.

    Args:
        points: in the current hand, empty where the game counts none before its end.
        finished: ``float32[H, P]``: points of the finished hands; None without a total.
        remarks: at most four lines for the bottom.
    """
    canvas = Canvas(PANEL_WIDTH, TABLE_HEIGHT)
    totals = [""] * len(names) if finished is None else [f"{total:g}" for total in finished.sum(axis=0)]
    canvas.put(1, 0, f"{'Points':<12}{'hand':>7}{'total' if finished is not None else '':>9}", "bold")
    for seat, name in enumerate(names):
        hand = f"{points[seat]:g}" if len(points) else "-"
        canvas.put(1, 1 + seat, f"{name:<12}{hand:>7}{totals[seat]:>9}")
    y, bottom = len(names) + 2, TABLE_HEIGHT - len(remarks)
    if finished is not None and len(finished):
        canvas.put(1, y, "Hands", "bold")
        first = max(0, len(finished) - (bottom - y - 2))
        for line, row in enumerate(finished[first:], start=1):
            canvas.put(1, y + line, f"{first + line:>3} " + " ".join(f"{value:>5g}" for value in row))
    for line, remark in enumerate(remarks):
        canvas.put(1, bottom + line, remark, "bold" if line == 0 else "")
    return canvas.text()


def draw_expectation(
    expected: Expectation | None,
    visits: Mapping[int, Visits],
    name: Callable[[int], str],
    points_per_utility: float,
    behind: str = "",
) -> Text:
    """The network's expectations.

    Args:
        expected: None at the end of the history.
        visits: statistics of a search, by action; may be empty.
        name: token -> its name.
        points_per_utility: 0 if unknown.
        behind: names of the chosen actions, appended to the history before the query.
    """
    canvas = Canvas(PANEL_WIDTH, TABLE_HEIGHT)
    canvas.put(1, 0, f"Expected after {behind}" if behind else "What the network expects", "bold")
    if expected is None:
        canvas.put(1, 1, "Nothing: the hand is over.")
        return canvas.text()
    points = f" ({expected.value * points_per_utility:+.1f} points)" if points_per_utility else ""
    canvas.put(1, 1, f"V(h) {expected.value:+.3f}{points}")
    lines = _action_lines(expected, visits, name) if expected.actions else _token_lines(expected, name)
    for y, (line, style) in enumerate(lines, start=2):
        canvas.put(1, y, line, style)
    return canvas.text()


def draw_note(note: str) -> Text:
    """A few words instead."""
    return Text("\n".join(f" {line}" for line in textwrap.wrap(note, PANEL_WIDTH - 2)))


def _action_lines(
    expected: Expectation, visits: Mapping[int, Visits], name: Callable[[int], str]
) -> list[tuple[str, str]]:
    best = max(expected.actions, key=lambda hint: hint.value).token
    most = max(visits, key=lambda token: visits[token].value) if visits else None
    lines = [(f"{'':<5}{'p':>5}{'V(h.a)':>7}" + (f"{'visits':>7}{'mean':>5}" if visits else ""), "bold")]
    for hint in expected.actions:
        found = visits.get(hint.token)
        searched = f"{found.visits:>6} {found.value:+.2f}" if found else ""
        line = f"{name(hint.token)[:5]:<5}{hint.probability:>5.0%} {hint.value:+.3f}{searched}"
        lines.append((line, "bold" if hint.token == (best if most is None else most) else ""))
    if expected.illegal > 0:
        lines.append((f"not legal {expected.illegal:.1%}", "dim"))
    return lines


def _token_lines(expected: Expectation, name: Callable[[int], str]) -> list[tuple[str, str]]:
    rows = [(f"{name(token)[:18]:<18}{chance:>7.1%}", "") for token, chance in expected.next_tokens]
    return [("next token", "bold"), *rows]
