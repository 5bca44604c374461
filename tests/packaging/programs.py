"""What users of ``tiny_tricks`` may do, where it is installed: ``python -m tests.packaging.programs NAME``."""

import asyncio
import sys
from typing import Any

import numpy as np
from aiohttp.test_utils import TestClient, TestServer

from games.config import GameConfig
from games.conformance import check_game
from games.registry import make_game
from learner.config import EngineConfig
from learner.conformance import check_kind
from learner.kinds import find
from search.apps.play.layouts import layout_of
from search.apps.play.session import Session
from search.apps.serve.config import ServeConfig
from search.apps.serve.server import Server
from search.apps.serve.service import Service
from search.config import SearchConfig
from search.roster import kinds
from search.roster.registry import make_players
from tests.search.play.material import app_of, drive, play_hand, screen
from tests.search.serve.clients import asks, opened, sat, until
from tests.search.serve.material import at


def drawn() -> None:
    """A scene of the toy, and who plays it out."""
    game = make_game("toy")
    tokens, lengths = game.histories(game.deal(np.array([1], np.uint64)), np.zeros(1, np.int64))
    print(layout_of(game, ["lowest"]).scene(tokens[0, : lengths[0]]).table, kinds.playout_player("", game))


def by_hand(network: str) -> None:
    """A deal at the table in a terminal against a player with the network."""
    game = make_game("toy")
    players = make_players([f"valued@{network}"], game, SearchConfig(), engine=EngineConfig())
    app = app_of(session := Session(game, players, 0, 1))

    async def script(pilot: Any) -> None:
        await play_hand(pilot, app)
        assert "two tricks" in "".join(screen(app))

    drive(app, script)
    print(session.points.tolist())


def served() -> None:
    """A deal at a table in a browser."""
    config = ServeConfig(game=GameConfig(name="toy"), player="highest")

    async def play() -> None:
        async with TestClient(TestServer(Server(config, Service(config)).app)) as client:
            print(*(await (await client.get("/about")).json())["levels"])
            table, (seat,) = await opened(client)
            scene = await until(socket := await sat(client, table, seat), asks)
            while not scene["over"]:
                await socket.send_json(at(scene))
                scene = await until(socket, asks)
            print(scene["words"], sum(scene["points"]))

    asyncio.run(play())


def laws() -> None:
    """What a test of the package's own holds its game and its network to."""
    check_game(make_game("toy"))
    check_kind(find("first_card"), make_game("toy"))


if __name__ == "__main__":
    {program.__name__: program for program in (drawn, by_hand, served, laws)}[sys.argv[1]](*sys.argv[2:])
    sys.exit(0)
