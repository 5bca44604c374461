"""Checks that the players in games of one seat have in common."""

from typing import Any

from games.game import Game
from search.players.support import Support
from search.single_agent.tree import NODE


def check_one_seat(game: Game, settings: Any, support: Support) -> None:
    """``ValueError`` for a game whose states histories do not tell, or a rollout that the game does not have."""
    if not game.can_determinize:
        raise ValueError(f"this player is for games in which nothing is hidden; {game.name} does not tell its states")
    if settings.rollout == "tabu" and "tabu" not in support.rollouts:
        raise ValueError(f"rollout=tabu: {game.name} has {', '.join(('uniform', *support.rollouts))}")
    if settings.rollout == "sparing" and not support.sparing:
        raise ValueError(f"rollout=sparing: {game.name} has nothing to spare; take another")


def forest_bytes(game: Game, simulations: int, seconds: float, by_token: int = 1) -> int:
    """Bytes of one tree, which holds a game's simulations; ``by_token``: of a node for each token. A game is taken to
    have a move for every four tokens at most, as SameGame's have."""
    return 0 if seconds else game.max_length // 4 * simulations * (NODE.itemsize + by_token * game.vocabulary.size)
