"""Checks that the players in games of one seat have in common."""

from typing import Any

from games.game import Game
from search.players.memory import worlds_bytes
from search.players.support import Support


def check_one_seat(game: Game, settings: Any, support: Support) -> None:
    """``ValueError`` for a game in which something is hidden, or a rollout that the game does not have."""
    if not game.can_determinize:
        raise ValueError(f"this player is for games in which nothing is hidden; {game.name} does not tell its states")
    if getattr(settings, "rollout", "") == "tabu" and "tabu" not in support.rollouts:
        raise ValueError(f"rollout=tabu: {game.name} has {', '.join(('uniform', *support.rollouts))}")


def kept_tree_bytes(game: Game, simulations: int, seconds: float, by_token: int = 1) -> int:
    """Bytes of a tree that keeps the simulations of all moves; ``by_token``: of a node for each token. A game is taken
    to have a move for every four tokens at most, as SameGame's have."""
    return search_bytes(game, game.max_length // 4 * simulations, seconds, by_token)


def search_bytes(game: Game, simulations: int, seconds: float, by_token: int = 1) -> int:
    """Bytes of the tree of one search."""
    return 0 if seconds else worlds_bytes(game, 1, simulations, by_token)
