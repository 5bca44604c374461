"""The protocol of players, which act on batches of turns; and the bases of most players.

Letters: ``M`` turns of a batch, ``L`` token positions, ``V`` tokens of the vocabulary.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from games.game import Game


@dataclass(frozen=True)
class Turns:
    """A batch of decisions, at most one per game. It holds only what the acting seats have seen."""

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
    """``uint64[M]``: the random number of this decision: a keyed hash of deal, seat and length of the history, which
    reveals none of them."""
    hidden: np.ndarray | None = None
    """The true states ``[M]``, only for players that declare ``sees_hidden``."""

    def take(self, rows: np.ndarray) -> "Turns":
        """Some of the turns."""
        there = {name: column[rows] for name, column in vars(self).items() if column is not None}
        return Turns(**there)


class Player(Protocol):
    """Decides turns. The decision of a row depends on that row alone."""

    name: str
    sees_hidden: bool
    """True for players that look at cards a real player cannot see; tables and reports mark them."""

    def start(self, game: Game, num_games: int) -> None:
        """A new table with ``num_games`` places begins: forget every earlier history."""

    def forget(self, games: np.ndarray) -> None:
        """The deals at these places (``int64[...]``) have ended; new deals may take the places."""

    def act(self, turns: Turns) -> np.ndarray:
        """``[M]``: one legal token per turn. Histories of a (game, seat) only grow between calls; ``forget`` or
        ``start`` comes before other deals."""


class Sampling(Protocol):
    """A player that draws its actions from a policy."""

    probabilities: np.ndarray
    """``float32[M]``: the probabilities with which the actions of its last ``act`` were drawn, 0 for forced ones."""


class Valuing(Protocol):
    """A player that says what actions are worth. One for which that is most of the work may have a method ``decided``,
    which returns for turns what ``act`` and ``action_values`` do (``search.arena.judges``)."""

    def action_values(self, turns: Turns) -> np.ndarray:
        """``float64[M, V]``: of each legal action, to the seat, in a unit of the player's own, more is better; -inf for
        what is illegal or not considered."""


class Counting(Protocol):
    """A player that counts what it does in a deal."""

    def counts(self, games: np.ndarray) -> dict[str, np.ndarray]:
        """Name -> ``float[N]``: what it counted in the deals at these places (``int64[N]``), before ``forget``."""


class ChoosingPlayer:
    """Calls ``choose`` for turns with a choice; plays forced moves itself. Keeps no state of a deal."""

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
        actions, free = forced(turns)
        if len(free):
            actions[free] = self.choose(turns.take(free))
        return actions

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token for each of these turns, all with a choice."""
        raise NotImplementedError


def forced(turns: Turns) -> tuple[np.ndarray, np.ndarray]:
    """``int64[M]`` the first legal token of each turn, and ``int64[...]`` the turns with a choice."""
    return turns.legal.argmax(axis=1), np.flatnonzero(turns.legal.sum(axis=1) > 1)


class RulesPlayer(ChoosingPlayer):
    """Plays one game by the compiled rules of ``decide``: chooses by its seat's view alone, and keeps no state."""

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn, forced moves included, which is faster."""
        views, chosen = self.game.views(turns.tokens, turns.lengths), np.empty(len(turns.tokens), np.int64)
        self.decide(turns, views, chosen)
        return chosen

    def decide(self, turns: Turns, views: np.ndarray, chosen: np.ndarray) -> None:
        """Write a legal token for every turn into ``chosen``, ``int64[M]``; ``views`` (``[M]``) are the turns'
        views."""
        raise NotImplementedError
