"""Pictures of The Crew: four names and cards around a table, drawn from one seat's history alone."""

from collections.abc import Sequence

import numpy as np

from games.crew.cards import MARKS, NUM_CARDS, UNMARKED
from games.crew.game import CrewGame
from games.crew.missions import MISSIONS
from games.crew.public import DIRECTION, DISTRESS, DRAFT, MARK, NAME, PASS, PICK_TILE, PLACE_TILE, PLAY, POLL, TALK
from games.crew.table import Table, Task, card_text, stops, table_of
from games.game import Next
from search.pictures.cards import Spot, draw_table, played_card
from search.pictures.scene import Card, CardTable, Choice, Pause, Place, Scene, final_points

_SEATS = ("You", "Left", "Across", "Right")
_SPOTS = (
    Spot(name=(25, 14), points=15, card=(23, 11)),
    Spot(name=(10, 5), points=4, card=(8, 6)),
    Spot(name=(25, 0), points=4, card=(23, 1)),
    Spot(name=(40, 5), points=4, card=(38, 6)),
)
_MIDDLE = 25, 7
_MIDDLE_WIDTH = 24
"""Columns between the cards of the seats to the left and to the right."""
_FIRST_ROCKET = 36
_PROMPTS = {
    PICK_TILE: "Take a tile from a task, or leave them: no tile",
    PLACE_TILE: "The task that gets the tile",
    DRAFT: "Take a task",
    POLL: "The commander asks you: yes or no",
    NAME: "Commander, name a seat",
    DISTRESS: "Send the distress signal?",
    DIRECTION: "Pass cards to the left or to the right",
    PASS: "The card that you pass on",
    TALK: "Show a card, or stay silent",
    MARK: "What is the card?",
    PLAY: "Your card",
}


class CrewLayout:
    """The Crew, the observer at the bottom."""

    names: tuple[str, ...] = _SEATS
    points_per_utility = 0.0

    def __init__(self, game: CrewGame, players: Sequence[str]) -> None:
        """``players``: who sits where: the observer, then to its left, across and to its right."""
        self._game = game
        self._players = players

    def stops(self, tokens: np.ndarray) -> list[int]:
        """See ``Layout``."""
        return stops(self._game, tokens)

    def token(self, token: int) -> str:
        """See ``Layout``."""
        return self._game.vocabulary.name(token)

    def scene(self, tokens: np.ndarray) -> Scene:
        """See ``Layout``."""
        table = table_of(self._game, tokens)
        views = self._game.views(tokens[None], np.array([len(tokens)]))
        legal = np.flatnonzero(self._game.view_legal(views)[0]).tolist()
        my_turn = self._game.next(views)[0] == Next.ACTION
        speaks = bool(my_turn and table.phase not in (PLAY, PASS))
        cards = self._card_table(table, speaks)
        return Scene(
            title=_title(table),
            table=draw_table(cards, _SPOTS, _MIDDLE),
            choices=tuple(Choice(t, self.token(t), True) for t in legal) if speaks else _hand(table, legal),
            cards=not speaks,
            needed=int(my_turn),
            prompt=_PROMPTS[table.phase] if my_turn else "",
            pause=_pause(table),
            remarks=_radio(table),
            points=final_points(self._game, views),
            card_table=cards,
        )

    def _card_table(self, table: Table, speaks: bool) -> CardTable:
        places = tuple(
            Place(
                name,
                player,
                to_play=table.turn == seat,
                points=0,
                card=played_card(table.trick, seat, len(_SEATS), _face),
                role=_role(table, seat),
            )
            for seat, (name, player) in enumerate(zip(_SEATS, self._players, strict=True))
        )
        free = tuple(task for task in table.tasks if task.owner < 0)
        rows = (("Your hand", table.hand if speaks else ()), ("Tasks", tuple(task.card for task in free)))
        shown = tuple((label, tuple(map(_face, cards))) for label, cards in rows if cards)
        return CardTable(places, _middle(table), shown)


def _hand(table: Table, legal: Sequence[int]) -> tuple[Choice, ...]:
    return tuple(
        Choice(card, card_text(card), card in legal, card >= _FIRST_ROCKET, min(card, NUM_CARDS) // 9)
        for card in table.hand
    )


def _face(card: int) -> Card:
    """Rockets are red, as they win over all others."""
    return Card(card_text(card), card >= _FIRST_ROCKET)


def _role(table: Table, seat: int) -> str:
    """Its tasks that are still to do, else what it is in this mission."""
    tasks = [_task_text(task) for task in table.tasks if task.owner == seat and not task.done]
    if tasks:
        return " ".join(tasks)
    return "commander" if seat == table.commander else "named" if seat == table.named else ""


def _task_text(task: Task) -> str:
    """Card and tile, such as ``P9:1``, ``P9>>`` or ``P9ω``; three of them fit beside those of a neighbour."""
    tile = f":{task.tile}" if task.tile.isdigit() else "ω" if task.tile == "omega" else task.tile
    return card_text(task.card) + tile


def _middle(table: Table) -> tuple[str, ...]:
    """Who leads or took the trick or how the mission ended, and its special rules."""
    lines = []
    if table.result >= 0:
        lines.append("Success" if table.result else "Failure")
    elif table.trick is not None:
        seat = table.trick.winner if table.trick.complete else table.trick.leader
        lines.append(f"{_SEATS[seat]} {'took it' if table.trick.complete else 'led'}")
    special = MISSIONS[table.mission - 1].special if table.mission else ()
    lines += [", ".join(special)] if special else []
    return tuple(line[:_MIDDLE_WIDTH] for line in lines[:2])


def _radio(table: Table) -> tuple[str, ...]:
    """What was said, a line for each seat that has spoken; there is room for four."""
    said = [
        f"{_SEATS[seat]}: {card_text(card)}" + (f" {MARKS[mark]}" if 0 <= mark < UNMARKED else "")
        for seat, card, mark in table.said
    ]
    return ("Radio", *said) if 0 < len(said) < 4 else tuple(said)


def _pause(table: Table) -> Pause:
    if table.trick is not None and table.trick.complete:
        return Pause.TRICK
    return Pause.CARD if table.phase in (TALK, PLAY) else Pause.NONE


def _title(table: Table) -> str:
    if not table.mission:
        return "The Crew"
    number = sum(table.tricks) + int(table.trick is not None and not table.trick.complete)
    return f"The Crew · mission {table.mission}" + (f" · trick {number} of 10" if number else "")
