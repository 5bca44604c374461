"""Scenes of a hand and layouts of games: functions of one seat's history alone.

Letter: ``T`` tokens of a history.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from rich.text import Text

from games.game import Game, Next
from search.apps.pictures.texts import Text as Said

TABLE_WIDTH, TABLE_HEIGHT = 50, 16
"""Columns and lines of the table; with the panel beside it, the hand and three lines of text it fills 80 x 24."""
YOU = Said("table.you")


class Pause(IntEnum):
    """Duration of a scene before the next one is shown."""

    NONE = 0
    CARD = 1
    TRICK = 2


@dataclass(frozen=True)
class Choice:
    """A card or action of the seat."""

    token: int
    name: str
    """Its text."""
    legal: bool
    """Whether it can be chosen now."""
    red: bool = False
    """Whether the suit of a card is red."""
    group: int = 0
    """Cards of different groups are drawn apart."""


@dataclass(frozen=True)
class Card:
    """An open card."""

    name: str
    """Its text."""
    red: bool
    faded: bool = False
    """Whether it has lost its trick."""


@dataclass(frozen=True)
class Marked:
    """A card with a sign on it that lies open beside a seat, such as a task."""

    name: str
    """Of the card."""
    sign: str
    meaning: str
    """What sign and card say, for people who do not know it."""


@dataclass(frozen=True)
class Played:
    """A complete trick."""

    leader: int
    winner: int
    cards: tuple[Card, ...]
    """Of every place, in the order of places."""


@dataclass(frozen=True)
class Place:
    """A seat at a card table."""

    name: str
    player: str
    """Name of the player there; empty if unknown."""
    to_play: bool
    points: float
    """Won so far in this hand."""
    card: Card | None
    """Its card in the trick on the table."""
    role: str = ""
    """Its role in this hand, where seats differ."""
    leads: bool = False
    """Whether it has led the trick on the table."""
    tasks: tuple[Marked, ...] = ()
    said: tuple[Marked, ...] = ()
    """Cards that it has shown to all."""


@dataclass(frozen=True)
class CardTable:
    """The contents of a card table, for other drawings than in characters."""

    places: tuple[Place, ...]
    """The observer first, then clockwise."""
    middle: tuple[str, ...]
    """Lines of text in the middle."""
    shown: tuple[tuple[str, tuple[Card, ...]], ...] = ()
    """Further cards that the observer has seen, in rows with a label."""
    tricks: tuple[Played, ...] = ()
    """All complete tricks of the hand."""
    calls: tuple[tuple[int, str], ...] = ()
    """Place and text of every call of an auction."""


@dataclass(frozen=True)
class Board:
    """A board whose cells are the choices: they are clicked, and a cursor moves over them."""

    choices: np.ndarray
    """``int[rows, columns]``: the token that each cell stands for, -1 for none; the top row first."""
    draw: Callable[[Collection[int]], Text]
    """The table with these choices (tokens) marked."""
    left: int
    top: int
    """Where its first cell is on the table."""
    width: int
    """Columns of a cell; it is a line high."""

    def at(self, x: int, y: int) -> int | None:
        """The choice at a column and a line of the table."""
        row, column = y - self.top, (x - self.left) // self.width
        inside = 0 <= row < self.choices.shape[0] and 0 <= column < self.choices.shape[1]
        return int(self.choices[row, column]) if inside and self.choices[row, column] >= 0 else None

    def beside(self, token: int, right: int, down: int) -> int:
        """The nearest choice in a direction, of -1, 0 or 1 each; ``token`` itself where there is none."""
        here, found, nearest = self._middle(token), token, np.inf
        for other in np.unique(self.choices[self.choices >= 0]):
            row, column = self._middle(int(other)) - here
            along, across = row * down + column * right, abs(row * right) + abs(column * down)
            if along > 0 and along + 2 * across < nearest:
                found, nearest = int(other), along + 2 * across
        return found

    def _middle(self, token: int) -> np.ndarray:
        """``float[2]``: mean row and column of a choice's cells."""
        return np.argwhere(self.choices == token).mean(axis=0)


