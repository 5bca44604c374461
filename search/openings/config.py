"""The configuration of ``python -m search.openings``."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from cluster.validation import at_least
from games.config import GameConfig
from learner.config import EngineConfig


@dataclass
class OpeningsConfig:
    """One look at a Q-network's values of first decisions."""

    game: GameConfig = MISSING
    checkpoint: str = MISSING
    """Checkpoint directory of the Q-network."""
    deals: int = 1000
    """Freshly dealt deals; the network is asked at the first decision of each."""
    seed: int = 1
    """Names the deals."""
    out: str = ""
    """Directory of ``openings.json`` and ``openings.png``; empty to print only."""
    engine: EngineConfig = field(default_factory=EngineConfig)
    """``device``, ``precision`` and ``max_batch`` count."""

    def __post_init__(self) -> None:
        at_least("", self, 1, "deals")
        at_least("", self, 0, "seed")
