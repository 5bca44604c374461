"""Part of a tournament as a unit of work: the work of an evaluator actor, without Ray."""

import gc
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cluster.errors import needing_memory
from cluster.watching.logs import logged
from cluster.watching.progress import OnProgress
from games.compiling import compiling
from games.config import GameConfig
from games.registry import make_game
from learner.config import EngineConfig
from search.arena.partial_results import Parts
from search.arena.tournament.deals import Deals
from search.arena.tournament.matches import Matches, part_name, play_deals, to_arrays
from search.config import SearchConfig
from search.roster.engines import Engines
from search.roster.registry import networks_of, resolve, seat_players, with_networks
from search.roster.spec import labels


@dataclass(frozen=True)
class EvaluatorSettings:
    """Settings of a tournament besides players and deals."""

    game: GameConfig
    search: SearchConfig
    engine: EngineConfig
    table_size: int
    """Matches played side by side."""


@dataclass(frozen=True)
class DealsTask:
    """Some deals of one tournament. Two equal tasks give the same points."""

    settings: EvaluatorSettings
    players: tuple[str, ...]
    """Names of the entrants, as ``search.roster.registry`` reads them."""
    checkpoint: str
    """Directory, path or URI, of the network of entrants that name none; empty if no entrant needs one."""
    deals: Deals
    match: int = 0
    """Number of its tournament among several."""
    keep: bool = False
    """Whether to keep histories."""
    parts: Parts = field(default_factory=Parts)
    """Where the evaluator writes what it has played, in an object storage; elsewhere the driver does, as evaluators may
    not see its disk."""

    def __str__(self) -> str:
        return f"deals {self.deals.numbers[0]} to {self.deals.numbers[-1]} of {' against '.join(self.players)}"


class Evaluator:
    """Plays tasks; keeps the engines of networks between tasks."""

    def __init__(self) -> None:
        self._playing: tuple[GameConfig, EngineConfig] | None = None
        """Settings of ``_game`` and ``_engines``."""
        self._deals = self._decisions = 0
        self._on_progress: OnProgress = lambda so_far: None

    @logged("{0}")
    @needing_memory("playing tournaments", "table_size, engine.cache_mb or engine.max_batch")
    def play(self, task: DealsTask) -> Matches:
        """Play the task's deals in every seating."""
        settings = task.settings
        if self._playing != (settings.game, settings.engine):
            self._game = make_game(settings.game.name, settings.game.options)
            self._engines = Engines(self._game, settings.engine)
            self._playing = settings.game, settings.engine
        try:
            entrants = with_networks(resolve(task.players, self._game, settings.search), task.checkpoint)
            with self._engines.serving(networks_of(entrants)):
                players = seat_players(entrants, labels(task.players), self._game, self._engines)
                played = play_deals(self._game, players, task.deals, settings.table_size, self._note, task.keep)
            task.parts.keep(part_name(played), to_arrays(played))
            return played
        finally:  # the next progress() must not count this task again
            self._deals = self._decisions = 0

    def evaluate(
        self, tasks: Iterable[DealsTask], on_progress: OnProgress
    ) -> Iterator[tuple[DealsTask, Matches | Exception]]:
        """Play tasks one after the other, in this process; yields a failed task with its exception."""
        self._on_progress = on_progress
        for task in tasks:
            try:
                played: Matches | Exception = self.play(task)
            except Exception as error:
                played = error
                traceback.clear_frames(error.__traceback__)  # else it keeps tables and networks, which fill a GPU
                gc.collect()
            yield task, played

    def progress(self) -> dict[str, float]:
        """Finished deals and decisions so far in the current task, and 1 while kernels compile; called from another
        thread."""
        return {"deals": self._deals, "decisions": self._decisions, "compiling": compiling.under_way}

    def _note(self, deals: int, decisions: int) -> None:
        self._deals += deals
        self._decisions += decisions
        self._on_progress(self.progress())
