"""The points of decision of paper 004: their networks' inputs and actions."""

from dataclasses import dataclass

from games.skat.cards import GAMES
from games.skat.policies.features import (
    BID_BITS,
    CONTINUE_BITS,
    DECLARE_BITS,
    DISCARD_BITS,
    NUM_LIMITS,
    card_bits,
)

VERSION = 1
"""Version of features and labels; networks of another version must be trained again."""
NUM_CHOICES = 13
"""Pickup; five trump games by hand, plain, then ouvert; null and null ouvert by hand."""
NUM_DECLARATIONS = 7
"""Four suits, grand, null, null ouvert."""
NUM_PAIRS = 32 * 31 // 2
NULL_OUVERT = 6


@dataclass(frozen=True)
class DecisionType:
    """A point of decision, with a network of its own."""

    name: str
    bits: int
    """Features of 0 and 1 that it reads."""
    numbers: int
    """Numbers behind them."""
    actions: int


BID, CONTINUE, CHOICE, DECLARE = range(4)
_ROLES = tuple((kind, role) for kind in ("suit", "grand", "null") for role in ("soloist", "defender"))
DECISION_TYPES = (
    DecisionType("bid", BID_BITS, 0, NUM_LIMITS),
    DecisionType("continue", CONTINUE_BITS, 0, NUM_LIMITS),
    DecisionType("choice", DECLARE_BITS, 0, NUM_CHOICES),
    DecisionType("declare", DECLARE_BITS, 0, NUM_DECLARATIONS),
    *(DecisionType(f"discard_{game}", DISCARD_BITS, 0, NUM_PAIRS) for game in GAMES),
    *(
        DecisionType(f"card_{kind}_{role}", card_bits(kind == "suit", kind == "grand", role == "soloist"), 4, 32)
        for kind, role in _ROLES
    ),
)
"""The paper's tables of networks (sections III and V): 16 of policies. Two more tell values, at ``CHOICE`` and
``DECLARE``."""
DISCARD, CARD = 4, 10
"""First of the points of discards, by game, and of cards, two for each of suit, grand and null."""
MOST_DECISIONS = 15
"""Most decisions of one history: limits in two duels, a choice, a declaration, discards, ten cards."""
