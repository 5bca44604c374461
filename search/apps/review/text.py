"""A review in the terminal: a line a deal, then what decisions cost by player, phase and seat."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from search.apps.review.figures import BOTH, Figure
from search.apps.review.report import DealNote, DecisionNote, Review, SeatNote, costliest_notes

_COSTLIEST = 10


def deal_lines(review: Review) -> Iterator[str]:
    """What the seats of every deal lost, and its costliest decision."""
    for deal in review.deals:
        lost = ", ".join(f"{seat.player} {seat.course.lost:.1f}" for seat in deal.seats)
        worst = costliest_notes([deal], 1)
        costly = f"; costliest: {decision_text(worst[0][1], worst[0][2])}" if worst else ""
        yield f"{deal.title}: lost {lost}{costly}{_perfect_text(deal)}"


def _perfect_text(deal: DealNote) -> str:
    """What perfect play with all cards open comes to for the seat with the most at stake, and what first changed it."""
    found = {seat: seat.perfect for seat in deal.seats if seat.perfect}
    if not found:
        return ""
    seat, perfect = max(found.items(), key=lambda one: abs(one[1].first))
    until = ""
    if perfect.changes:
        first = perfect.changes[0]
        player = next((seat.player for seat in deal.seats if seat.seat == first.seat), f"seat {first.seat}")
        until = f" until card {first.number + 1}, {first.card} of {player}"
    return f"; all cards open: {seat.player} {perfect.first:+.1f}{until}"


def decision_text(seat: SeatNote, note: DecisionNote) -> str:
    """Who did what, and what it cost."""
    after = "" if note.hindsight is None else f", {note.hindsight:.1f} in hindsight"
    return f"{seat.player} ({note.phase}): {note.played} for {note.best}, {note.cost:.1f}{after}"


def render(review: Review) -> RenderableType:
    """The figures of the file and its costliest decisions."""
    shown = [(name, found) for name, found in review.figures.items() if name != BOTH]
    parts: list[RenderableType] = [_figures(name, found) for name, found in shown]
    worst = costliest_notes(review.deals, _COSTLIEST)
    if worst:
        table = Table(title="the costliest decisions", title_justify="left")
        for heading in ("deal", "decision, points"):
            table.add_column(heading, overflow="fold")
        for deal, seat, note in worst:
            table.add_row(Text(deal.title), Text(decision_text(seat, note)))
        parts.append(table)
    return Group(*parts, Text(f"judged by {review.player}, in {review.unit}"), *map(Text, review.notes))


def _figures(name: str, figures: list[Figure]) -> Table:
    table = Table(title=f"by {name}", title_justify="left")
    table.add_column(name, overflow="fold")
    for heading in ("deals", "decisions", "points lost a decision", "agreed", "not judged"):
        table.add_column(heading, justify="right")
    for figure in figures:
        table.add_row(
            Text(figure.name),
            str(figure.deals),
            str(figure.decisions),
            lost_text(figure),
            share(figure),
            str(figure.not_judged),
        )
    return table


def lost_text(figure: Figure, scale: float = 1.0) -> str:
    """Mean and interval, ``scale`` times."""
    if figure.cost is None:
        return "-"
    low, high = figure.low, figure.high
    ends = "" if low is None or high is None else f" ({scale * low:.2f}..{scale * high:.2f})"
    return f"{scale * figure.cost:.2f}{ends}"


def share(figure: Figure) -> str:
    """How often the judge would have done the same."""
    return f"{100 * figure.agreement:.0f} %"
