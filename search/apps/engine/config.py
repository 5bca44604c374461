"""The configuration of ``kibitz engine``."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from cluster.validation import at_least
from games.config import GameConfig
from learner.config import EngineConfig
from search.config import SearchConfig


@dataclass
class MoveEngineConfig:
    """Who answers questions about positions of one game."""

    game: GameConfig = MISSING
    player: str = ""
    """Any player that values actions, such as ``argmax_val@DIR`` or ``go_mcts:num_runs=100``; empty for the network
    that ships for the game, as it plays best without a search."""
    seed: int = 0
    """Seed of a player that searches: the same history always gets the same answer."""
    batch: int = 64
    """Most questions that are answered together."""
    search: SearchConfig = field(default_factory=SearchConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)

    def __post_init__(self) -> None:
        at_least("", self, 0, "seed")
        at_least("", self, 1, "batch")
