"""Memory of deals and decisions of searching players, so that settings beyond the machine's memory are refused.

Rough upper bounds: every world has a full tree. Runs of a search with a time limit are not counted.
"""

import numpy as np

from cluster.errors import UserError, blaming_code
from cluster.memory import fits_memory
from games.game import Game

_WORLD, _NODE = 256, 32
"""Bytes of a state, and of a tree node without its data per token."""


def worlds_bytes(game: Game, worlds: int, nodes: int = 1, by_token: int = 1, candidates: int = 0) -> int:
    """Bytes of a decision of players that evaluate sampled worlds side by side.

    Args:
        nodes: of each world's tree, the root among them.
        by_token: bytes of a node per token.
        candidates: deals that the worlds are drawn from.
    """
    tokens = game.vocabulary.size
    world = _WORLD + 8 * tokens + nodes * (_NODE + by_token * tokens)
    histories = game.num_players * game.max_length * 2
    return worlds * world + candidates * (_WORLD + histories)


def tree_bytes(runs: int, seconds: float) -> int:
    """Bytes of a search of one tree."""
    return 0 if seconds else runs * _NODE


def check_trees(count: int, tree: int) -> None:
    """``UserError`` where so many trees of so many bytes each exceed this machine's memory."""
    fits_memory(f"trees of {count:,} games side by side", count * tree, "ask for fewer simulations or games")


def check_slots(what: str, needed: int, free: int) -> None:
    """``UserError`` where searches may need more slots of keys and values than are ``free``; ``what`` is the setting
    with its value."""
    if needed > free:
        raise UserError(
            f"{what} may need {needed:,} slots of keys and values, and {free:,} are free; raise engine.cache_mb, or "
            "play fewer games side by side (table_size)"
        )


def check_deals(game: Game, count: int, key: str) -> None:
    """``UserError`` where the states of ``count`` deals exceed this machine's memory; ``key`` is the setting with its
    value."""
    fits_memory(f"{key}: {count:,} deals side by side", count * _state_bytes(game), "lower it")


def check_shard(game: Game, games: int, branches: int, key: str) -> None:
    """``UserError`` where a shard exceeds this machine's memory: the deals' states, their histories, and with
    ``branches`` two rows of four numbers for each decision of each seat. ``key`` as in ``check_deals``."""
    history = 2 * game.max_length + 2 * 4 * 8 * branches
    needed = games * (_state_bytes(game) + game.num_players * history)
    fits_memory(f"{key}: {games:,} deals of a shard", needed, "lower it")


def _state_bytes(game: Game) -> int:
    with blaming_code(f"{game.name}: dealing fails"):
        return game.deal(np.zeros(1, np.uint64)).nbytes
