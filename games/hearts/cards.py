"""The cards and tokens of Hearts: identities, names and sets as bits of an int64."""

import numpy as np

from games.vocabulary import Vocabulary

NUM_CARDS = 52
HAND_SIZE = 13
PASS_SIZE = 3

RANKS = "23456789TJQKA"
SUITS = "CDHS"
CLUBS, DIAMONDS, HEARTS, SPADES = range(4)


def card_id(name: str) -> int:
    """Card id ``rank * 4 + suit`` of a name such as ``"QS"``."""
    return RANKS.index(name[0]) * 4 + SUITS.index(name[1])


TWO_OF_CLUBS = card_id("2C")
QUEEN_OF_SPADES = card_id("QS")
JACK_OF_DIAMONDS = card_id("JD")

SUIT_CARDS = np.array([sum(1 << (rank * 4 + suit) for rank in range(13)) for suit in range(4)], dtype=np.int64)
"""``int64[4]``: all cards of a suit."""
ALL_CARDS = (1 << NUM_CARDS) - 1
CLUB_CARDS = int(SUIT_CARDS[CLUBS])
HEART_CARDS = int(SUIT_CARDS[HEARTS])
TWO_OF_CLUBS_SET = 1 << TWO_OF_CLUBS
QUEEN_SET = 1 << QUEEN_OF_SPADES
JACK_SET = 1 << JACK_OF_DIAMONDS
PENALTY_CARDS = HEART_CARDS | QUEEN_SET
"""The cards that score: hearts and the queen of spades."""

SORTED_CARDS = np.array([rank * 4 + suit for suit in range(4) for rank in range(13)], dtype=np.int64)
"""``int64[52]``: the cards by suit, then rank, the order in which dealt and received cards enter a history."""

VOCABULARY = Vocabulary(
    {
        "Cards": [rank + suit for rank in RANKS for suit in SUITS],
        "Positions": ["self", "left", "across", "right"],
        "Pass directions": ["hold", "pass left", "pass across", "pass right"],
    }
)
"""60 tokens and ``eos`` (paper 001, Table 1)."""
POSITIONS = VOCABULARY.first("Positions")
DIRECTIONS = VOCABULARY.first("Pass directions")
EOS = VOCABULARY.eos

DEALT_AT = 1
"""Place of the first dealt card in a history; the pass direction stands before it."""
PASSED_AT = DEALT_AT + HAND_SIZE
RECEIVED_AT = PASSED_AT + PASS_SIZE
MAX_LENGTH = 75
"""The paper's n_positions (Table 5). A history has at most 74 tokens: direction, 13 dealt, 3 passed, 3 received,
leader, 52 plays, eos."""
ROW = 80
"""Bytes kept for a history: ``MAX_LENGTH`` rounded up to whole words, so that records have no padding."""
