"""Pictures of Hearts: names and cards around a table, drawn from one seat's history alone."""

import numpy as np

from games.hearts.cards import NUM_CARDS, PASS_SIZE
from games.hearts.game import HeartsGame
from games.hearts.table import UTILITY_POINTS, Table, card_text, is_red, stops, table_of
from games.tricks import Trick
from search.apps.pictures.cards import CardLayout, Spot, draw_table, pause_at
from search.apps.pictures.scene import Card, Scene
from search.apps.pictures.texts import Text, joined

_SPOTS = (
    Spot(name=(25, 14), points=15, card=(23, 11)),
    Spot(name=(10, 4), points=8, card=(8, 5)),
    Spot(name=(25, 0), points=4, card=(23, 1)),
    Spot(name=(40, 4), points=8, card=(38, 5)),
)
_MIDDLE = 25, 6
_SEATS = tuple(Text(f"table.{name}") for name in ("you", "west", "north", "east"))
_DIRECTIONS = (Text("hearts.no_pass"), *(Text("hearts.pass", who=who) for who in _SEATS[1:]))


class HeartsLayout(CardLayout):
    """Hearts, the observer at the bottom."""

    game: HeartsGame
    names = _SEATS
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
        middle = self._middle(table, trick)
        cards = self.card_table(table.turn, table.tricks, middle, self._passed(table), points=table.points)
        return Scene(
            title=_title(table),
            table=draw_table(cards, _SPOTS, _MIDDLE),
            choices=self.hand(table.hand, legal, lambda card: card & 3),
            cards=True,
            needed=needed,
            prompt=_prompt(table, needed),
            pause=pause_at(trick, moved=trick is not None),
            remarks=self.last_trick(table.tricks),
            points=points or table.points,
            card_table=cards,
            headline=self._headline(table, points) if points else "",
        )

    def _headline(self, table: Table, points: tuple[float, ...]) -> str:
        """Who has the fewest points and by how many, or the moon."""
        order = sorted(range(4), key=points.__getitem__)
        best, least, gap = order[0], f"{points[order[0]]:g}", points[order[1]] - points[order[0]]
        if table.shooter >= 0:
            return self.does(table.shooter, "hearts.moon")
        if not gap:
            winners = (self.names[seat] for seat in order if points[seat] == points[best])
            return Text("hearts.tie", who=joined("table.comma", *winners), points=least)
        return self.does(best, "hearts.fewest", points=least, by=f"{gap:g}")

    def _passed(self, table: Table) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The cards passed and received, until the first trick is over."""
        if not table.passed or len(table.tricks) > 1:
            return ()
        to, giver = self.names[table.direction], self.names[-table.direction]
        return ((Text("hearts.to", who=to), table.passed), (Text("hearts.from", who=giver), table.received))

    def _middle(self, table: Table, trick: Trick | None) -> tuple[str, ...]:
        """Text in the middle of the table."""
        if trick is not None:
            taken = [self.does(trick.winner, "table.took")] if trick.complete else []
            return (self.does(trick.leader, "table.led"), *taken)
        if table.turn >= 0:
            return (self.does(table.turn, "hearts.leads"),)
        return (_DIRECTIONS[table.direction],) if table.direction >= 0 else ()


def _title(table: Table) -> str:
    if not table.tricks:
        return Text("games.hearts")
    broken = [Text("hearts.broken")] if table.broken else []
    return joined("table.dot", Text("games.hearts"), Text("table.trick", number=len(table.tricks), all=13), *broken)


def _prompt(table: Table, needed: int) -> str:
    if table.passing and needed:
        return Text("hearts.in_order", what=_DIRECTIONS[table.direction])
    return Text("table.your_card") if needed else ""
