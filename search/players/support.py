"""Additions to a game beyond its rules: scripted players, pictures, evaluators of PIMC.

A game of this repository has its record in ``search/scripted/<game>/support.py``. A package of your own offers one as
an entry point of the group ``kibitz.support``, under the name of its game (``games.plugins``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from games.game import Game
from search.players.kinds import PlayerKind
from search.players.player import Player, Turns
from search.players.random_player import RandomPlayer

if TYPE_CHECKING:  # pictures need rich, records pyarrow
    from games.recorded_deals import Reader
    from search.apps.pictures.scene import Layout

Solve = Callable[[Game, np.ndarray], np.ndarray]
"""(game, states ``[D]``) -> ``int32[D, V]``: the outcome label that the seat to act gets after each legal action, -1
elsewhere, and in whole rows that it does not judge."""

Rebuild = Callable[[Game, np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""(game, histories of all seats ``[D, P, L]``, ``int64[M]`` deals, seats, and tokens that the seats have) -> the true
states ``[M]`` at these turns. ``ValueError`` for histories that are not of one deal."""

Line = Callable[[Game, np.ndarray, np.ndarray], np.ndarray]
"""(game, states ``[D]``, ``int64[D, P, N]`` what each seat really did from there on, -1 behind it) -> ``int64[D, T]``:
what is done from there to the end of the deal if all play perfectly with open hands, -1 behind it. Of actions that are
equally good, a seat does what it really did at that turn of its, else the lowest token."""


Rollout = Callable[[Game, np.ndarray, np.ndarray], None]
"""(game, states ``[B]``, seeds ``uint64[B]``): plays the states to the end, in place."""


class Calls(NamedTuple):
    """The calls of the turns at which their seat may go along in an auction or pass: the present one, and before it
    those that the seat has made in the same history; in order of turns, then of time."""

    turn: np.ndarray
    """``int64[C]``: row of the turn."""
    length: np.ndarray
    """``int64[C]``: tokens of the history before the call; all of them for the present one."""
    legal: np.ndarray
    """``bool[C, V]``: legal actions."""
    onward: np.ndarray
    """``int64[C]``: the smallest call by which the seat goes along."""
    passing: int
    """The token of a pass."""


Auction = Callable[[Game, Turns], Calls]
"""What a game says of its auction (``Support.auction``). Other turns, forced ones too, have no calls."""


@dataclass(frozen=True)
class Level:
    """An opponent that people choose by its name."""

    player: str
    """As in tournaments (``search.roster.spec``)."""
    rating: int | None = None
    """In a round robin with the other levels in which the scripted player has 0 (docs/serve.md); None if unknown."""
    seconds: float = 0.2
    """Least time from one of its decisions to the next at a table, at least what one usually takes."""


@dataclass(frozen=True)
class Support:
    """The record of one game. What it names is imported when it is called: listing players loads no kernels."""

    kinds: tuple[PlayerKind, ...] = ()
    """Kinds of players that play this game alone; the one with ``baseline`` is its scripted player. PIMC's
    ``beliefs=scripted`` takes it to use no random numbers."""
    layout: "Callable[[Game, Sequence[str], str], Layout] | None" = None
    """(game, names of the players, of the observer) -> its pictures; None for words."""
    evaluators: Mapping[str, Callable[..., np.ndarray]] = field(default_factory=dict)
    """Evaluators of PIMC for this game alone (``search.pimc.player.Evaluator``), by name."""
    solvers: Mapping[str, Solve] = field(default_factory=dict)
    """How deals end behind each action, by name."""
    hindsight: str = ""
    """The solver that reviews ask what a decision cost with all cards open; empty for none."""
    rebuild: Rebuild | None = None
    """True states of recorded deals, for ``hindsight``."""
    line: Line | None = None
    """How deals go on if all play perfectly, shown in reviews beside ``hindsight``."""
    review_field: Mapping[int, float] = field(default_factory=dict)
    """Per cent of the scripted player's actions that are random -> points that it loses a decision, judged by the
    network that ships (``python -m benchmarks.review``)."""
    records: "Mapping[str, Reader]" = field(default_factory=dict)
    """End of a file's name -> what reads such records of deals."""
    rollouts: Mapping[str, Rollout] = field(default_factory=dict)
    """Rollouts of searches in games of one seat, by name, beside ``uniform``."""
    auction: Auction | None = None
    """Its auction, for players that bid up to a percentile."""
    levels: Mapping[str, Level] = field(default_factory=dict)
    """Opponents in the browser (``kibitz serve``) by name; ``network``, the one that is offered first, is among
    them. Empty for ``network``, the scripted player and a random one."""

    @property
    def baseline(self) -> PlayerKind | None:
        """The game's scripted player; None where there is none."""
        return next((kind for kind in self.kinds if kind.baseline), None)

    def scripted(self, game: Game) -> Player:
        """The game's scripted player with its defaults; a random one where there is none."""
        kind = self.baseline
        if kind is None:
            return RandomPlayer()
        return kind.factory(game, None, kind.settings() if kind.settings else None)
