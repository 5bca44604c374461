"""The page of a review: figures, the costliest decisions, and deals to step through. It opens offline."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from cluster.provenance import installed_version
from games.game import Game
from games.recorded_deals import RecordedDeals
from search.apps.pictures.pages import templates
from search.apps.pictures.scene import CardTable, Layout, Pause
from search.apps.pictures.texts import Text, word
from search.apps.play.layouts import layout_of
from search.apps.review.figures import Course, Figure, mark_of
from search.apps.review.open_cards import history_of
from search.apps.review.report import DealNote, DecisionNote, PerfectPlay, Review, SeatNote, costliest, costliest_notes
from search.apps.review.text import lost_text, share
from search.roster.kinds import support_of

_COSTLIEST = 20
_WIDTH, _HEIGHT, _MARGIN = 640, 150, 12
"""Size of a curve, in pixels."""


def page(review: Review, deals: RecordedDeals, most: int, names: Sequence[str] = ()) -> str:
    """The page as HTML, with those ``most`` deals to step through in which the most was lost.

    Args:
        names: what the seats of a table are called, of a review of one seat's last hand there.
    """
    kept = costliest(review.deals, most)
    order = {deal.title: number for number, deal in enumerate(review.deals)}
    ordered = sorted(kept, key=lambda one: order[one.title])
    shown = [_shown(deals, deal, seat, names) for deal in ordered for seat in deal.seats if seat.decisions]
    layout = layout_of(deals.game, [""] * (deals.game.num_players - 1))
    field = support_of(deals.game).review_field if review.player.endswith(f"@kibitz:{deals.game.name}") else {}
    return templates("search.apps.review").get_template("review.html").render(
        review=review,
        heading=Text("review.title", file=review.file) if review.file else Text("review.own"),
        called=(lambda player: names[review.deals[0].seats[0].seat]) if names else partial(_called, deals.game),
        judge=_judge(deals.game, review.player),
        unit="review_words.chance" if layout.missions else f"review_words.{review.unit}",
        amount=partial(_amount, layout),
        value=lambda value: f"{100 * value:.0f} %" if layout.missions else f"{value:+.1f}",
        players=[(one, _like(one, field)) for one in review.figures["player"]],
        scale=layout.scales[0],
        notes=[_note(note) for note in review.notes],
        titled=_note,
        figures={name: [_row(layout, name, one) for one in found] for name, found in review.figures.items()},
        costliest=[_costly(layout, shown, *one) for one in costliest_notes(review.deals, _COSTLIEST)],
        shown=shown,
        left_out=len(review.deals) - len(kept),
        width=_WIDTH,
        height=_HEIGHT,
        kibitz=installed_version(),
    )  # fmt: skip


def _amount(layout: Layout, points: float, sign: str = "") -> str:
    """A number with its unit: points, or the chance of a success."""
    if layout.missions:
        return Text("table.number", value=f"{100 * points:{sign}.1f} %")
    return Text("review.amount", points=f"{points:{sign}.1f}")


def _judge(game: Game, player: str) -> str:
    """The judge in words."""
    called = _called(game, player)
    return Text("review.by_network", network=called) if player.endswith(f"@{called}") else called


def _called(game: Game, player: str) -> str:
    """A player in words, where its name is one with settings: its network alone, how it searches, or its level."""
    settings, _, network = player.partition("@")
    kind = settings.partition(":")[0]
    if kind == "argmax_val" and network:
        return network
    if kind in (known := {"go_mcts": "by_search", "pimc": "by_sampling"}):
        return Text(f"review.{known[kind]}", network=network)
    levels = {level.player: name for name, level in support_of(game).levels.items()}
    return word("words", levels.get(player, player))


def _like(figure: Figure, field: Mapping[int, float]) -> str:
    """The player of known strength that loses about as much; empty where none is known, and for a few deals."""
    if figure.cost is None or figure.low is None or not field:
        return ""
    cost = figure.cost
    slips = min(field, key=lambda one: abs(field[one] - cost))
    found = {0: Text("review.like_rules"), 100: Text("review.like_random")}
    return found.get(slips) or Text("review.like_slips", slips=slips)


def _row(layout: Layout, of: str, figure: Figure) -> tuple[str, str, Figure, str, str]:
    """Player and phase or seat, each empty where the figures are not of it; the figure, its cost, and its agreement."""
    player, _, phase = figure.name.rpartition(": ")
    seat = Text("review.seat", number=figure.name.removeprefix("seat ")) if of == "seat" else ""
    named = {"player": (figure.name, ""), "seat": ("", seat)}.get(of, (player, word("review_words", phase)))
    return *named, figure, lost_text(figure, 100 if layout.missions else 1), share(figure)


def _costly(
    layout: Layout, shown: Sequence[dict[str, Any]], deal: DealNote, seat: SeatNote, note: DecisionNote
) -> dict[str, Any]:
    """One of the costliest decisions, with a link to where it is on the page; empty where its deal is not."""
    places = (number for number, one in enumerate(shown, start=1) if one["deal"] is deal and one["seat"] is seat)
    link = next((f"#deal={number}&step={seat.decisions.index(note) + 1}" for number in places), "")
    faces = {"played": _face(layout, note.played), "best": _face(layout, note.best)}
    faces["mark"] = mark_of(note.cost, layout.points_per_utility or 1.0)
    return {"deal": deal, "seat": seat, "note": note, "link": link, **faces}


def _shown(deals: RecordedDeals, deal: DealNote, seat: SeatNote, at_table: Sequence[str]) -> dict[str, Any]:
    """A seat of a deal: its course (parts, curve and the height of 0 in it), decisions, and perfect play."""
    sequences, seats = deals.sequences, deals.game.num_players
    rows = range(*np.searchsorted(sequences.game, [sequences.game[seat.row], sequences.game[seat.row] + 1]))
    names = {int(sequences.seat[row]): _called(deals.game, str(sequences.player[row])) for row in rows}
    names |= dict(enumerate(at_table))
    around = [names.get((seat.seat + k) % seats, "") for k in range(seats)]
    layout = layout_of(deals.game, around[1:], own=around[0])
    curve, zero = _curve(seat.course)
    return {
        "deal": deal,
        "seat": seat,
        "parts": _parts(seat.course),
        "curve": curve,
        "zero": zero,
        "steps": [_step(layout, sequences.tokens[seat.row], note) for note in seat.decisions],
        "open_cards": None if seat.perfect is None else _open_cards(layout, deals, seat, seat.perfect),
    }


def _open_cards(layout: Layout, deals: RecordedDeals, seat: SeatNote, perfect: PerfectPlay) -> dict[str, Any]:
    """Perfect play for people: for each change where and who, the card, and the step of the page at which the seat
    itself played it, 0 for others' cards; the card that was really played where the line begins, the line, its tricks,
    each when it is complete, and what stands in the middle of the table at its end."""
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
    return {
        "changes": changes,
        "start": _face(layout, started[0].card) if started else "",
        "line": [_face(layout, name) for name in perfect.line],
        "tricks": [*tricks.values()],
        "end": last.middle if last else (),
    }


def _step(layout: Layout, tokens: np.ndarray, note: DecisionNote) -> dict[str, Any]:
    """A decision with its picture, and the names of its actions for people."""
    chosen = tokens[note.place : note.place + 1].tolist()
    names = [_face(layout, action.name) for action in note.actions]
    mark = mark_of(note.cost, layout.points_per_utility or 1.0)
    return {"scene": layout.scene(tokens[: note.place]), "chosen": chosen, "note": note, "names": names, "mark": mark}


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


# ---- notes of ``games`` on files, which are in English --------------------------------------------------------------

_NOTES = {
    "your_hand": "Your hand",
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