@dataclass(frozen=True)
class Scene:
    """A moment of a hand as one seat sees it."""

    title: str
    table: Text
    """At most ``TABLE_HEIGHT`` lines of ``TABLE_WIDTH`` columns."""
    choices: tuple[Choice, ...]
    cards: bool
    """Whether the choices are cards held in a hand."""
    needed: int
    """Number of choices that make up the seat's present decision; 0 without one."""
    prompt: str
    pause: Pause = Pause.NONE
    remarks: tuple[str, ...] = ()
    """Lines below the points, such as the trick before."""
    points: tuple[float, ...] = ()
    """Points of each seat, the observer's first: at the end of the hand, and earlier where a game counts them."""
    card_table: CardTable | None = None
    """The contents of ``table``; None for games without cards."""
    board: Board | None = None
    """The board in ``table``, if that is one."""
    ordered: bool = True
    """Whether the seat decides the order of several choices; if not, they are played in the order of tokens."""
    headline: str = ""
    """Who won the hand, and by how much; empty before its end."""
    rules: str = ""
    """What is special about this deal."""


class Layout:
    """Pictures of a game."""

    names: tuple[str, ...]
    """Short names of the seats, the observer's first, then clockwise."""
    points_per_utility = 0.0
    """Points that a utility of 1 stands for; 0 if unknown."""
    missions: Sequence[str] = ()
    """What to do in each of ``Game.scenarios``, where people choose one. A utility is the chance of a success then."""
    seen_by_all: Collection[str] = ()
    """Labels of rows of cards that everybody sees."""

    def __init__(self, game: Game, players: Sequence[str], observer: str = YOU) -> None:
        """
        Args:
            players: names, the observer's first, then clockwise.
            observer: what its seat is called; spectators call it by another name.
        """
        self.game, self.players = game, players
        self.names = (observer, *self.names[1:])

    @property
    def scales(self) -> tuple[str, str]:
        """What the points of places are called during a hand, and those at its end."""
        return Said("table.points"), Said("table.points")

    def stops(self, tokens: np.ndarray) -> list[int]:
        """Lengths of the prefixes of a history (``[T]``) that are scenes, in order; at least one."""
        raise NotImplementedError

    def scene(self, tokens: np.ndarray) -> Scene:
        """The scene after a history (``[T]``)."""
        raise NotImplementedError

    def public(self, scene: Scene) -> Scene:
        """What spectators see of a scene: nothing that a seat alone has seen."""
        table = scene.card_table
        rows = () if table is None else tuple(row for row in table.shown if row[0] in self.seen_by_all)
        cards = None if table is None else replace(table, shown=rows)
        return replace(scene, table=Text(), choices=(), cards=False, needed=0, prompt="", card_table=cards)

    def token(self, token: int) -> str:
        """A token's name for people."""
        return self.game.vocabulary.name(token)

    def words(self, tokens: Iterable[int]) -> tuple[Choice, ...]:
        """Legal actions as choices by name."""
        return tuple(Choice(token, self.token(token), True) for token in tokens)

    def does(self, seat: int, what: str, **holes: object) -> str:
        """What a seat does, such as ``skat.plays``; the text for "you" is ``skat.you_plays``."""
        group, name = what.split(".")
        if self.names[seat] == YOU:
            return Said(f"{group}.you_{name}", **holes)
        return Said(what, who=self.names[seat], **holes)

    def state_of(self, tokens: np.ndarray) -> tuple[list[int], bool, tuple[float, ...]]:
        """The legal actions after a history (``[T]``), whether the observer is to act, and the points of each seat, its
        own first; no points before the end of the hand."""
        game, views = self.game, self.game.views(tokens[None], np.array([len(tokens)]))
        legal, label = np.flatnonzero(game.view_legal(views)[0]).tolist(), int(game.view_outcome(views)[0])
        points = tuple(game.view_points(views)[0].tolist()) if label >= 0 else ()
        return legal, bool(game.next(views)[0] == Next.ACTION), points
