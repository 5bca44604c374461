"""The configuration of ``python -m search.play``."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from cluster.validation import at_least, require
from games.config import GameConfig
from learner.config import EngineConfig
from search.config import SearchConfig

SHIPPED = "kibitz"
"""The network that ships for the game, used where none is given; hints go without one where it cannot be used."""


@dataclass
class PlayConfig:
    """One sitting at the table, or one hand that is looked at again."""

    game: GameConfig = MISSING
    players: list[str] = field(default_factory=lambda: ["argmax_val"])
    """The others, clockwise from your left, or one player for all their seats; written as in a tournament."""
    checkpoint: str = SHIPPED
    """Network of all players that name none, and of the hints; ``kibitz`` is the one that ships for the game, if there
    is one; empty for none."""
    seat: int = 0
    """Your seat, from 0. It decides when you pass; the picture has you at the bottom anyway."""
    seed: int | None = None
    """Names the deals and everything random in them; null draws one, which is told at the end."""
    out: str = ""
    """Directory, path or URI, for a shard of the hands that were played to their end; empty to keep none."""
    replay: str = ""
    """A shard; instead of playing, step through one of its rows, which names the game itself."""
    row: int = 0
    """Row of that shard."""
    card_seconds: float = 0.4
    """How long a card lies before the next one is shown."""
    trick_seconds: float = 3.0
    """How long a complete trick lies; any key takes it away at once."""
    search: SearchConfig = field(default_factory=SearchConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)

    def __post_init__(self) -> None:
        at_least("", self, 0, "seat", "row", "card_seconds", "trick_seconds")
        if self.seed is not None:
            at_least("", self, 0, "seed")
        require(not (self.out and self.replay), "", self, "out", "empty with replay, which plays no hands to keep")
        require(self.seat == 0 or not self.replay, "", self, "seat", "0 with replay, whose row tells whose hand it is")
        require(self.row == 0 or bool(self.replay), "", self, "row", "0 without replay, whose rows it counts")
