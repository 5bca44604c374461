"""A trick as people see it, for the games that have them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class Trick:
    """Cards on the table, complete or not."""

    leader: int
    """Seat that led."""
    cards: tuple[int, ...]
    """As they were played, at least 1."""
    winner: int
    """Seat that has played the best card so far."""
    size: int
    """How many cards make it complete."""

    @property
    def complete(self) -> bool:
        """Whether every seat has played."""
        return len(self.cards) == self.size


def turns_of(
    views: np.ndarray, tokens: np.ndarray, chosen: Callable[[np.void], bool]
) -> list[tuple[int, int, np.void]]:
    """Seat to act, token, and the view behind it, of a history (``[T]``) whose prefixes have these views (``[T + 1]``);
    only where the view before it is ``chosen`` and the token of the right kind."""
    return [
        (int(before["public"]["turn"]), int(token), after)
        for (before, after), token in zip(pairwise(views), tokens, strict=True)
        if chosen(before) and after["length"] > before["length"]
    ]


def in_tricks(plays: Sequence[tuple[int, int, np.void]], size: int, own: int = 0) -> tuple[Trick, ...]:
    """The tricks of all cards played, as ``turns_of`` gives them; the last may be under way. ``own``: seat that is 0
    in the tricks."""
    groups = [plays[first : first + size] for first in range(0, len(plays), size)]
    return tuple(
        Trick(
            leader=(group[0][0] - own) % size,
            cards=tuple(card for _, card, _ in group),
            winner=int(group[-1][2]["public"]["winner"] - own) % size,
            size=size,
        )
        for group in groups
    )
