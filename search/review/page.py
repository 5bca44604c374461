"""The page of a review: figures, the dearest decisions, and deals to step through. It opens offline."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cluster.provenance import installed_version
from games.recorded_deals import RecordedDeals
from search.pictures.pages import templates
from search.pictures.scene import Layout, Scene
from search.play.layouts import layout_of
from search.review.figures import Course
from search.review.report import DealNote, DecisionNote, Review, SeatNote, dearest_of
from search.review.text import decision_text, lost_text, share

_DEAREST = 20
_WIDTH, _HEIGHT, _MARGIN = 640, 150, 12
"""Of a curve, in pixels."""


@dataclass(frozen=True)
class Step:
    """A decision with its picture."""

    scene: Scene
    chosen: tuple[int, ...]
    note: DecisionNote
    names: tuple[str, ...]
    """Of its actions, for people."""


@dataclass(frozen=True)
class Shown:
    """A seat of a deal on the page."""

    deal: DealNote
    seat: SeatNote
    parts: tuple[tuple[str, float], ...]
    """What its result is made of."""
    curve: str
    """Points of an SVG polyline."""
    zero: float
    """Height of 0 in the curve."""
    steps: tuple[Step, ...]


def page(review: Review, deals: RecordedDeals, most: int) -> str:
    """The page as HTML, with those ``most`` deals to step through in which the most was lost."""
    kept = sorted(review.deals, key=lambda deal: -deal.lost)[:most]
    order = {deal.title: number for number, deal in enumerate(review.deals)}
    shown = [
        _shown(deals, deal, seat) for deal in sorted(kept, key=lambda one: order[one.title]) for seat in deal.seats
    ]
    worst = dearest_of(review.deals, _DEAREST)
    return templates("search.review").get_template("review.html").render(
        review=review,
        figures={name: [(one, lost_text(one), share(one)) for one in found] for name, found in review.figures.items()},
        dearest=[(deal, decision_text(seat, note), _link(shown, deal, seat, note)) for deal, seat, note in worst],
        shown=[one for one in shown if one.steps],
        left_out=len(review.deals) - len(kept),
        width=_WIDTH,
        height=_HEIGHT,
        kibitz=installed_version(),
    )  # fmt: skip


def _link(shown: Sequence[Shown], deal: DealNote, seat: SeatNote, note: DecisionNote) -> str:
    """Where a decision is on the page; empty where its deal is not."""
    for number, one in enumerate([one for one in shown if one.steps], start=1):
        if one.deal is deal and one.seat is seat:
            return f"#deal={number}&step={seat.decisions.index(note) + 1}"
    return ""


def _shown(deals: RecordedDeals, deal: DealNote, seat: SeatNote) -> Shown:
    sequences, seats = deals.sequences, deals.game.num_players
    rows = range(*np.searchsorted(sequences.game, [sequences.game[seat.row], sequences.game[seat.row] + 1]))
    names = {int(sequences.seat[row]): str(sequences.player[row]) for row in rows}
    around = [names.get((seat.seat + k) % seats, "") for k in range(seats)]
    layout = layout_of(deals.game, around[1:], own=around[0])
    tokens = sequences.tokens[seat.row]
    steps = tuple(_step(layout, tokens, note) for note in seat.decisions)
    return Shown(deal, seat, tuple(_parts(seat.course)), *_curve(seat.course), steps)


def _step(layout: Layout, tokens: np.ndarray, note: DecisionNote) -> Step:
    scene, vocabulary = layout.scene(tokens[: note.place]), layout.game.vocabulary
    chosen = tuple(tokens[note.place : note.place + 1].tolist())
    names = tuple(layout.token(vocabulary.names.index(action.name)) for action in note.actions)
    return Step(scene, chosen, note, names)


def _parts(course: Course) -> list[tuple[str, float]]:
    """What a result is made of, as far as it is known."""
    found = {"cards dealt": course.cards, "before play": course.before_play, "play": course.play,
             "result": course.result}  # fmt: skip
    return [(name, value) for name, value in found.items() if value is not None]


def _curve(course: Course) -> tuple[str, float]:
    """V(h) over the tokens of a history as an SVG polyline, and the height of 0."""
    if len(course.curve) < 2:
        return "", 0.0
    places, values = zip(*course.curve, strict=True)
    low, high = min(0.0, *values), max(0.0, *values)

    def height(value: float) -> float:
        return _MARGIN + (_HEIGHT - 2 * _MARGIN) * (high - value) / max(high - low, 1e-9)

    span = max(places[-1] - places[0], 1)
    across = [_MARGIN + (_WIDTH - 2 * _MARGIN) * (place - places[0]) / span for place in places]
    points = " ".join(f"{x:.1f},{height(value):.1f}" for x, value in zip(across, values, strict=True))
    return points, height(0.0)
