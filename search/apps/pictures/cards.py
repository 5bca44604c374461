"""Card tables in characters: cards, names, and the middle of the table."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from rich.text import Text

from games.tricks import Trick
from search.apps.pictures.canvas import Canvas, shortened
from search.apps.pictures.scene import (
    TABLE_HEIGHT,
    TABLE_WIDTH,
    Card,
    CardTable,
    Choice,
    Layout,
    Pause,
    Place,
    Played,
)
from search.apps.pictures.texts import Text as Said

BLACK, RED = "bold #101010 on #f4f1e8", "bold #c01818 on #f4f1e8"
"""The face of a card."""
FADED_BLACK, FADED_RED = "#3c3c3c on #97958f", "#7c2424 on #97958f"
"""A card that cannot be played now, or that has lost its trick."""
CARD_WIDTH, CARD_HEIGHT = 5, 3
_SHOWN_AT, _LABEL_WIDTH, _STEP = 9, 12, 4
"""Line of the first row of cards shown; columns of its label; columns from card to card."""


@dataclass(frozen=True)
class Spot:
    """Position of a seat: column and line of its name and of its card, and the line of its points."""

    name: tuple[int, int]
    points: int
    card: tuple[int, int]


class CardLayout(Layout):
    """Base of card games' pictures, the observer at the bottom.

    Seats are relative to the observer.
    """

    def face(self, card: int) -> Card:
        """An open card."""
        raise NotImplementedError

    def hand(self, cards: Iterable[int], legal: Collection[int], group: Callable[[int], int]) -> tuple[Choice, ...]:
        """The observer's cards; cards of different ``group`` are drawn apart."""
        faces = ((card, self.face(card)) for card in cards)
        return tuple(Choice(card, face.name, card in legal, face.red, group(card)) for card, face in faces)

    def card_table(
        self,
        turn: int,
        tricks: Sequence[Trick],
        middle: Iterable[str],
        rows: Iterable[tuple[str, Iterable[int]]] = (),
        points: Sequence[float] = (),
        roles: Sequence[str] = (),
        calls: Iterable[tuple[int, int]] = (),
    ) -> CardTable:
        """The table, not drawn yet.

        Args:
            turn: seat to act, -1 where there is none.
            tricks: all of the hand; the last may be under way.
            middle: lines of text in the middle.
            rows: further cards that the observer has seen, with labels; rows without cards are left out.
            points: of each seat so far; empty where the game counts none.
            roles: of each seat, where seats differ.
            calls: seat and token of each call of an auction.
        """
        seats, trick = range(len(self.names)), tricks[-1] if tricks else None
        shown = ((label, tuple(map(self.face, cards))) for label, cards in rows)
        places = tuple(
            Place(
                self.names[seat],
                self.players[seat],
                to_play=turn == seat,
                points=points[seat] if points else 0,
                card=self._played(trick, seat),
                role=roles[seat] if roles else "",
                leads=trick is not None and trick.leader == seat,
            )
            for seat in seats
        )
        complete = (
            Played(
                one.leader, one.winner, tuple(self.face(one.cards[(seat - one.leader) % one.size]) for seat in seats)
            )
            for one in tricks
            if one.complete
        )
        said = tuple((seat, self.token(token)) for seat, token in calls)
        return CardTable(places, tuple(middle), tuple(row for row in shown if row[1]), tuple(complete), said)

    def last_trick(self, tricks: Sequence[Trick]) -> tuple[str, ...]:
        """Remarks on the trick before the one on the table."""
        if len(tricks) < 2:
            return ()
        trick = tricks[-2]
        cards = " ".join(self.face(card).name for card in trick.cards)
        led = self.does(trick.leader, "table.led_cards", cards=cards)
        return (Said("table.last_trick"), led, self.does(trick.winner, "table.took"))

    def _played(self, trick: Trick | None, seat: int) -> Card | None:
        """The card of a seat in a trick, faded once it has lost."""
        turn = (seat - trick.leader) % trick.size if trick else 0
        if trick is None or turn >= len(trick.cards):
            return None
        return replace(self.face(trick.cards[turn]), faded=trick.complete and seat != trick.winner)


def pause_at(trick: Trick | None, moved: bool) -> Pause:
    """Duration of a scene: longest for a complete trick, none before a seat has ``moved``."""
    return Pause.TRICK if trick is not None and trick.complete else Pause.CARD if moved else Pause.NONE


def draw_table(table: CardTable, spots: Sequence[Spot], middle: tuple[int, int]) -> Text:
    """The table in characters.

    Args:
        spots: of every place, in the order of the table.
        middle: centre column and first line of the text in the middle.
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


def standing(place: Place) -> str:
    """The text below a place: its tasks or its role, and points, if any."""
    points = f"{place.points:g} point{'s' * (place.points != 1)}" if place.points else ""
    return ", ".join(filter(None, (" ".join(one.name + one.sign for one in place.tasks) or place.role, points)))


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
    """Draw a label and the cards behind it; a row that would not fit begins right behind the label."""
    wide = _LABEL_WIDTH + _STEP * len(cards) <= TABLE_WIDTH
    canvas.put(0, y, f"{label}:")
    for i, card in enumerate(cards):
        canvas.put((_LABEL_WIDTH if wide else len(label) + 2) + _STEP * i, y, f"{card.name:>3}", card_style(card.red))
