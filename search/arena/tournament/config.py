"""The configuration of ``python -m search.arena.tournament``."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from cluster.config import ClusterConfig
from cluster.validation import at_least, one_of, require, within
from games.config import GameConfig
from learner.config import EngineConfig
from search.arena.tournament.seatings import ALL, SEATINGS
from search.config import SearchConfig

_MOST_TASKS = 10**6
"""Most tasks of a tournament; more do not fit a machine's memory."""


@dataclass
class TournamentConfig:
    """One tournament."""

    game: GameConfig = MISSING
    players: list[str] = MISSING
    """Entrants, A first, e.g. ``[argmax_val,random]``; ``argmax_val@DIR`` has its own checkpoint."""
    checkpoint: str = ""
    """Checkpoint directory of all players that name none."""
    deals: int = 100
    """Deals; each is played in every seating."""
    first: int = 0
    """Number of the first deal: ``first=17 deals=1`` replays deal 17 of a larger tournament."""
    seating: str = ALL
    """Seatings of a deal: ``all`` in which both play, 14 for two players at four seats (paper 001); ``pairs``, North
    and South against East and West and vice versa, 2 (paper 002)."""
    seed: int = 1
    """Seed of the deals and all random numbers."""
    out: str = ""
    """JSON file of the result; empty to print only. An existing result is not played again. With ``--multirun`` the
    directory of the results, required."""
    keep: str = ""
    """Parquet shard for every seat's history of every match, for ``kibitz show`` and ``kibitz play replay=``; empty to
    keep none. All matches are then played, even if ``out`` has their result."""
    table_size: int = 256
    """Matches played side by side; memory for keys and values grows with it."""
    deals_per_task: int = 0
    """Most deals of an evaluator's task; 0 for as many as fill its table."""
    search: SearchConfig = field(default_factory=SearchConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    def __post_init__(self) -> None:
        at_least("", self, 1, "deals", "table_size")
        at_least("", self, 0, "seed", "deals_per_task")
        most = min(2**62, _MOST_TASKS * (self.deals_per_task or self.table_size))
        require(self.deals <= most, "", self, "deals", f"at most {most}")
        within("", self, 0, 2**63 - 1 - self.deals, "first")
        one_of("", self, SEATINGS, "seating")
