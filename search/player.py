"""What a player is: something that acts on batches of turns.

Letters: ``M`` turns of a batch, ``G`` games at a table, ``L`` token positions, ``V`` tokens of the vocabulary.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from games.game import Game


@dataclass(frozen=True)
class Turns:
    """A batch of decisions, at most one per game. It holds what the acting seats have seen and nothing else."""

    game: np.ndarray
    """``int64[M]``: row of the table, the same during a whole deal; (game, seat) names a history that only grows."""
    seat: np.ndarray
    """``int64[M]``: seat that acts."""
    tokens: np.ndarray
    """``[M, L]``: the acting seat's history, padded with ``eos``."""
    lengths: np.ndarray
    """``int32[M]``: tokens in each history."""
    legal: np.ndarray
    """``bool[M, V]``: legal actions; at least one in every row."""
    seeds: np.ndarray
    """``uint64[M]``: the random number of this decision, a function of (deal seed, seat, history length) alone."""
    hidden: np.ndarray | None = None
    """The true states ``[M]``, handed only to players that declare ``sees_hidden``."""


class Player(Protocol):
    """Decides turns. What it decides in a row depends on that row alone, never on its neighbours."""

    name: str
    sees_hidden: bool
    """True for players that look at cards a real player cannot see; tables and reports mark them."""

    def start(self, game: Game, num_games: int) -> None:
        """A new table of ``num_games`` deals begins: forget every earlier history."""

    def act(self, turns: Turns) -> np.ndarray:
        """``[M]``: one legal token per turn."""
