"""Pictures of Hearts: names and cards around a table, drawn from one seat's history alone."""

import numpy as np

from games.hearts.cards import NUM_CARDS, PASS_SIZE
from games.hearts.game import HeartsGame
from games.hearts.table import UTILITY_POINTS, Table, card_text, is_red, stops, table_of
from games.tricks import Trick
from search.apps.pictures.cards import CardLayout, Spot, draw_table, pause_at
from search.apps.pictures.scene import Card, Scene

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
"""The seat that passes to the observer, by direction."""


class HeartsLayout(CardLayout):
    """Hearts, the observer at the bottom."""

    game: HeartsGame
    names = ("You", "West", "North", "East")
    points_per_utility = float(UTILITY_POINTS)

    def stops(self, tokens: np.ndarray) -> list[int]:
        """See ``Layout``."""
        return stops(tokens)

    def token(self, token: int) -> str:
        """See ``Layout``."""
        return card_text(token) if token < NUM_CARDS else super().token(token)

    def face(self, card: int) -> Card:
        """See ``CardLayout``."""
        return Card(card_text(card), is_red(card))

    def scene(self, tokens: np.ndarray) -> Scene:
        """See ``Layout``."""
        table = table_of(self.game, tokens)
        legal, my_turn, points = self.state_of(tokens)
        needed = (PASS_SIZE - len(table.passed) if table.passing else 1) if my_turn else 0
        trick = table.tricks[-1] if table.tricks else None
        cards = self.card_table(table.turn, trick, self._middle(table, trick), self._passed(table), points=table.points)
        return Scene(
            title=_title(self.game.title, table),
            table=draw_table(cards, _SPOTS, _MIDDLE),
            choices=self.hand(table.hand, legal, lambda card: card & 3),
            cards=True,
            needed=needed,
            prompt=_prompt(table, needed),
            pause=pause_at(trick, moved=trick is not None),
            remarks=self.last_trick(table.tricks),
            points=points or table.points,
            card_table=cards,
        )

    def _passed(self, table: Table) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The cards passed and received, until the first trick is over."""
        if not table.passed or len(table.tricks) > 1:
            return ()
        to, giver = self.names[table.direction], _FROM[table.direction]
        return ((f"To {to}", table.passed), (f"From {giver}", table.received))

    def _middle(self, table: Table, trick: Trick | None) -> tuple[str, ...]:
        """Text in the middle of the table."""
        if trick is not None:
            taken = [f"{self.names[trick.winner]} took it"] if trick.complete else []
            return (f"{self.names[trick.leader]} led", *taken)
        if table.turn >= 0:
            return (self.does(table.turn, "lead"),)
        return (_DIRECTIONS[table.direction],) if table.direction >= 0 else ()


def _title(name: str, table: Table) -> str:
    if not table.tricks:
        return name
    return f"{name} · trick {len(table.tricks)} of 13" + (" · hearts broken" if table.broken else "")


def _prompt(table: Table, needed: int) -> str:
    if table.passing and needed:
        return f"{_DIRECTIONS[table.direction]}, in the order that you choose them"
    return "Your card" if needed else ""
