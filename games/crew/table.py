"""What lies on the table of The Crew as one seat sees it, read from its history alone.

Seats are relative to the observer: 0 itself, 1 left, 2 across, 3 right.
"""

from dataclasses import dataclass

import numpy as np

from games.crew.cards import MAX_TASKS, NO_TILE, NUM_CARDS, SILENT, TILES, VOCABULARY
from games.crew.game import CrewGame
from games.crew.view import (
    DEALT,
    GAINS,
    HEADER,
    LOSES,
    PLAYS,
    RECEIVES,
    SEES_COMMANDER,
    SEES_HOLDER,
    SEES_TASK,
    next_of,
    stage_of,
)
from games.game import Next
from games.tricks import Trick, in_tricks, turns_of

_ARRIVING = (HEADER, DEALT, SEES_COMMANDER, SEES_HOLDER, SEES_TASK, RECEIVES, LOSES, GAINS)
"""Stages of tokens that are no action of a seat."""


@dataclass(frozen=True)
class Task:
    """A task that lies open."""

    card: int
    tile: str
    """Its name; empty without one."""
    owner: int
    """-1 while it has none."""
    done: bool


@dataclass(frozen=True)
class Table:
    """What the observer knows of the deal, as far as people look at it."""

    mission: int
    """0 before the first dealt card."""
    phase: int
    """One of ``games.crew.public``'s."""
    turn: int
    """Seat to act, -1 for none."""
    commander: int
    """-1 before it is known, as the next."""
    named: int
    hand: tuple[int, ...]
    tasks: tuple[Task, ...]
    said: tuple[tuple[int, int, int], ...]
    """Seat, card and mark (``games.crew.cards``; -1 before the mark is known) of every statement."""
    tricks: tuple[int, ...]
    """How many each seat has won."""
    played: tuple[Trick, ...]
    """All tricks so far; the last may be under way."""
    result: int
    """1 success, 0 failure, -1 open."""

    @property
    def trick(self) -> Trick | None:
        """The last one."""
        return self.played[-1] if self.played else None


def table_of(game: CrewGame, tokens: np.ndarray) -> Table:
    """The table of a history (token ids ``[T]``, complete or not); what stands behind a token of a wrong kind is left
    out."""
    views = game.prefixes(np.asarray(tokens)[None])[0]
    view, public = views[-1], views[-1]["public"]
    return Table(
        mission=int(public["mission"]),
        phase=int(public["phase"]),
        turn=int(public["turn"]),
        commander=int(public["commander"]),
        named=int(public["named"]),
        hand=tuple(card for card in range(NUM_CARDS) if int(view["hand"]) >> card & 1),
        tasks=tuple(_task(public, n) for n in range(MAX_TASKS) if public["tasks"][n] >= 0),
        said=tuple(
            (seat, int(public["said"][seat]), int(public["marks"][seat]))
            for seat in range(4)
            if public["said"][seat] >= 0
        ),
        tricks=tuple(int(number) for number in public["tricks"]),
        played=in_tricks(turns_of(views, tokens, lambda view: stage_of(view) == PLAYS), 4),
        result=int(public["result"]),
    )


def stops(game: CrewGame, tokens: np.ndarray) -> list[int]:
    """Lengths of a history's beginnings (token ids ``[T]``) that are worth a look: all that arrived by itself, then
    whatever a seat did. Silence is passed over unless the observer is asked next."""
    views = game.prefixes(np.asarray(tokens)[None])[0]
    lengths = [length for length in range(1, len(views)) if _stands(views[length], length, int(tokens[length - 1]))]
    return lengths or [len(tokens)]


def card_text(card: int) -> str:
    """A card as it is called: ``P9`` is the pink 9, ``R`` a rocket."""
    return VOCABULARY.name(card)


def _stands(view: np.void, length: int, last: int) -> bool:
    if int(view["length"]) != length or stage_of(view) in _ARRIVING:
        return False
    return last != SILENT or next_of(view) == Next.ACTION


def _task(public: np.void, n: int) -> Task:
    tile = int(public["tiles"][n])
    name = TILES[tile] if tile != NO_TILE else ""
    return Task(int(public["tasks"][n]), name, int(public["owners"][n]), bool(public["done"][n]))
