"""Opponents by level: what people choose from, never what they write."""

from collections.abc import Mapping

from games.game import Game
from learner.model.checkpoint import installed
from search.roster import kinds


def levels(game: Game) -> Mapping[str, str]:
    """Name -> player (``search.roster.spec``), the weakest first: only what needs no file but the package's own."""
    support, shipped = kinds.support_of(game), f"kibitz:{game.name}"
    found = {"beginner": "random"}
    if scripted := kinds.baseline(game):
        found |= {"beginner": f"{scripted}:explore=0.15", "rules": scripted}
    if game.name in installed():
        found |= {
            "network": f"{support.network_player}@{shipped}",
            "search": f"go_mcts:num_runs=40:threshold=0.1@{shipped}",
        }
    return found
