"""The cards and tokens of The Crew: identities, names, and sets as bits of an int64."""

import numpy as np

from games.vocabulary import Vocabulary

NUM_CARDS = 40
NUM_COLOUR_CARDS = 36
HAND_SIZE = 10
NUM_TRICKS = 10
MAX_TASKS = 10

COLOURS = "PBGYR"
"""Pink, blue, green, yellow, and the rockets, which count as a colour when a colour is followed."""
ROCKET = 4
"""The index of the rockets among ``COLOURS``; ``card // 9`` is the colour of every card."""


def card_id(name: str) -> int:
    """Card id of a name such as ``"P9"`` or ``"R4"``: ``colour * 9 + value - 1``."""
    return COLOURS.index(name[0]) * 9 + int(name[1]) - 1


ALL_CARDS = (1 << NUM_CARDS) - 1
COLOUR_CARDS = np.array([*((0b111111111 << 9 * colour) for colour in range(4)), 0b1111 << 36], np.int64)
"""``int64[5]``: all cards of a colour, the rockets last."""
ROCKET_CARDS = 0b1111 << 36
TASK_CARDS = (1 << NUM_COLOUR_CARDS) - 1
"""The colour cards: they have a task card, may be talked about and may be passed on."""
PINK_CARDS = 0b111111111
ONES = sum(1 << 9 * colour for colour in range(4))
NINES = sum(1 << (9 * colour + 8) for colour in range(4))
PINK_9 = 8
FIRST_ROCKET, ROCKET_4 = 36, 39

POSITIONS = ("self", "left", "across", "right")
ALLOCATIONS = ("no allocation", "draft", "commander decides", "commander distributes")
NO_ALLOCATION, DRAFTED, DECIDED, DISTRIBUTED = range(4)
TILES = ("1", "2", "3", "4", "5", ">", ">>", ">>>", ">>>>", "omega", "no tile")
"""Numbers 1 to 5 are tiles 0 to 4, the arrows tiles 5 to 8."""
FIRST_ARROW, OMEGA, NO_TILE = 5, 9, 10
SPECIALS = (
    "sick",
    "a 1 wins",
    "muted",
    "random draw",
    "rockets win",
    "no 9 wins",
    "swap tiles",
    "two 1s win",
    "balanced",
    "exactly one",
    "commander first and last",
    "move a tile",
    "only first and last",
    "rockets in order",
    "all pink",
    "omega at the end",
    "first four and last",
    "no special",
)
COMMUNICATIONS = ("normal", "dead zone", "from trick 2", "from trick 3")
DEAD_ZONE = 1
FIRST_WINDOW = np.array([0, 0, 1, 2], np.int64)
"""``int64[4]``: tricks played before the first window of a communication mode."""
MARKS = ("highest", "only", "lowest")
HIGHEST, ONLY, LOWEST, UNMARKED = range(4)
"""Where the radio token lies on a card; ``UNMARKED`` is a card shown in the dead zone."""

VOCABULARY = Vocabulary(
    {
        "Cards": [colour + str(value) for colour in COLOURS for value in range(1, 5 if colour == "R" else 10)],
        "Positions": POSITIONS,
        "Allocation": ALLOCATIONS,
        "Tiles": TILES,
        "Special": SPECIALS,
        "Communication": COMMUNICATIONS,
        "Replies": ("yes", "no"),
        "Radio": (*MARKS, "silent"),
    }
)
"""87 tokens and ``eos``; the groups of paper 001, Table 1, which prints their sum as 83."""
FIRST_POSITION = VOCABULARY.first("Positions")
LEFT, RIGHT = FIRST_POSITION + 1, FIRST_POSITION + 3
"""Also the direction of a distress pass."""
FIRST_ALLOCATION = VOCABULARY.first("Allocation")
FIRST_TILE = VOCABULARY.first("Tiles")
DECLINE = FIRST_TILE + NO_TILE
"""``no tile``: no tile is swapped or moved."""
FIRST_SPECIAL = VOCABULARY.first("Special")
NO_SPECIAL = FIRST_SPECIAL + len(SPECIALS) - 1
FIRST_COMMUNICATION = VOCABULARY.first("Communication")
YES = VOCABULARY.first("Replies")
NO = YES + 1
FIRST_MARK = VOCABULARY.first("Radio")
SILENT = FIRST_MARK + 3
EOS = VOCABULARY.eos

ROW = 168
"""Bytes kept for a history: the longest of any mission (``missions.longest``) rounded up to whole words."""
