"""The fifty missions of The Crew: The Quest for Planet Nine for four players, as data.

The rules read these columns and ask for no mission by its number. Tasks, tiles, allocation, communication and special
rules follow the mission log that comes with the game (Thomas Sing, KOSMOS 2019).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from games.crew.cards import (
    ALLOCATIONS,
    COMMUNICATIONS,
    FIRST_ALLOCATION,
    FIRST_COMMUNICATION,
    FIRST_SPECIAL,
    FIRST_TILE,
    FIRST_WINDOW,
    HAND_SIZE,
    MAX_TASKS,
    NO_SPECIAL,
    NO_TILE,
    NUM_CARDS,
    NUM_TRICKS,
    SPECIALS,
    TILES,
)

NUM_MISSIONS = 50


@dataclass(frozen=True)
class Mission:
    """One mission."""

    tasks: int = 0
    """Number of task cards."""
    tiles: str = ""
    """Tiles in laying order: the k-th lies on the k-th task."""
    allocation: str = "draft"
    """One of ``cards.ALLOCATIONS``."""
    communication: str = "normal"
    """One of ``cards.COMMUNICATIONS``."""
    special: tuple[str, ...] = ()
    """Special rules, of ``cards.SPECIALS``."""


def _drawn(tasks: int, tiles: str = "", *special: str) -> Mission:
    return Mission(tasks, tiles, special=special)


def _drawn_under(communication: str, tasks: int, tiles: str = "") -> Mission:
    return Mission(tasks, tiles, communication=communication)


def _decided(tasks: int) -> Mission:
    return Mission(tasks, allocation="commander decides")


def _distributed(tasks: int, tiles: str = "") -> Mission:
    return Mission(tasks, tiles, allocation="commander distributes")


def _no_tasks(*special: str, communication: str = "normal") -> Mission:
    return Mission(allocation="no allocation", communication=communication, special=special)


MISSIONS = (
    _drawn(1),
    _drawn(2),
    _drawn(2, "1 2"),
    _drawn(3),
    _no_tasks("sick"),  # 5
    _drawn_under("dead zone", 3, "> >>"),
    _drawn(3, "omega"),
    _drawn(3, "1 2 3"),
    _no_tasks("a 1 wins"),
    _drawn(4),  # 10
    _drawn(4, "1", "muted"),
    _drawn(4, "omega", "random draw"),
    _no_tasks("rockets win"),
    _drawn_under("dead zone", 4, "> >> >>>"),
    _drawn(4, "1 2 3 4"),  # 15
    _no_tasks("no 9 wins"),
    _drawn(2, "", "no 9 wins"),
    _drawn_under("from trick 2", 5),
    _drawn_under("from trick 3", 5, "1"),
    _decided(2),  # 20
    _drawn_under("dead zone", 5, "1 2"),
    _drawn(5, "> >> >>> >>>>"),
    _drawn(5, "1 2 3 4 5", "swap tiles"),
    _distributed(6),
    _drawn_under("dead zone", 6, "> >>"),  # 25
    _no_tasks("two 1s win"),
    _decided(3),
    _drawn_under("from trick 3", 6, "1 omega"),
    _no_tasks("balanced", communication="dead zone"),
    _drawn_under("from trick 2", 6, "> >> >>>"),  # 30
    _drawn(6, "1 2 3"),
    _distributed(7),
    _no_tasks("exactly one"),
    _no_tasks("balanced", "commander first and last"),
    _drawn(7, "> >> >>>"),  # 35
    _distributed(7, "1 2"),
    _decided(4),
    _drawn_under("from trick 3", 8),
    _drawn_under("dead zone", 8, "> >> >>>"),
    _drawn(8, "1 2 3", "move a tile"),  # 40
    _no_tasks("only first and last"),
    _drawn(9),
    _distributed(9),
    _no_tasks("rockets in order"),
    _drawn(9, "> >> >>>"),  # 45
    _no_tasks("all pink"),
    _drawn(10),
    _drawn(3, "omega", "omega at the end"),
    _drawn(10, "> >> >>>"),
    _no_tasks("first four and last"),  # 50
)
"""The missions in order, the first of them mission 1."""

SPECIAL_BIT = {name: 1 << index for index, name in enumerate(SPECIALS[:-1])}
(
    SICK,
    A_1_WINS,
    MUTED,
    RANDOM_DRAW,
    ROCKETS_WIN,
    NO_9_WINS,
    SWAP_TILES,
    TWO_1S_WIN,
    BALANCED,
    EXACTLY_ONE,
    COMMANDER_ENDS,
    MOVE_A_TILE,
    ONLY_ENDS,
    ROCKETS_IN_ORDER,
    ALL_PINK,
    OMEGA_AT_THE_END,
    FOUR_AND_LAST,
) = SPECIAL_BIT.values()
"""Special rules as bits of a set; what each demands is said in ``judging``."""


def _column(values: list[int]) -> np.ndarray:
    return np.array([0, *values], np.int64)


def _tiles(mission: Mission) -> list[int]:
    """A tile, or ``NO_TILE``, for every task."""
    tiles = [TILES.index(tile) for tile in mission.tiles.split()]
    return tiles + [NO_TILE] * (mission.tasks - len(tiles))


NUM_TASKS = _column([mission.tasks for mission in MISSIONS])
ALLOCATION = _column([ALLOCATIONS.index(mission.allocation) for mission in MISSIONS])
COMMUNICATION = _column([COMMUNICATIONS.index(mission.communication) for mission in MISSIONS])
SPECIAL = _column([sum(SPECIAL_BIT[name] for name in mission.special) for mission in MISSIONS])
"""``int64[51]``, by mission number, row 0 unused: the columns of the table; specials as a set of bits."""
MISSION_TILES = np.full((NUM_MISSIONS + 1, MAX_TASKS), NO_TILE, np.int64)
"""``int64[51, 10]``: index in ``TILES`` of the tile of every task."""
for _number, _mission in enumerate(MISSIONS, 1):
    MISSION_TILES[_number, : _mission.tasks] = _tiles(_mission)


def header(mission: Mission) -> list[int]:
    """The tokens of a mission: allocation, communication, special rules, and a tile for every task."""
    special = [FIRST_SPECIAL + SPECIALS.index(name) for name in mission.special] or [NO_SPECIAL]
    first = [
        FIRST_ALLOCATION + ALLOCATIONS.index(mission.allocation),
        FIRST_COMMUNICATION + COMMUNICATIONS.index(mission.communication),
    ]
    return [*first, *special, *(FIRST_TILE + tile for tile in _tiles(mission))]


MAX_HEADER = 3 + MAX_TASKS
HEADER_LENGTHS = _column([len(header(mission)) for mission in MISSIONS])
HEADERS = np.full((NUM_MISSIONS + 1, MAX_HEADER), -1, np.int64)
"""``int64[51, 13]``: the tokens of ``header`` by mission number, -1 behind them. Every mission has its own header; the
first dealt card ends it."""
for _number, _mission in enumerate(MISSIONS, 1):
    HEADERS[_number, : HEADER_LENGTHS[_number]] = header(_mission)


def parse_missions(text: str) -> tuple[int, ...]:
    """Mission numbers named by a text such as ``"1-50"``, ``"4"`` or ``"1-3,7"``, ascending; ``ValueError`` if it
    names none or one that does not exist."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise _not_missions(text, f"{part.strip()!r} is neither a number nor a range")
        low, high = int(first), int(last or first)
        if not 1 <= low <= high <= NUM_MISSIONS:
            raise _not_missions(text, f"{part.strip()!r} does not lie within 1 to {NUM_MISSIONS}, ascending")
        numbers.update(range(low, high + 1))
    return tuple(sorted(numbers))


