"""Opponents by level: what people choose from, never what they write."""

from collections.abc import Mapping

from games.game import Game
from search.roster import kinds


def levels(game: Game) -> Mapping[str, str]:
    """Name -> player (``search.roster.spec``), the weakest first, of a game for which a network ships."""
    support, shipped = kinds.support_of(game), f"kibitz:{game.name}"
    scripted = kinds.baseline(game) or "random"
    return {
        "beginner": f"{scripted}:explore=0.15",
        "rules": scripted,
        "network": f"{support.network_player}@{shipped}",
        "search": f"go_mcts:num_runs=40:threshold=0.1@{shipped}",
    }
