"""What deals and decisions of searching players take in memory, so that what no machine has is refused first.

Rough and from above: trees are full, and every world has one. Where a time limit ends a search its runs do not count.
"""

import numpy as np

from cluster.memory import fits_memory
from games.game import Game

_WORLD, _NODE = 256, 32
"""Bytes of a state, and of a node of a tree beside what it has for each token."""


def worlds_bytes(game: Game, worlds: int, candidates: int, nodes: int = 1, by_token: int = 1) -> int:
    """Of players that judge sampled worlds, all those of a decision side by side.

    Args:
        candidates: deals that the worlds are drawn from.
        nodes: of each world's tree, the root among them.
        by_token: bytes that a node has for each token.
    """
    tokens = game.vocabulary.size
    world = _WORLD + 8 * tokens + nodes * (_NODE + by_token * tokens)
    histories = game.num_players * game.max_length * 2
    return worlds * world + candidates * (_WORLD + histories)


def tree_bytes(runs: int, seconds: float) -> int:
    """Of a search of one tree."""
    return 0 if seconds else runs * _NODE


def check_deals(game: Game, count: int, key: str) -> None:
    """``UserError`` where the states of ``count`` deals are more than this machine holds at once; ``key`` names the
    setting that asks for so many, with its value."""
    fits_memory(f"{key}: {count:,} deals side by side", count * _state_bytes(game), "lower it")


def check_shard(game: Game, games: int, branches: int, key: str) -> None:
    """``UserError`` where a shard is more than this machine holds at once: the deals' states, their histories, and
    with ``branches`` two rows of four numbers for each decision of each seat. ``key`` as in ``check_deals``."""
    history = 2 * game.max_length + 2 * 4 * 8 * branches
    needed = games * (_state_bytes(game) + game.num_players * history)
    fits_memory(f"{key}: {games:,} deals of a shard", needed, "lower it")


def _state_bytes(game: Game) -> int:
    return game.deal(np.zeros(1, np.uint64)).nbytes
