"""What a player is: something that acts on batches of turns; and the base of most players.

Letters: ``M`` turns of a batch, ``L`` token positions, ``V`` tokens of the vocabulary.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from games.game import Game


@dataclass(frozen=True)
class Turns:
    """A batch of decisions, at most one per game. It holds what the acting seats have seen and nothing else."""

    game: np.ndarray
    """``int64[M]``: place at the table, the same during a whole deal; until ``forget``, (game, seat) names a history
    that only grows."""
    seat: np.ndarray
    """``int64[M]``: seat that acts."""
    tokens: np.ndarray
    """``[M, L]``: the acting seat's history, padded with ``eos``."""
    lengths: np.ndarray
    """``int32[M]``: tokens in each history."""
    legal: np.ndarray
    """``bool[M, V]``: legal actions; at least one in every row."""
    seeds: np.ndarray
    """``uint64[M]``: the random number of this decision: a keyed hash of deal, seat and length of the history, from
    which none of them can be computed."""
    hidden: np.ndarray | None = None
    """The true states ``[M]``, handed only to players that declare ``sees_hidden``."""

    def take(self, rows: np.ndarray) -> "Turns":
        """Some of the turns."""
        there = {name: column[rows] for name, column in vars(self).items() if column is not None}
        return Turns(**there)


class Player(Protocol):
    """Decides turns. What it decides in a row depends on that row alone, never on its neighbours."""

    name: str
    sees_hidden: bool
    """True for players that look at cards a real player cannot see; tables and reports mark them."""

    def start(self, game: Game, num_games: int) -> None:
        """A new table with ``num_games`` places begins: forget every earlier history."""

    def forget(self, games: np.ndarray) -> None:
        """The deals at these places (``int64[...]``) have ended; others may take their places."""

    def act(self, turns: Turns) -> np.ndarray:
        """``[M]``: one legal token per turn. A history goes on from what (game, seat) had at earlier calls; before
        a call for other deals comes one of ``forget`` or ``start``."""


class ChoosingPlayer:
    """Decides by ``choose`` the turns that leave a choice; a forced move costs nothing. Keeps nothing of a deal."""

    name: str
    sees_hidden = False
    plays = ""
    """Name of the only game it plays; empty for any."""

    def start(self, game: Game, num_games: int) -> None:
        """Remember the game; ``ValueError`` for one that it does not play."""
        if self.plays not in ("", game.name):
            raise ValueError(f"player {self.name!r} plays {self.plays} only, not {game.name}")
        self.game = game

    def forget(self, games: np.ndarray) -> None:
        """Nothing to forget: every turn holds its whole history."""

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn."""
        actions = turns.legal.argmax(axis=1)
        free = np.flatnonzero(turns.legal.sum(axis=1) > 1)
        if len(free):
            actions[free] = self.choose(turns.take(free))
        return actions

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token for each of these turns, which have several."""
        raise NotImplementedError
