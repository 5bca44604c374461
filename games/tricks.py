"""A trick as people see it, for the games that have them."""

from collections.abc import Sequence
from dataclasses import dataclass


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


def in_tricks(plays: Sequence[tuple[int, int, int]], size: int) -> tuple[Trick, ...]:
    """The tricks of plays in their order, the last of which may be under way. A play is a seat, its card, and the seat
    that has played the best card of the trick so far."""
    groups = [plays[first : first + size] for first in range(0, len(plays), size)]
    return tuple(Trick(group[0][0], tuple(card for _, card, _ in group), group[-1][2], size) for group in groups)