def missions_text(numbers: Iterable[int]) -> str:
    """The shortest text that names some missions, the inverse of ``parse_missions``."""
    text, runs = [], groupby(enumerate(sorted(numbers)), lambda item: item[1] - item[0])
    for _, run in runs:
        first, *rest = (number for _, number in run)
        text.append(f"{first}-{rest[-1]}" if rest else str(first))
    return ",".join(text)


def _not_missions(text: str, why: str) -> ValueError:
    return ValueError(f"crew option missions={text!r}: {why}; write it like '1-50', '4' or '1-3,7'")


def longest(mission: Mission, distress: bool) -> int:
    """Tokens of the longest history a mission can give any seat, ``eos`` included."""
    own = len(header(mission)) + HAND_SIZE + 1  # and the commander's position
    per_task, once = {"draft": (2, 0), "commander decides": (1, 4), "commander distributes": (5, 0)}.get(
        mission.allocation, (0, 0)
    )
    special = {"muted": 1, "swap tiles": 2, "move a tile": 2, "all pink": 1, "random draw": 2, "first four and last": 8}
    special |= dict.fromkeys(("sick", "exactly one", "only first and last"), 4)
    windows = NUM_TRICKS - int(FIRST_WINDOW[COMMUNICATIONS.index(mission.communication)])
    speakers = 3 if "muted" in mission.special else 4
    talk = speakers * (windows + (mission.communication != "dead zone"))
    before_tricks = once + per_task * mission.tasks + sum(special.get(name, 0) for name in mission.special)
    return own + before_tricks + 7 * distress + talk + NUM_CARDS + 1
