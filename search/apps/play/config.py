"""The configuration of ``python -m search.apps.play``."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from cluster.validation import at_least
from games.config import GameConfig
from learner.config import EngineConfig
from search.config import SearchConfig

SHIPPED = "kibitz"
"""The network that ships for the game, the default; without it there are no hints."""


@dataclass
class PlayConfig:
    """A session at the table, or the replay of one hand."""

    game: GameConfig = MISSING
    players: list[str] | None = None
    """The others, clockwise from your left, or one player for all their seats; written as in a tournament. null for
    ``argmax_val`` with the settings that suit the network which ships for the game."""
    checkpoint: str = SHIPPED
    """Network of all players that name none, and of the hints; ``kibitz`` is the network that ships for the game, if
    any; empty for none."""
    seat: int = 0
    """Your seat, from 0: it decides when you pass; the picture always has you at the bottom."""
    seed: int | None = None
    """Seed of the deals and all random numbers; null draws one and prints it at the end."""
    out: str = ""
    """Directory, path or URI, for a shard of the finished hands; empty to keep none. A hand that is left midway is kept
    there too, and the same command goes on with it."""
    replay: str = ""
    """A shard: step through one of its rows instead of playing. The shard names the game."""
    row: int = 0
    """Row of that shard."""
    card_seconds: float = 0.4
    """Seconds before the next card is shown."""
    trick_seconds: float = 3.0
    """Seconds that a complete trick stays; any key ends them."""
    search: SearchConfig = field(default_factory=SearchConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)

    def __post_init__(self) -> None:
        at_least("", self, 0, "seat", "row", "card_seconds", "trick_seconds")
        if self.seed is not None:
            at_least("", self, 0, "seed")
