"""Pictures of Skat: three names and cards around a table, drawn from one seat's history alone."""

from collections.abc import Sequence

import numpy as np

from games.skat.cards import GAMES, HOLD, MODIFIERS, NUM_CARDS, SEATS
from games.skat.game import SkatGame
from games.skat.rules import AUCTION, CHOICE, DECLARATION, DISCARD, MODIFIER, OVER, PLAY
from games.skat.table import UTILITY_POINTS, Table, card_text, group_of, is_red, stops, table_of
from games.tricks import Trick
from search.apps.pictures.cards import CardLayout, Spot, draw_table, pause_at
from search.apps.pictures.scene import TABLE_WIDTH, Card, Scene
from search.apps.pictures.texts import Text, joined, word

_SPOTS = (
    Spot(name=(25, 14), points=15, card=(23, 11)),
    Spot(name=(10, 4), points=8, card=(8, 5)),
    Spot(name=(40, 4), points=8, card=(38, 5)),
)
_MIDDLE = 25, 0
_SPOKEN = (AUCTION, CHOICE, DECLARATION, MODIFIER)
"""Phases in which a seat speaks instead of playing a card."""
_SEEN_BY_ALL = Text("skat.open"), Text("skat.turned_over"), Text("skat.and")
_TWO_ROWS = 9
"""From this number on, open cards need two rows."""


class SkatLayout(CardLayout):
    """Skat, the observer at the bottom."""

    game: SkatGame
    names = (Text("table.you"), Text("table.left"), Text("table.right"))
    seen_by_all = _SEEN_BY_ALL
    points_per_utility = float(UTILITY_POINTS)

    @property
    def scales(self) -> tuple[str, str]:
        """See ``Layout``."""
        return Text("skat.card_points"), Text(f"skat.{self.game.options['scoring']}")

    def stops(self, tokens: np.ndarray) -> list[int]:
        """See ``Layout``."""
        return stops(self.game, tokens)

    def token(self, token: int) -> str:
        """See ``Layout``."""
        return card_text(token) if token < NUM_CARDS else word("skat_words", super().token(token))

    def face(self, card: int) -> Card:
        """See ``CardLayout``."""
        return Card(card_text(card), is_red(card))

    def scene(self, tokens: np.ndarray) -> Scene:
        """See ``Layout``."""
        table = table_of(self.game, tokens)
        legal, my_turn, points = self.state_of(tokens)
        speaks = my_turn and table.phase in _SPOKEN
        trick = table.tricks[-1] if table.tricks else None
        cards = self.card_table(
            table.turn,
            table.tricks,
            self._middle(table, trick),
            _shown(table, speaks),
            points=table.points,
            roles=[_role(table, seat) for seat in range(3)],
            calls=table.calls,
        )
        # Any two cards may be discarded, though the rules fix their order.
        free = table.hand if table.phase == DISCARD and not table.laid else legal
        hand = self.hand(table.hand, free, lambda card: group_of(card, table.game))
        return Scene(
            title=_title(table),
            table=draw_table(cards, _SPOTS, _MIDDLE),
            choices=self.words(legal) if speaks else hand,
            cards=not speaks,
            needed=(2 - len(table.laid) if table.phase == DISCARD else 1) if my_turn else 0,
            prompt=self._prompt(table) if my_turn else "",
            pause=pause_at(trick, moved=bool(table.calls)),
            remarks=self.last_trick(table.tricks),
            points=points,
            card_table=cards,
            ordered=table.phase != DISCARD,
            headline=self._headline(table),
        )

    def _headline(self, table: Table) -> str:
        """Who won and how; empty before the end."""
        if (result := table.result) is None:
            return Text("skat.all_passed") if table.phase == OVER and table.soloist < 0 else ""
        how = "won" if result.won else "overbid" if result.overbid else "lost"
        points = Text("skat.early") if result.points is None else Text("skat.with_points", points=result.points)
        return self.does(table.soloist, f"skat.{how}", points=points, value=result.value)

    def _auction(self, table: Table) -> str:
        """The last calls, as many as fit into a line."""
        if table.phase == OVER:
            return Text("skat.all_passed")
        line = ""
        for seat, token in reversed(table.calls):
            said = Text("skat.call", who=self.names[seat], call=self.token(token))
            if len(said) + len(line) + 5 > TABLE_WIDTH:
                return joined("table.dot", "…", line)
            line = joined("table.dot", said, line) if line else said
        return line or Text("skat.begins")

    def _prompt(self, table: Table) -> str:
        """The question to the observer, on its turn."""
        if table.phase == AUCTION:
            if table.calls and table.calls[-1][1] > HOLD:
                return Text("skat.hold", who=self.names[table.calls[-1][0]], bid=table.bid)
            return Text("skat.bid_more", bid=table.bid) if table.bid else Text("skat.bid")
        return {
            CHOICE: Text("skat.talon"),
            DISCARD: Text("skat.discard"),
            DECLARATION: Text("skat.declare", bid=table.bid),
            MODIFIER: Text("skat.announce"),
            PLAY: Text("table.your_card"),
        }[table.phase]

    def _middle(self, table: Table, trick: Trick | None) -> tuple[str, ...]:
        """The auction or the contract, the trick, and the result."""
        lines = [self._auction(table) if table.soloist < 0 else self._contract(table)]
        if trick is not None:
            done = (trick.winner, "table.took") if trick.complete else (trick.leader, "table.led")
            lines.append(self.does(*done))
        return (*lines, self._headline(table)) if table.result else tuple(lines)

    def _contract(self, table: Table) -> str:
        if table.game < 0:
            return self.does(table.soloist, "skat.has_bid", bid=table.bid)
        game, modifier = word("skat_words", GAMES[table.game]), MODIFIERS[table.modifier] if table.modifier else ""
        if not table.picked_up:
            game = Text("skat.ouvert_hand" if modifier == "ouvert" else "skat.hand", game=game)
            modifier = modifier.removeprefix("ouvert")
        game = Text(f"skat.{modifier}", game=game) if modifier else game
        return self.does(table.soloist, "skat.plays", game=game, bid=table.bid)


def _role(table: Table, seat: int) -> str:
    """A seat's place in the auction until a soloist is known, then its side."""
    if table.soloist < 0:
        return word("skat_words", SEATS[(table.place + seat) % 3])
    return Text("skat.soloist" if seat == table.soloist else "skat.defender")


def _shown(table: Table, speaks: bool) -> Sequence[tuple[str, tuple[int, ...]]]:
    """Rows of cards beside the hand, including the hand itself while its place shows words."""
    rows: list[tuple[str, tuple[int, ...]]] = [
        (Text("table.your_hand"), table.hand if speaks else ()),
        (Text("skat.picked_up"), table.talon if table.phase == DISCARD else ()),
        (Text("skat.put_away"), table.laid if table.phase in (PLAY, OVER) else ()),
        (_SEEN_BY_ALL[0], table.open),
        (_SEEN_BY_ALL[1], table.turned[:_TWO_ROWS]),
        (_SEEN_BY_ALL[2], table.turned[_TWO_ROWS:]),
    ]
    return [row for row in rows if row[1]][-2:]


def _title(table: Table) -> str:
    if table.game < 0:
        return Text("games.skat")
    trick = [Text("table.trick", number=len(table.tricks), all=10)] if table.tricks else []
    return joined("table.dot", Text("games.skat"), word("skat_words", GAMES[table.game]), *trick)
