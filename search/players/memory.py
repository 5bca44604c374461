"""What one decision of a searching player takes in memory, so that what no machine has is refused first.

Rough and from above: trees are full, and every world has one. Where a time limit ends a search its runs do not count.
"""

import os

from games.game import Game
from search.config import AlphaHeartsConfig, GoMctsConfig, IsMctsConfig, PimcConfig, QValuesConfig

_WORLD, _NODE = 256, 32
"""Bytes of a state, and of a node of a tree beside what it has for each token."""


def worlds_bytes(game: Game, config: PimcConfig | AlphaHeartsConfig | QValuesConfig) -> int:
    """Of players that judge sampled worlds, all those of a decision side by side."""
    tokens, nodes, by_token = game.vocabulary.size, 1, 1
    if isinstance(config, PimcConfig) and config.evaluator == "uct" and not config.seconds:
        nodes += config.runs
    if isinstance(config, AlphaHeartsConfig):
        nodes, by_token = 1 + (0 if config.seconds else config.iterations), 5  # a node has q of each action too
    world = _WORLD + 8 * tokens + nodes * (_NODE + by_token * tokens)
    histories = game.num_players * game.max_length * 2
    return (1 if config.cheat else config.worlds) * world + config.candidates * (_WORLD + histories)


def tree_bytes(game: Game, config: GoMctsConfig | IsMctsConfig) -> int:
    """Of searches of one tree."""
    runs = config.num_runs if isinstance(config, GoMctsConfig) else config.runs
    return 0 if config.seconds else runs * _NODE


def check_memory(name: str, needed: int) -> None:
    """``ValueError`` where a player, called ``name``, needs more bytes for a decision than this machine has."""
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise ValueError(
            f"player {name!r}: one decision may take {needed / 2**30:,.1f} GiB, and this machine has "
            f"{there / 2**30:,.1f} GiB; ask for fewer worlds, candidates or runs"
        )
