"""Services and tables for the tests of the server."""

from functools import cache
from typing import Any

import pytest

from games.config import GameConfig
from search.apps.serve.config import ServeConfig
from search.apps.serve.service import Service
from search.apps.serve.tables import Table, TableOptions
from search.players.player import Player
from search.roster.registry import make_players

GAMES = ("hearts", "skat", "crew")
EACH_GAME = ("skat", *(pytest.param(name, marks=pytest.mark.slow) for name in ("hearts", "crew")))


def config(game: str, **settings: Any) -> ServeConfig:
    return ServeConfig(game=GameConfig(name=game), **{"seed": 5, "pace": 0.0} | settings)


@cache
def service(game: str) -> Service:
    return Service(config(game))


def table(game: str, people: int, training: bool = True, player: str = "random", deals: int = 0) -> Table:
    made = service(game).game
    (other,) = make_players([player], made, service(game)._config.search)
    others: dict[int, Player] = {seat: other for seat in range(people, made.num_players)}
    return Table(
        made, TableOptions(level=player, people=people, training=training, rival="network", deals=deals), others, 7
    )


def at(scene: dict[str, Any], **asked: Any) -> dict[str, Any]:
    """A message that changes the table, for the position of a scene; as it is, it chooses the ``lowest``."""
    return (asked or {"act": lowest(scene)}) | {"at": len(scene["history"])}


def lowest(scene: dict[str, Any]) -> list[int]:
    """The first legal choices of a scene, as many as it needs."""
    return [choice["token"] for choice in scene["choices"] if choice["legal"]][: scene["needed"]]
