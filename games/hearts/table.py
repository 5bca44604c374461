"""What lies on the table of a Hearts hand as one seat sees it, read from its history alone.

Seats are relative to the observer: 0 itself, 1 left, 2 across, 3 right.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from games.hearts.cards import (
    CLUBS,
    DIAMONDS,
    DIRECTIONS,
    HEART_CARDS,
    HEARTS,
    JACK_SET,
    NUM_CARDS,
    PASSED_AT,
    QUEEN_SET,
    RANKS,
    RECEIVED_AT,
    SPADES,
)
from games.hearts.game import HeartsGame
from games.tricks import Trick, in_tricks, turns_of

UTILITY_POINTS = 26
"""Points that a utility of 1 stands for, in every utility of ``games.hearts.outcomes``."""
SUITS_IN_HAND = (CLUBS, DIAMONDS, SPADES, HEARTS)
"""How people sort a hand: the colours alternate."""
_MOON = int(HEART_CARDS | QUEEN_SET)
_SIGNS = {CLUBS: "♣", DIAMONDS: "♦", HEARTS: "♥", SPADES: "♠"}


@dataclass(frozen=True)
class Table:
    """What the observer knows of the hand, as far as people look at it."""

    direction: int
    """0 hold, 1 pass left, 2 across, 3 right; -1 before it is announced."""
    hand: tuple[int, ...]
    """Cards the observer holds, by suit, then rank."""
    passed: tuple[int, ...]
    """Ordered as they were chosen."""
    received: tuple[int, ...]
    tricks: tuple[Trick, ...]
    """All tricks so far; the last may be under way."""
    turn: int
    """Seat to play a card; -1 before the first lead and at the end."""
    passing: bool
    """Whether the observer has cards left to pass."""
    points: tuple[int, ...]
    """Points of the cards that each seat has won so far; what a moon or an option adds at the end is not in them."""
    shooter: int
    """Seat that has taken every heart and the queen of spades; -1 without one."""
    broken: bool
    """Whether hearts may be led."""


def table_of(game: HeartsGame, tokens: np.ndarray) -> Table:
    """The table of a history (token ids ``[T]``, complete or not); what stands behind a token of a wrong kind is left
    out."""
    views = game.prefixes(np.asarray(tokens)[None])[0]
    view = views[-1]
    public, seen = view["public"], view["tokens"][: view["length"]].tolist()
    passes = public["direction"] != 0
    tricks = in_tricks(turns_of(views, tokens, lambda view: view["public"]["turn"] >= 0), 4)
    return Table(
        direction=int(public["direction"]) if seen else -1,
        hand=in_hand_order(card for card in range(NUM_CARDS) if int(view["hand"]) >> card & 1),
        passed=tuple(seen[PASSED_AT:RECEIVED_AT]) if passes else (),
        received=tuple(seen[RECEIVED_AT : RECEIVED_AT + 3]) if passes else (),
        tricks=tricks,
        turn=int(public["turn"]),
        passing=bool(passes) and PASSED_AT <= len(seen) < RECEIVED_AT,
        points=tuple(_points(game, int(cards)) for cards in public["taken"]),
        shooter=next((seat for seat, cards in enumerate(public["taken"]) if int(cards) & _MOON == _MOON), -1),
        broken=bool(public["broken"]),
    )


def stops(tokens: np.ndarray) -> list[int]:
    """Lengths of a history's beginnings (token ids ``[T]``) that are worth a look: the cards dealt, passed and
    received, then every card played."""
    passes = len(tokens) > 0 and tokens[0] != DIRECTIONS
    first = RECEIVED_AT + 4 if passes else PASSED_AT + 1
    steps = [PASSED_AT, *([RECEIVED_AT] if passes else []), *range(first, first + NUM_CARDS + 1)]
    return [step for step in steps if step <= len(tokens)] or [len(tokens)]


def in_hand_order(cards: Iterable[int]) -> tuple[int, ...]:
    """Cards as people hold them."""
    return tuple(sorted(cards, key=lambda card: (SUITS_IN_HAND.index(card & 3), card >> 2)))


def card_text(card: int) -> str:
    """A card as it is printed on its face, such as ``10♥``."""
    rank = RANKS[card >> 2]
    return f"{'10' if rank == 'T' else rank}{_SIGNS[card & 3]}"


def is_red(card: int) -> bool:
    """Whether hearts or diamonds."""
    return card & 3 in (HEARTS, DIAMONDS)


def _points(game: HeartsGame, cards: int) -> int:
    jack = game.options["jd_bonus"] and cards & JACK_SET
    return (cards & HEART_CARDS).bit_count() + (13 if cards & QUEEN_SET else 0) - (10 if jack else 0)
