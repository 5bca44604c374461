"""The deals of a tournament: the record passed from its configuration to the table."""

from dataclasses import dataclass, replace

import numpy as np

from games.game import Game
from games.rng import derive, derive_many
from search.arena.tournament.seatings import ALL, seatings


@dataclass(frozen=True)
class Deals:
    """Consecutive deals of a tournament, each played in every seating."""

    seed: int
    """The tournament's. A deal depends only on it and the deal's number, in a game with a finite list on
    its number alone."""
    count: int
    first: int = 0
    """Number of the first deal."""
    seating: str = ALL
    """One of ``search.arena.tournament.seatings.SEATINGS``."""

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"deals={self.count}: at least 1 deal must be played")

    @property
    def numbers(self) -> range:
        """Numbers of the deals."""
        return range(self.first, self.first + self.count)

    def part(self, first: int, count: int) -> "Deals":
        """A part of these deals."""
        return replace(self, first=first, count=count)

    def check(self, game: Game) -> None:
        """``ValueError`` for more deals than a finite list has."""
        last = self.first + self.count - 1
        if game.num_deals and last >= game.num_deals:
            raise ValueError(f"deals={self.count}: {game.name} has deals 0 to {game.num_deals - 1}, not {last}")

    def seeds(self, game: Game) -> np.ndarray:
        """``uint64[count]``: the seed of each deal. ``ValueError`` as ``check``."""
        self.check(game)
        if game.num_deals:
            return np.arange(self.first, self.first + self.count, dtype=np.uint64)
        return derive_many(derive(self.seed, "tournament"), self.count, self.first)

    def seatings(self, game: Game, num_players: int) -> np.ndarray:
        """``int[S, P]``: the entrant of each seat, in every seating of a deal."""
        return seatings(num_players, game.num_players, game.cooperative, self.seating)
