"""Pictures of Hearts: names and cards around a table, drawn from one seat's history alone."""

from collections.abc import Sequence

import numpy as np
from rich.text import Text

from games.game import Next
from games.hearts.cards import PASS_SIZE
from games.hearts.game import HeartsGame
from games.hearts.table import UTILITY_POINTS, Table, Trick, card_text, is_red, stops, table_of
from search.play.canvas import Canvas, shortened
from search.play.scene import TABLE_HEIGHT, TABLE_WIDTH, Choice, Pause, Scene, final_points

BLACK, RED = "bold #101010 on #f4f1e8", "bold #c01818 on #f4f1e8"
"""The face of a card."""
FADED_BLACK, FADED_RED = "#3c3c3c on #97958f", "#7c2424 on #97958f"
"""A card that cannot be played now, or that lies on the table and has lost."""
CARD_WIDTH, CARD_HEIGHT = 5, 3

_SEATS = ("You", "West", "North", "East")
_NAME_AT = ((25, 14), (10, 4), (25, 0), (40, 4))
"""Column and line of each seat's name."""
_POINTS_AT = 15, 8, 4, 8
"""Line of each seat's points, below its name and card."""
_CARD_AT = ((23, 11), (8, 5), (23, 1), (38, 5))
_MIDDLE = 25, 6
_DIRECTIONS = (
    "No cards are passed",
    "Pass three cards to West",
    "Pass three cards to North",
    "Pass three cards to East",
)
_FROM = ("", "East", "North", "West")
"""Who passes to the observer, by direction."""


class HeartsLayout:
    """Hearts, the observer at the bottom."""

    names: tuple[str, ...] = _SEATS
    points_per_utility = float(UTILITY_POINTS)

    def __init__(self, game: HeartsGame, players: Sequence[str]) -> None:
        """``players``: who sits where: the observer, then to its left, across and to its right."""
        self._game = game
        self._players = players

    def stops(self, tokens: np.ndarray) -> list[int]:
        """See ``Layout``."""
        return stops(tokens)

    def token(self, token: int) -> str:
        """See ``Layout``."""
        return card_text(token) if token < 52 else self._game.vocabulary.name(token)

    def scene(self, tokens: np.ndarray) -> Scene:
        """See ``Layout``."""
        table = table_of(self._game, tokens)
        views = self._game.views(tokens[None], np.array([len(tokens)]))
        legal = self._game.view_legal(views)[0]
        my_turn = self._game.next(views)[0] == Next.ACTION
        choices = tuple(Choice(card, card_text(card), bool(legal[card]), is_red(card), card & 3) for card in table.hand)
        needed = (PASS_SIZE - len(table.passed) if table.passing else 1) if my_turn else 0
        trick = table.tricks[-1] if table.tricks else None
        pause = Pause.NONE if trick is None else Pause.TRICK if trick.complete else Pause.CARD
        prompt = _prompt(table, needed)
        points = final_points(self._game, views) or table.points
        remarks = _last_trick(table)
        return Scene(_title(table), self._draw(table), choices, True, needed, prompt, pause, remarks, points)

    def _draw(self, table: Table) -> Text:
        canvas = Canvas(TABLE_WIDTH, TABLE_HEIGHT)
        trick = table.tricks[-1] if table.tricks else None
        for seat, (x, y) in enumerate(_NAME_AT):
            self._draw_name(canvas, seat, x, y, table.turn == seat)
            if table.points[seat]:
                canvas.centre(x, _POINTS_AT[seat], f"{table.points[seat]} point{'s' * (table.points[seat] != 1)}")
        if trick is not None:
            _draw_trick(canvas, trick)
        elif table.turn >= 0:
            canvas.centre(*_MIDDLE, "You lead" if table.turn == 0 else f"{_SEATS[table.turn]} leads")
        elif table.direction >= 0:
            canvas.centre(*_MIDDLE, _DIRECTIONS[table.direction])
        if table.passed and (trick is None or len(table.tricks) == 1):
            _draw_cards(canvas, 9, f"To {_SEATS[table.direction]}", table.passed)
            _draw_cards(canvas, 10, f"From {_FROM[table.direction]}", table.received)
        return canvas.text()

    def _draw_name(self, canvas: Canvas, seat: int, x: int, y: int, to_play: bool) -> None:
        label = _SEATS[seat] + (f" {self._players[seat]}" if self._players[seat] else "")
        label = ("▸ " if to_play else "") + shortened(label, 19)
        x = max(x, len(label) // 2)
        x = min(x, TABLE_WIDTH - (len(label) + 1) // 2)
        canvas.centre(x, y, label, "bold reverse" if to_play else "bold")


def draw_card(canvas: Canvas, x: int, y: int, face: str, style: str) -> None:
    """A card, ``CARD_WIDTH`` x ``CARD_HEIGHT``, its upper left corner at ``x``, ``y``."""
    canvas.put(x, y, "╭───╮", style)
    canvas.put(x, y + 1, f"│{face:>3}│", style)
    canvas.put(x, y + 2, "╰───╯", style)


def card_style(red: bool, faded: bool = False) -> str:
    """The style of a card's face."""
    return (FADED_RED if red else FADED_BLACK) if faded else (RED if red else BLACK)


def _draw_trick(canvas: Canvas, trick: Trick) -> None:
    for i, card in enumerate(trick.cards):
        seat = (trick.leader + i) % 4
        faded = trick.complete and seat != trick.winner
        draw_card(canvas, *_CARD_AT[seat], card_text(card), card_style(is_red(card), faded))
    x, y = _MIDDLE
    canvas.centre(x, y, f"{_SEATS[trick.leader]} led")
    if trick.complete:
        canvas.centre(x, y + 1, f"{_SEATS[trick.winner]} took it", "bold")


def _draw_cards(canvas: Canvas, y: int, label: str, cards: tuple[int, ...]) -> None:
    """A line of small cards."""
    if cards:
        canvas.put(0, y, f"{label}:")
        for i, card in enumerate(cards):
            canvas.put(12 + 4 * i, y, f"{card_text(card):>3}", card_style(is_red(card)))


def _last_trick(table: Table) -> tuple[str, ...]:
    """The trick before the one on the table."""
    if len(table.tricks) < 2:
        return ()
    trick = table.tricks[-2]
    cards = " ".join(card_text(card) for card in trick.cards)
    return ("Last trick", f"{_SEATS[trick.leader]} led {cards}", f"{_SEATS[trick.winner]} took it")


def _title(table: Table) -> str:
    if not table.tricks:
        return "Hearts"
    return f"Hearts · trick {len(table.tricks)} of 13" + (" · hearts broken" if table.broken else "")


def _prompt(table: Table, needed: int) -> str:
    if table.passing and needed:
        return f"{_DIRECTIONS[table.direction]}, in the order that you choose them"
    return "Your card" if needed else ""
