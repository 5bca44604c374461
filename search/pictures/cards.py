"""Card tables in characters: cards, names, and what lies in the middle."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.text import Text

from games.tricks import Trick
from search.pictures.canvas import Canvas, shortened
from search.pictures.scene import TABLE_HEIGHT, TABLE_WIDTH, Card, CardTable, Place

BLACK, RED = "bold #101010 on #f4f1e8", "bold #c01818 on #f4f1e8"
"""The face of a card."""
FADED_BLACK, FADED_RED = "#3c3c3c on #97958f", "#7c2424 on #97958f"
"""A card that cannot be played now, or that lies on the table and has lost."""
CARD_WIDTH, CARD_HEIGHT = 5, 3
_SHOWN_AT, _LABEL_WIDTH, _STEP = 9, 12, 4
"""Line of the first row of cards shown; columns of its label; columns from card to card."""


@dataclass(frozen=True)
class Spot:
    """Where a seat is drawn: column and line of its name and of its card, and the line of its points."""

    name: tuple[int, int]
    points: int
    card: tuple[int, int]


def draw_table(table: CardTable, spots: Sequence[Spot], middle: tuple[int, int]) -> Text:
    """The table in characters.

    Args:
        spots: of every place, in the order of the table.
        middle: the column around which the lines in the middle are written, and the line of the first.
    """
    canvas = Canvas(TABLE_WIDTH, TABLE_HEIGHT)
    for place, spot in zip(table.places, spots, strict=True):
        _draw_name(canvas, place, *spot.name)
        canvas.centre(spot.name[0], spot.points, standing(place))
        if place.card:
            draw_card(canvas, *spot.card, place.card.name, card_style(place.card.red, place.card.faded))
    for line, text in enumerate(table.middle):
        canvas.centre(middle[0], middle[1] + line, text, "bold" if line else "")
    for line, (label, cards) in enumerate(table.shown):
        _draw_row(canvas, _SHOWN_AT + line, label, cards)
    return canvas.text()


def played_card(trick: Trick | None, seat: int, num_seats: int, face: Callable[[int], Card]) -> Card | None:
    """What a seat has played to a trick, faded once it has lost."""
    turn = (seat - trick.leader) % num_seats if trick else num_seats
    if trick is None or turn >= len(trick.cards):
        return None
    return replace(face(trick.cards[turn]), faded=trick.complete and seat != trick.winner)


def last_trick(tricks: Sequence[Trick], seats: Sequence[str], text: Callable[[int], str]) -> tuple[str, ...]:
    """Remarks on the trick before the one on the table."""
    if len(tricks) < 2:
        return ()
    trick = tricks[-2]
    cards = " ".join(map(text, trick.cards))
    return ("Last trick", f"{seats[trick.leader]} led {cards}", f"{seats[trick.winner]} took it")


def standing(place: Place) -> str:
    """What is written below a place: its role and its points, as far as there are some."""
    points = f"{place.points:g} point{'s' * (place.points != 1)}" if place.points else ""
    return ", ".join(filter(None, (place.role, points)))


def draw_card(canvas: Canvas, x: int, y: int, face: str, style: str) -> None:
    """A card, ``CARD_WIDTH`` x ``CARD_HEIGHT``, its upper left corner at ``x``, ``y``."""
    canvas.put(x, y, "╭───╮", style)
    canvas.put(x, y + 1, f"│{face:>3}│", style)
    canvas.put(x, y + 2, "╰───╯", style)


def card_style(red: bool, faded: bool = False) -> str:
    """The style of a card's face."""
    return (FADED_RED if red else FADED_BLACK) if faded else (RED if red else BLACK)


def _draw_name(canvas: Canvas, place: Place, x: int, y: int) -> None:
    label = place.name + (f" {place.player}" if place.player else "")
    label = ("▸ " if place.to_play else "") + shortened(label, 19)
    x = max(x, len(label) // 2)
    x = min(x, TABLE_WIDTH - (len(label) + 1) // 2)
    canvas.centre(x, y, label, "bold reverse" if place.to_play else "bold")


def _draw_row(canvas: Canvas, y: int, label: str, cards: Sequence[Card]) -> None:
    """A label and the cards behind it; more than fit begin right behind a short label."""
    wide = _LABEL_WIDTH + _STEP * len(cards) <= TABLE_WIDTH
    canvas.put(0, y, f"{label}:")
    for i, card in enumerate(cards):
        canvas.put((_LABEL_WIDTH if wide else len(label) + 2) + _STEP * i, y, f"{card.name:>3}", card_style(card.red))
