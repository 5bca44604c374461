"""The configuration of ``python -m search.arena.openings``."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from cluster.validation import at_least
from games.config import GameConfig
from learner.config import EngineConfig


@dataclass
class OpeningsConfig:
    """One measurement of a Q-network's values of first decisions."""

    game: GameConfig = MISSING
    checkpoint: str = MISSING
    """Checkpoint directory of the Q-network."""
    deals: int = 1000
    """Number of deals; the network is queried at the first decision of each."""
    seed: int = 1
    """Seed of the deals."""
    out: str = ""
    """Directory of ``openings.json`` and ``openings.png``; empty to print only."""
    engine: EngineConfig = field(default_factory=EngineConfig)
    """Only ``device``, ``precision`` and ``max_batch`` are used."""

    def __post_init__(self) -> None:
        at_least("", self, 1, "deals")
        at_least("", self, 0, "seed")
