"""The page of a review: figures, the costliest decisions, and deals to step through. It opens offline."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cluster.provenance import installed_version
from games.recorded_deals import RecordedDeals
from search.apps.pictures.pages import templates
from search.apps.pictures.scene import CardTable, Layout, Pause, Scene
from search.apps.pictures.texts import Text, word
from search.apps.play.layouts import layout_of
from search.apps.review.figures import Course, Figure
from search.apps.review.perfect import history_of
from search.apps.review.report import DealNote, DecisionNote, PerfectPlay, Review, SeatNote, costliest, costliest_notes
from search.apps.review.text import lost_text, share
from search.roster.kinds import support_of

_COSTLIEST = 20
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
class OpenCards:
    """Perfect play with all cards open, for people."""

    changes: tuple[tuple[str, str, str, int], ...]
    """Where and who, the card, and the step on the page at which the seat itself played it, 0 for others' cards."""
    start: str
    """The card that was really played where the line begins; empty for a line from the first card on."""
    line: tuple[str, ...]
    tricks: tuple[CardTable, ...]
    """Of the line, each when it is complete; none in a game without tricks."""
    end: tuple[str, ...]
    """What stands in the middle of the table at the end."""


@dataclass(frozen=True)
class Costly:
    """One of the costliest decisions."""

    deal: DealNote
    seat: SeatNote
    note: DecisionNote
    played: str
    best: str
    """Both for people."""
    link: str
    """Where it is on the page; empty where its deal is not."""


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
    open_cards: OpenCards | None


def page(review: Review, deals: RecordedDeals, most: int) -> str:
    """The page as HTML, with those ``most`` deals to step through in which the most was lost."""
    kept = costliest(review.deals, most)
    order = {deal.title: number for number, deal in enumerate(review.deals)}
    shown = [
        _shown(deals, deal, seat) for deal in sorted(kept, key=lambda one: order[one.title]) for seat in deal.seats
    ]
    layout = layout_of(deals.game, [""] * (deals.game.num_players - 1))
    notes = [
        Costly(*one, _face(layout, one[2].played), _face(layout, one[2].best), _link(shown, *one))
        for one in costliest_notes(review.deals, _COSTLIEST)
    ]
    return templates("search.apps.review").get_template("review.html").render(
        review=review,
        heading=Text("review.title", file=review.file) if review.file else Text("review.own"),
        notes=[_note(note) for note in review.notes],
        titled=_note,
        figures={name: [_row(name, one) for one in found] for name, found in review.figures.items()},
        costliest=notes,
        shown=[one for one in shown if one.steps],
        left_out=len(review.deals) - len(kept),
        width=_WIDTH,
        height=_HEIGHT,
        kibitz=installed_version(),
    )  # fmt: skip


def _row(of: str, figure: Figure) -> tuple[str, str, Figure, str, str]:
    """Player and phase or seat, each empty where the figures are not of it; the figure, its cost, and its agreement."""
    player, _, phase = figure.name.rpartition(": ")
    seat = Text("review.seat", number=figure.name.removeprefix("seat ")) if of == "seat" else ""
    named = {"player": (figure.name, ""), "seat": ("", seat)}.get(of, (player, word("review_words", phase)))
    return *named, figure, lost_text(figure), share(figure)


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
    open_cards = None if seat.perfect is None else _open_cards(layout, deals, seat, seat.perfect)
    return Shown(deal, seat, tuple(_parts(seat.course)), *_curve(seat.course), steps, open_cards)


def _open_cards(layout: Layout, deals: RecordedDeals, seat: SeatNote, perfect: PerfectPlay) -> OpenCards:
    own = (step for step, note in enumerate(seat.decisions, start=1) if note.hindsight)
    changes = list[tuple[str, str, str, int]]()
    for one in perfect.changes:
        relative = (one.seat - seat.seat) % len(layout.names)
        step = next(own, 0) if one.seat == seat.seat else 0
        changes.append((layout.names[relative], layout.players[relative], _face(layout, one.card), step))
    started = [one for one in perfect.changes if one.seat == seat.seat]
    tokens, before = history_of(deals, seat, support_of(layout.game))
    scenes = [layout.scene(tokens[:stop]) for stop in layout.stops(tokens) if stop > before]
    tricks = dict[tuple[str, ...], CardTable]()  # the end of a deal shows its last trick once more
    for scene in scenes:
        if scene.pause == Pause.TRICK and (table := scene.card_table):
            tricks[tuple(place.card.name for place in table.places if place.card)] = table
    last = scenes[-1].card_table if scenes else None
    return OpenCards(
        changes=tuple(changes),
        start=_face(layout, started[0].card) if started else "",
        line=tuple(_face(layout, name) for name in perfect.line),
        tricks=tuple(tricks.values()),
        end=last.middle if last else (),
    )


def _step(layout: Layout, tokens: np.ndarray, note: DecisionNote) -> Step:
    chosen = tuple(tokens[note.place : note.place + 1].tolist())
    names = tuple(_face(layout, action.name) for action in note.actions)
    return Step(layout.scene(tokens[: note.place]), chosen, note, names)


def _face(layout: Layout, name: str) -> str:
    """A token of the game for people."""
    return layout.token(layout.game.vocabulary.names.index(name))


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


# ---- what files are told of, by ``games``, in English ----------------------------------------------------------------

_NOTES = {
    "your_hand": "your hand",
    "break_off": r"(?P<count>\d+) of (?P<all>\d+) deals break off, .*",
    "line": r"(?P<count>\d+) line left out: (?P<why>.*)",
    "lines": r"(?P<count>\d+) lines left out: (?P<why>.*)",
    "record": r"record (?P<record>.*), line (?P<line>\d+)",
    "row": r"(?P<file>.*), row (?P<row>\d+)",
}


def _note(said: str, of_file: bool = True) -> str:
    """A note on a file, or the title of a deal, as a text, behind the name of its file or without."""
    for name, pattern in _NOTES.items():
        if found := re.fullmatch(pattern, said):
            holes = found.groupdict()
            return Text(f"notes.{name}", **holes | ({"why": word("notes", holes["why"])} if "why" in holes else {}))
    file, _, rest = said.partition(": ")
    note = _note(rest, of_file=False) if of_file else rest
    return Text("notes.of_file", file=file, note=note) if isinstance(note, Text) else said
