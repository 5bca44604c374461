"""Part of a tournament as a unit of work: what an evaluator actor does, without Ray."""

from dataclasses import dataclass

from cluster.logs import logged
from games.compiling import compiling
from games.config import GameConfig
from games.registry import make_game
from learner.config import EngineConfig
from search.config import SearchConfig
from search.players.engines import Engines
from search.players.registry import make_players, own_checkpoints
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
    """Plays tasks; the engines of their networks stay from one to the next."""

    def __init__(self, settings: EvaluatorSettings) -> None:
        self._settings = settings
        self._game = make_game(settings.game.name, settings.game.options)
        self._engines = Engines(self._game, settings.engine)
        self._deals = self._decisions = 0

    @logged("deals from {0.first}, {0.count} of them, of {0.players}")
    def play(self, task: DealsTask) -> Matches:
        """Play the task's deals in every seating."""
        settings = self._settings
        try:
            with self._engines.serving([task.checkpoint, *own_checkpoints(task.players)]):
                players = make_players(
                    task.players, self._game, settings.search, task.checkpoint, engines=self._engines
                )
                return play_deals(
                    self._game, players, task.first, task.count, task.seed, settings.table_size, self._note
                )
        finally:  # whoever asks next has counted this task already
            self._deals = self._decisions = 0

    def progress(self) -> dict[str, float]:
        """Deals that have ended and decisions taken so far in the task under way, and 1 while kernels compile; asked
        from another thread."""
        return {"deals": self._deals, "decisions": self._decisions, "compiling": compiling.under_way}

    def _note(self, deals: int, decisions: int) -> None:
        self._deals += deals
        self._decisions += decisions
