"""Part of a tournament as a unit of work: what an evaluator actor does, without Ray."""

import os
from dataclasses import dataclass

from cluster import storage
from games.config import GameConfig
from games.registry import make_game
from learner.config import EngineConfig
from search.config import SearchConfig
from search.players.player import Player
from search.players.registry import make_players
from search.tournament.matches import Matches, play_deals


@dataclass(frozen=True)
class EvaluatorSettings:
    """What every evaluator of a run shares."""

    game: GameConfig
    search: SearchConfig
    engine: EngineConfig
    table_size: int
    """Matches played side by side."""


@dataclass(frozen=True)
class DealsTask:
    """Some deals of one tournament. Two equal tasks give the same points."""

    players: tuple[str, ...]
    """Names of the entrants, as ``search.players.registry`` reads them."""
    checkpoint: str
    """Directory, path or URI, of the network of entrants that name none; empty if nobody needs one."""
    first: int
    """Number of the first deal."""
    count: int
    seed: int
    """The tournament's seed."""
    match: int = 0
    """Which of several tournaments it is a part of; two of the same players are told apart by it."""


class Evaluator:
    """Plays tasks; the players of the last one stay loaded for the next."""

    def __init__(self, settings: EvaluatorSettings) -> None:
        self._settings = settings
        self._game = make_game(settings.game.name, settings.game.options)
        self._entrants: tuple[tuple[str, ...], str] | None = None
        self._players: list[Player] = []
        self._deals = self._decisions = 0

    def play(self, task: DealsTask) -> Matches:
        """Play the task's deals in every seating."""
        self._deals = self._decisions = 0
        entrants = (task.players, task.checkpoint)
        if entrants != self._entrants:
            checkpoint = str(storage.local_copy(task.checkpoint)) if task.checkpoint else ""
            self._players = make_players(
                task.players, self._game, self._settings.search, checkpoint, self._settings.engine
            )
            self._entrants = entrants
        size = self._settings.table_size
        return play_deals(self._game, self._players, task.first, task.count, task.seed, size, self._note)

    def progress(self) -> dict[str, float]:
        """Deals that have ended and decisions taken so far in the task under way; asked from another thread."""
        return {"deals": self._deals, "decisions": self._decisions}

    def pid(self) -> int:
        """Process id, for operators and for tests that kill it."""
        return os.getpid()

    def _note(self, deals: int, decisions: int) -> None:
        self._deals += deals
        self._decisions += decisions
