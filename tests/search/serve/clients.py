"""Clients of a server, for tests."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import ClientWebSocketResponse
from aiohttp.test_utils import TestClient, TestServer

from search.apps.serve.server import Server
from tests.search.serve.material import config, service

Client = TestClient[Any, Any]
Scenario = Callable[[Client], Awaitable[None]]


def run(scenario: Scenario, game: str = "skat", **settings: Any) -> None:
    """Let clients meet a server."""

    offered = service(game)
    offered._opened = 0  # the same deals in whatever order tests run

    async def served() -> None:
        async with TestClient(TestServer(Server(config(game, **settings), offered).app)) as client:
            await asyncio.wait_for(scenario(client), 120)

    asyncio.run(served())


async def opened(client: Client, **asked: Any) -> tuple[str, list[str]]:
    response = await client.post("/tables", json=asked)
    assert response.status == 200, await response.text()
    found = await response.json()
    return found["table"], [found["seats"][seat] for seat in sorted(found["seats"])]


async def sat(client: Client, table: str, seat: str, name: str = "Ann") -> ClientWebSocketResponse:
    socket = await client.ws_connect(f"/tables/{table}")
    await socket.send_json({"seat": seat, "name": name})
    return socket


async def until(socket: ClientWebSocketResponse, wanted: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """The first message that is wanted."""
    while True:
        message: dict[str, Any] = await asyncio.wait_for(socket.receive_json(), 60)
        if wanted(message):
            return message


def asks(message: dict[str, Any]) -> bool:
    return bool(message["type"] == "scene" and (message.get("your_turn") or message.get("over")))
