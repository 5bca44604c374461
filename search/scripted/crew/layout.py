"""Pictures of The Crew: four names and cards around a table, drawn from one seat's history alone."""

from dataclasses import replace

import numpy as np

from games.crew.cards import MARKS, UNMARKED
from games.crew.game import CrewGame
from games.crew.missions import MISSIONS
from games.crew.public import DIRECTION, DISTRESS, DRAFT, MARK, NAME, PASS, PICK_TILE, PLACE_TILE, PLAY, POLL, TALK
from games.crew.table import Table, Task, card_text, stops, table_of
from search.apps.pictures.cards import CardLayout, Spot, draw_table, pause_at
from search.apps.pictures.scene import Card, Scene

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


class CrewLayout(CardLayout):
    """The Crew, the observer at the bottom."""

    game: CrewGame
    names = ("You", "Left", "Across", "Right")
    seen_by_all = ("Tasks",)

    def stops(self, tokens: np.ndarray) -> list[int]:
        """See ``Layout``."""
        return stops(self.game, tokens)

    def face(self, card: int) -> Card:
        """Rockets are red, as they beat all others."""
        return Card(card_text(card), card >= _FIRST_ROCKET)

    def scene(self, tokens: np.ndarray) -> Scene:
        """See ``Layout``."""
        table = table_of(self.game, tokens)
        legal, my_turn, points = self.state_of(tokens)
        speaks = my_turn and table.phase not in (PLAY, PASS)
        free = [task.card for task in table.tasks if task.owner < 0]
        cards = self.card_table(
            table.turn,
            table.trick,
            self._middle(table),
            (("Your hand", table.hand if speaks else ()), ("Tasks", free)),
            roles=[_role(table, seat) for seat in range(4)],
        )
        return Scene(
            title=_title(self.game.title, table),
            table=draw_table(replace(cards, middle=_shortened(cards.middle)), _SPOTS, _MIDDLE),
            choices=self.words(legal) if speaks else self.hand(table.hand, legal, lambda card: card // 9),
            cards=not speaks,
            needed=int(my_turn),
            prompt=_PROMPTS[table.phase] if my_turn else "",
            pause=pause_at(table.trick, moved=table.phase in (TALK, PLAY)),
            remarks=self._radio(table),
            points=points,
            card_table=cards,
        )

    def _middle(self, table: Table) -> tuple[str, ...]:
        """The seat that leads or took the trick, or the mission's result; and its special rules."""
        lines = []
        if table.result >= 0:
            lines.append("Success" if table.result else "Failure")
        elif table.trick is not None:
            seat = table.trick.winner if table.trick.complete else table.trick.leader
            lines.append(f"{self.names[seat]} {'took it' if table.trick.complete else 'led'}")
        special = MISSIONS[table.mission - 1].special if table.mission else ()
        lines += [", ".join(special)] if special else []
        return tuple(lines)

    def _radio(self, table: Table) -> tuple[str, ...]:
        """Statements by radio, a line for each seat that made one; there is room for four."""
        said = [
            f"{self.names[seat]}: {card_text(card)}" + (f" {MARKS[mark]}" if 0 <= mark < UNMARKED else "")
            for seat, card, mark in table.said
        ]
        return ("Radio", *said) if 0 < len(said) < 4 else tuple(said)


def _role(table: Table, seat: int) -> str:
    """A seat's open tasks, else its role in this mission."""
    tasks = [_task_text(task) for task in table.tasks if task.owner == seat and not task.done]
    if tasks:
        return " ".join(tasks)
    return "commander" if seat == table.commander else "named" if seat == table.named else ""


def _task_text(task: Task) -> str:
    """Card and tile, such as ``P9:1``, ``P9>>`` or ``P9ω``; three fit beside a neighbour's."""
    tile = f":{task.tile}" if task.tile.isdigit() else "ω" if task.tile == "omega" else task.tile
    return card_text(task.card) + tile


def _shortened(middle: tuple[str, ...]) -> tuple[str, ...]:
    """What there is room for between the cards."""
    return tuple(line[:_MIDDLE_WIDTH] for line in middle)


def _title(name: str, table: Table) -> str:
    if not table.mission:
        return name
    number = sum(table.tricks) + int(table.trick is not None and not table.trick.complete)
    return f"{name} · mission {table.mission}" + (f" · trick {number} of 10" if number else "")
