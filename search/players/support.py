"""Additions to a game beyond its rules: scripted players, pictures, evaluators of PIMC.

A game of this repository has its record in ``search/scripted/<game>/support.py``. A package of your own offers one as
an entry point of the group ``kibitz.support``, under the name of its game (``games.plugins``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

import numpy as np

from games.game import Game
from search.players.kinds import PlayerKind
from search.players.player import Player
from search.players.random_player import RandomPlayer

Judge = Callable[[Game, np.ndarray], np.ndarray]
"""(game, states ``[D]``) -> ``int32[D, V]``: the outcome label that the seat to act gets after each legal action, -1
elsewhere, and in whole rows that it does not judge."""

Rebuild = Callable[[Game, np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""(game, histories of all seats ``[D, P, L]``, ``int64[M]`` deals, seats, and tokens that the seats have) -> the true
states ``[M]`` at these turns. ``ValueError`` for histories that are not of one deal."""

Line = Callable[[Game, np.ndarray, np.ndarray], np.ndarray]
"""(game, states ``[D]``, ``int64[D, P, N]`` what each seat really did from there on, -1 behind it) -> ``int64[D, T]``:
what is done from there to the end of the deal if all play perfectly with open hands, -1 behind it. Of actions that are
equally good, a seat does what it really did at that turn of its, else the lowest token."""


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
    """The record of one game. Texts are ``module:attribute``, imported when needed."""

    kinds: tuple[PlayerKind, ...] = ()
    """Kinds of players that play this game alone; the one with ``baseline`` is its scripted player. PIMC's
    ``beliefs=scripted`` takes it to use no random numbers."""
    layout: str = ""
    """Its ``search.apps.pictures.scene.Layout``, called with the game and the players' names; empty for words."""
    evaluators: Mapping[str, str] = field(default_factory=dict)
    """Evaluators of PIMC for this game alone (``search.pimc.player.Evaluator``), by name."""
    judges: Mapping[str, str] = field(default_factory=dict)
    """Judges of branches (``Judge``), by name."""
    hindsight: str = ""
    """The judge that reviews ask what a decision cost with all cards open; empty for none."""
    rebuild: str = ""
    """True states of recorded deals, for ``hindsight`` (``Rebuild``)."""
    line: str = ""
    """How deals go on if all play perfectly, shown in reviews beside ``hindsight`` (``Line``); empty for none."""
    records: Mapping[str, str] = field(default_factory=dict)
    """End of a file's name -> what reads such records of deals (``games.recorded_deals.Reader``)."""
    rollouts: Mapping[str, str] = field(default_factory=dict)
    """Rollouts of searches in games of one seat (``search.single_agent.mcts.Rollout``), by name, beside ``uniform``."""
    auction: str = ""
    """What it tells of its auction to players that bid up to a percentile (``search.players.bidding.Auction``); empty
    without an auction."""

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

    def evaluator(self, name: str) -> Any:
        """The game's evaluator of PIMC called ``name``."""
        return resolve_name(self.evaluators[name])

    def judge(self, name: str) -> Judge:
        """The game's judge called ``name``."""
        found: Judge = resolve_name(self.judges[name])
        return found

    def rollout(self, name: str) -> Any:
        """The game's rollout called ``name``."""
        return resolve_name(self.rollouts[name])
