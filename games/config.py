"""The key ``game`` of commands: a registry name and its rule options.

Not frozen, because OmegaConf refuses to merge a command line into frozen classes.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class GameConfig:
    """Composed from ``conf/game``; ``games.registry.make_game(config.name, config.options)`` makes the game."""

    name: str
    """Registry name, e.g. ``"hearts"`` or ``"openspiel:leduc_poker"``."""
    options: dict[str, Any] = field(default_factory=dict)
    """Rule options by name; the game checks them and knows their defaults."""
