"""Public knowledge of a deal: the record ``PUBLIC``, its phases, and the options where the rules leave a doubt.

Seats in it are whatever the caller numbers: absolute in a state, relative to the observer in a view.
"""

from collections.abc import Iterable

import numpy as np

from games.compiled import template_of
from games.crew.cards import MAX_TASKS, NO_TILE
from games.hands import public_type

CHOICES = {
    "nines": ("play_on", "stop"),
    "same_trick": ("in_order", "refused"),
    "singleton": ("only", "any"),
    "pink_target": ("before_distress", "after_distress"),
    "roles": ("commander", "volunteers"),
    "muted": ("another", "anybody"),
    "muting": ("before_draft", "after_draft"),
    "shown_card": ("stays", "may_be_drawn"),
}
"""Where the rules leave a doubt: option -> its values, the default first. A field of ``PUBLIC`` has the index.

- ``nines``: mission 17 goes on until every 9 is out, or stops when its tasks are done.
- ``same_trick``: a number or omega task done together with a task without a tile is in order, or fails.
- ``singleton``: the only card of a colour is marked ``only``, or with any of the three marks.
- ``pink_target``: in mission 46 the holder of the pink 9 speaks up before or after a distress pass.
- ``roles``: in mission 50 the commander decides, or the first seat that says ``yes``.
- ``muted``: in mission 11 the commander names another seat, or any.
- ``muting``: it does so before or after the tasks are chosen.
- ``shown_card``: in mission 12 the card shown stays in its hand, or may be drawn.
"""

(
    UNKNOWN,
    COMMANDER,
    HOLDER,
    UNCOVER,
    EXCHANGE,
    PICK_TILE,
    PLACE_TILE,
    DRAFT,
    POLL,
    NAME,
    DISTRESS,
    DIRECTION,
    PASS,
    TALK,
    MARK,
    PLAY,
    OVER,
) = range(17)
"""What the next token is. No seat acts up to ``EXCHANGE``: header, dealt cards; the commander's position; that of the
holder of the pink 9; a task card; the cards of mission 12. Then the seat ``turn`` acts: two tasks whose tiles change; a
task to choose; a reply; a position; a reply to the distress signal, its direction, a card passed; a card shown or
``silent``, its mark; a card played. At the end nothing."""
FIRST_ACTION = PICK_TILE

PUBLIC = public_type(
    4,
    "missions",  # missions that may be dealt: bit m for mission m
    "distress",  # 1 if the distress signal may be sent
    *CHOICES,
    "mission",  # 0 before the header is complete
    "allocation",
    "communication",
    "special",  # bits of missions.SPECIAL_BIT
    "num_tasks",
    "phase",
    "commander",  # -1 before it is known, as the next two
    "named",  # seat of the special rule: sick, muted, who takes all pink, ...; owner of face-down tasks
    "last",  # seat for the last trick in mission 50
    "num_laid",  # tasks uncovered so far
    "picked",  # task whose tile changes, -1 without
    ("tasks", np.int8, MAX_TASKS),  # their cards in laying order, -1 where not yet uncovered
    ("tiles", np.int8, MAX_TASKS),  # index in TILES of each
    ("owners", np.int8, MAX_TASKS),  # seat of each, -1 without
    ("done", np.int8, MAX_TASKS),  # number of the trick that fulfilled each, from 1; 0 while it is open
    "direction",  # receiver of a distress pass less its giver, 1 or 3; 0 without one
    "num_passed",  # cards passed by all seats
    ("radio", np.int64, 4),  # 1 while a seat has its radio token
    ("said", np.int64, 4),  # card each seat has shown, -1 without
    ("marks", np.int64, 4),  # HIGHEST, ONLY, LOWEST or UNMARKED; -1 without
    ("said_at", np.int64, 4),  # cards played when it was shown
    "leader",  # seat that leads the trick
    "progress",  # 1s or rockets that have won a trick, where the mission asks for them
    "result",  # 1 success, 0 failure, -1 open
)
"""The public part of a deal: the options in force, the mission, what was settled before the first trick, the play as
``games.hands`` has it."""


def template(missions: Iterable[int], distress: bool = False, **choices: str) -> np.ndarray:
    """``PUBLIC[1]``: what all know before the deal, given the missions that may be dealt and the options in force."""
    unknown = ("turn", "commander", "named", "last", "picked", "tasks", "owners", "said", "marks", "high", "result")
    chosen = {name: CHOICES[name].index(value) for name, value in choices.items()}
    numbers = sum(1 << mission for mission in missions)
    known = {"tiles": NO_TILE, "radio": 1, "missions": numbers, "distress": distress, **chosen}
    return template_of(PUBLIC, **dict.fromkeys(unknown, -1), **known)
