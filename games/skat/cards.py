"""The cards and tokens of Skat: identities, names, order of strength, and sets as bits of an int64."""

import numpy as np

from games.bits import BIT, count, each
from games.compiling import kernel
from games.skat.values import BIDS
from games.vocabulary import Vocabulary

NUM_CARDS = 32
NUM_PLAYS = 30
HAND_SIZE = 10

SUITS = "DHSC"
"""Ordered by base value, which is also the order of the jacks."""
RANKS = "789QKTAJ"
"""Ordered by strength in a suit that is not trump; the jack, always a trump, comes last."""
NULL_RANKS = "789TJQKA"
"""Ordered by strength in a null game."""
GAMES = ("diamonds", "hearts", "spades", "clubs", "grand", "null")
GRAND, NULL = 4, 5
MODIFIERS = ("plain", "schneider", "schwarz", "ouvert")
PLAIN, SCHNEIDER, SCHWARZ, OUVERT = range(4)
SEATS = ("forehand", "middlehand", "rearhand")


def card_id(name: str) -> int:
    """Card id ``suit * 8 + rank`` of a name such as ``"CJ"``, the suit first as on the International Skat Server."""
    return SUITS.index(name[0]) * 8 + RANKS.index(name[1])


ALL_CARDS = (1 << NUM_CARDS) - 1
_RANK_CARDS = [sum(1 << (suit * 8 + rank) for suit in range(4)) for rank in range(8)]
QUEENS, KINGS, TENS, ACES, JACKS = _RANK_CARDS[3:]

TRUMP = 4
"""What cards that are trumps count as when a suit is followed; the others count as their suit."""


def _trumps(game: int) -> list[int]:
    """The trumps of a game, the strongest first."""
    if game == NULL:
        return []
    jacks = [suit * 8 + 7 for suit in (3, 2, 1, 0)]
    return jacks + ([game * 8 + rank for rank in range(6, -1, -1)] if game < GRAND else [])


NUM_TRUMPS = np.array([len(_trumps(game)) for game in range(6)], np.int64)
"""``int64[6]``: 11 in a suit game, 4 in grand, none in null."""
TRUMPS_DOWN = np.array([_trumps(game) + [0] * (11 - len(_trumps(game))) for game in range(6)], np.int64)
"""``int64[6, 11]``: the trumps of a game, the strongest first; only ``NUM_TRUMPS`` of a row mean something."""
SUIT_OF = np.array(
    [[TRUMP if card in _trumps(game) else card >> 3 for card in range(NUM_CARDS)] for game in range(6)], np.int64
)
"""``int64[6, 32]``: the suit a card counts as in a game, or ``TRUMP``."""
SUIT_CARDS = np.array(
    [
        [sum(1 << card for card in range(NUM_CARDS) if SUIT_OF[game, card] == suit) for suit in range(5)]
        for game in range(6)
    ],
    np.int64,
)
"""``int64[6, 5]``: all cards that count as a suit, or as ``TRUMP``, in a game."""


def _strength(game: int, card: int) -> int:
    if game == NULL:
        return NULL_RANKS.index(RANKS[card & 7])
    trumps = _trumps(game)
    return 20 - trumps.index(card) if card in trumps else card & 7


STRENGTH = np.array([[_strength(game, card) for card in range(NUM_CARDS)] for game in range(6)], np.int64)
"""``int64[6, 32]``: who wins among cards of the suit led and trumps; every trump is above every other card."""


@kernel
def points_of(cards):
    """Card points of a set: ace 11, ten 10, king 4, queen 3, jack 2; all cards have 120."""
    high = 11 * count(cards & ACES) + 10 * count(cards & TENS)
    return high + 4 * count(cards & KINGS) + 3 * count(cards & QUEENS) + 2 * count(cards & JACKS)


@kernel
def num_stronger(game, cards, strength):
    """How many cards of a set are stronger than that in a game (``STRENGTH``)."""
    number = 0
    for card in each(cards):
        number += int(STRENGTH[game, card] > strength)
    return number


@kernel
def matadors_of(game, twelve):
    """Matadors on the soloist's hand and talon as dealt (a set of 12 cards): ``n`` with them, ``-n`` without, 0 in
    null."""
    number, with_them = 0, twelve & BIT[TRUMPS_DOWN[game, 0]] != 0
    while number < NUM_TRUMPS[game] and (twelve & BIT[TRUMPS_DOWN[game, number]] != 0) == with_them:
        number += 1
    return number if with_them else -number


VOCABULARY = Vocabulary(
    {
        "Cards": [suit + rank for suit in SUITS for rank in RANKS],
        "Bids and replies": ["pass", "hold", *(str(bid) for bid in BIDS)],
        "Pickup or hand": ["pickup", "hand"],
        "Declarations": GAMES,
        "Modifiers": MODIFIERS,
        "Positions": SEATS,
    }
)
"""112 tokens and ``eos``; paper 001 counts 113 in its Table 1, with 68 bids and replies, 7 declarations and no
positions."""
PASS = VOCABULARY.first("Bids and replies")
HOLD = PASS + 1
FIRST_BID = PASS + 2
PICKUP = VOCABULARY.first("Pickup or hand")
HAND = PICKUP + 1
FIRST_GAME = VOCABULARY.first("Declarations")
FIRST_MODIFIER = VOCABULARY.first("Modifiers")
FIRST_SEAT = VOCABULARY.first("Positions")
EOS = VOCABULARY.eos

MAX_LENGTH = 183
"""Longest history, a defender's against ouvert after every value was bid and held: own place, 10 dealt, 128 calls,
``hand``, declaration, modifier, 10 shown, 30 plays, ``eos``."""
ROW = 184
"""Bytes kept for a history: ``MAX_LENGTH`` rounded up to whole words."""
