"""Pictures of Hearts: names and cards around a table, drawn from one seat's history alone."""

from collections.abc import Sequence

import numpy as np

from games.game import Next
from games.hearts.cards import PASS_SIZE
from games.hearts.game import HeartsGame
from games.hearts.table import UTILITY_POINTS, Table, card_text, is_red, stops, table_of
from games.tricks import Trick
from search.pictures.cards import Spot, draw_table, last_trick, played_card
from search.pictures.scene import Card, CardTable, Choice, Pause, Place, Scene, final_points

_SEATS = ("You", "West", "North", "East")
_SPOTS = (
    Spot(name=(25, 14), points=15, card=(23, 11)),
    Spot(name=(10, 4), points=8, card=(8, 5)),
    Spot(name=(25, 0), points=4, card=(23, 1)),
    Spot(name=(40, 4), points=8, card=(38, 5)),
)
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
        cards = self._card_table(table, trick)
        return Scene(
            title=_title(table),
            table=draw_table(cards, _SPOTS, _MIDDLE),
            choices=choices,
            cards=True,
            needed=needed,
            prompt=_prompt(table, needed),
            pause=Pause.NONE if trick is None else Pause.TRICK if trick.complete else Pause.CARD,
            remarks=last_trick(table.tricks, _SEATS, card_text),
            points=final_points(self._game, views) or table.points,
            card_table=cards,
        )

    def _card_table(self, table: Table, trick: Trick | None) -> CardTable:
        places = tuple(
            Place(
                name,
                player,
                to_play=table.turn == seat,
                points=table.points[seat],
                card=played_card(trick, seat, len(_SEATS), _face),
            )
            for seat, (name, player) in enumerate(zip(_SEATS, self._players, strict=True))
        )
        shown: tuple[tuple[str, tuple[Card, ...]], ...] = ()
        if table.passed and (trick is None or len(table.tricks) == 1):
            rows = ((f"To {_SEATS[table.direction]}", table.passed), (f"From {_FROM[table.direction]}", table.received))
            shown = tuple((label, tuple(map(_face, cards))) for label, cards in rows if cards)
        return CardTable(places, _middle(table, trick), shown)


def _face(card: int) -> Card:
    return Card(card_text(card), is_red(card))


def _middle(table: Table, trick: Trick | None) -> tuple[str, ...]:
    """What is said in the middle of the table."""
    if trick is not None:
        return (f"{_SEATS[trick.leader]} led", *([f"{_SEATS[trick.winner]} took it"] if trick.complete else []))
    if table.turn >= 0:
        return ("You lead" if table.turn == 0 else f"{_SEATS[table.turn]} leads",)
    return (_DIRECTIONS[table.direction],) if table.direction >= 0 else ()


def _title(table: Table) -> str:
    if not table.tricks:
        return "Hearts"
    return f"Hearts · trick {len(table.tricks)} of 13" + (" · hearts broken" if table.broken else "")


def _prompt(table: Table, needed: int) -> str:
    if table.passing and needed:
        return f"{_DIRECTIONS[table.direction]}, in the order that you choose them"
    return "Your card" if needed else ""
