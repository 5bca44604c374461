"""Pictures of The Crew: four names and cards around a table, drawn from one seat's history alone."""

from dataclasses import replace

import numpy as np

from games.crew.cards import MARKS, UNMARKED
from games.crew.game import CrewGame
from games.crew.missions import MISSIONS, Mission
from games.crew.public import DIRECTION, DISTRESS, DRAFT, MARK, NAME, PASS, PICK_TILE, PLACE_TILE, PLAY, POLL, TALK
from games.crew.table import Table, Task, card_text, stops, table_of
from search.apps.pictures.cards import CardLayout, Spot, draw_table, pause_at
from search.apps.pictures.scene import Card, Marked, Place, Scene
from search.apps.pictures.texts import Text, joined, word

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
_SIGNS = ("▲", "●", "▼", "")
"""Of the radio token, by its mark."""
_PROMPTS = {
    PICK_TILE: Text("crew.pick_tile"),
    PLACE_TILE: Text("crew.place_tile"),
    DRAFT: Text("crew.draft"),
    POLL: Text("crew.poll"),
    NAME: Text("crew.name"),
    DISTRESS: Text("crew.distress"),
    DIRECTION: Text("crew.direction"),
    PASS: Text("crew.pass"),
    TALK: Text("crew.talk"),
    MARK: Text("crew.mark"),
    PLAY: Text("table.your_card"),
}


def rules_of(mission: Mission) -> str:
    """What to do in a mission, in sentences."""
    tasks = "tasks" if mission.tasks > 1 else "one_task"
    said = [Text(f"crew_rules.{tasks}", count=mission.tasks)] if mission.tasks else []
    signs = {"numbers": "1", "arrows": ">", "omega": "omega"}
    said += [Text(f"crew_rules.{name}") for name, tile in signs.items() if tile in mission.tiles]
    for name in (mission.allocation, mission.communication, *mission.special):
        if name not in ("draft", "no allocation", "normal"):
            said.append(Text(f"crew_rules.{name}"))
    return joined("table.space", *said)


class CrewLayout(CardLayout):
    """The Crew, the observer at the bottom."""

    game: CrewGame
    missions = tuple(map(rules_of, MISSIONS))
    names = tuple(Text(f"table.{name}") for name in ("you", "left", "across", "right"))
    seen_by_all = (Text("crew.tasks"),)

    def stops(self, tokens: np.ndarray) -> list[int]:
        """See ``Layout``."""
        return stops(self.game, tokens)

    def token(self, token: int) -> str:
        """See ``Layout``."""
        return word("crew_words", super().token(token))

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
            table.played,
            self._middle(table),
            ((Text("table.your_hand"), table.hand if speaks else ()), (Text("crew.tasks"), free)),
            roles=[_role(table, seat) for seat in range(4)],
        )
        cards = replace(cards, places=tuple(_with_tasks(table, *place) for place in enumerate(cards.places)))
        shortened = tuple(line[:_MIDDLE_WIDTH] for line in cards.middle)
        return Scene(
            title=_title(table),
            table=draw_table(replace(cards, middle=shortened), _SPOTS, _MIDDLE),
            choices=self.words(legal) if speaks else self.hand(table.hand, legal, lambda card: card // 9),
            cards=not speaks,
            needed=int(my_turn),
            prompt=_PROMPTS[table.phase] if my_turn else "",
            pause=pause_at(table.trick, moved=table.phase in (TALK, PLAY)),
            remarks=self._radio(table),
            points=points,
            card_table=cards,
            headline=self._headline(table) if table.result >= 0 else "",
            rules=self.missions[table.mission - 1] if table.mission else "",
        )

    def _headline(self, table: Table) -> str:
        """Success, or which task failed and at which card."""
        number, trick = sum(table.tricks), table.trick
        if table.result or trick is None:
            return Text("crew.done", number=table.mission)
        lost = [task for task in table.tasks if task.card in trick.cards and task.owner != trick.winner]
        at = {"number": number, "card": card_text(trick.cards[(trick.winner - trick.leader) % 4])}
        if lost:
            owner, winner = (self.names[seat] for seat in (lost[0].owner, trick.winner))
            return Text("crew.failed_task", task=card_text(lost[0].card), owner=owner, who=winner, **at)
        special = MISSIONS[table.mission - 1].special
        if special and (len(table.tasks) == 0 or all(task.done or not task.tile for task in table.tasks)):
            return Text("crew.failed_rule", who=self.names[trick.winner], **at)
        return Text("crew.failed_order", who=self.names[trick.winner], **at)

    def _middle(self, table: Table) -> tuple[str, ...]:
        """The seat that leads or took the trick, or the mission's result; and its special rules."""
        lines = list[str]()
        if table.result >= 0:
            lines.append(Text("crew.success" if table.result else "crew.failure"))
        elif table.trick is not None:
            trick = table.trick
            done = (trick.winner, "table.took") if trick.complete else (trick.leader, "table.led")
            lines.append(self.does(*done))
        special = MISSIONS[table.mission - 1].special if table.mission else ()
        words = (word("crew_words", one) for one in special)
        return (*lines, joined("table.comma", *words)) if special else tuple(lines)

    def _radio(self, table: Table) -> tuple[str, ...]:
        """Statements by radio, a line for each seat that made one; there is room for four."""
        said = [
            Text("crew.said", who=self.names[seat], card=_marked(card_text(card), mark))
            for seat, card, mark in table.said
        ]
        return (Text("crew.radio"), *said) if 0 < len(said) < 4 else tuple(said)


def _role(table: Table, seat: int) -> str:
    """A seat's role in this mission."""
    if seat == table.commander:
        return Text("crew.commander")
    return Text("crew.named") if seat == table.named else ""


def _marked(card: str, mark: int) -> str:
    """A card with its radio token."""
    return Text("crew.marked", card=card, mark=word("crew_words", MARKS[mark])) if 0 <= mark < UNMARKED else card


def _with_tasks(table: Table, seat: int, place: Place) -> Place:
    """A place with its open tasks and what it has said."""
    tasks = tuple(_marked_task(task) for task in table.tasks if task.owner == seat and not task.done)
    said = tuple(Marked(card_text(card), _SIGNS[mark], Text("crew.radio_card", mark=word("crew_words", MARKS[mark])))
                 for who, card, mark in table.said if who == seat and 0 <= mark < UNMARKED)  # fmt: skip
    return replace(place, tasks=tasks, said=said)


def _marked_task(task: Task) -> Marked:
    """Card and tile, such as ``P9:1``, ``P9>>`` or ``P9ω``; three fit beside a neighbour's."""
    if task.tile.isdigit():
        return Marked(card_text(task.card), f":{task.tile}", Text("crew.task_number", tile=task.tile))
    kind = "task_omega" if task.tile == "omega" else "task_arrow" if task.tile else "task_plain"
    return Marked(card_text(task.card), task.tile.replace("omega", "ω"), Text(f"crew.{kind}"))


def _title(table: Table) -> str:
    name = Text("games.crew")
    if not table.mission:
        return name
    number = sum(table.tricks) + int(table.trick is not None and not table.trick.complete)
    trick = [Text("table.trick", number=number, all=10)] if number else []
    return joined("table.dot", name, Text("crew.mission", number=table.mission), *trick)
