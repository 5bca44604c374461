"""Clients of a server, for tests."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from inspect import Signature, signature
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse
from aiohttp.test_utils import TestClient, TestServer

from search.apps.serve.server import Server
from tests.search.serve.material import at, config, service

Client = TestClient[Any, Any]
Scenario = Callable[..., Awaitable[None]]


def run(scenario: Scenario, game: str = "skat", **settings: Any) -> None:
    """Let clients meet a server."""

    offered = service(game)
    offered.used.clear()  # the same deals in whatever order tests run

    async def served() -> None:
        async with TestClient(TestServer(Server(config(game, **settings), offered).app)) as client:
            await asyncio.wait_for(scenario(client), 120)

    asyncio.run(served())


def as_test(met: Scenario, run: Callable[[Scenario], None]) -> Callable[..., None]:
    """A test of a coroutine that ``run`` gives its first argument; the others are fixtures."""

    @wraps(met)
    def test(**fixtures: Any) -> None:
        run(lambda first: met(first, **fixtures))

    test.__signature__ = Signature([*signature(met).parameters.values()][1:])  # type: ignore[attr-defined]
    return test


def scenario(game: str = "skat", **settings: Any) -> Callable[[Scenario], Callable[..., None]]:
    """A test of what a client meets at a server."""
    return lambda met: as_test(met, partial(run, game=game, **settings))


async def opened(client: Client | ClientSession, **asked: Any) -> tuple[str, list[str]]:
    response = await client.post("/tables", json=asked)
    assert response.status == 200, await response.text()
    found = await response.json()
    return found["table"], [found["seats"][seat] for seat in sorted(found["seats"])]


async def sat(client: Client | ClientSession, table: str, seat: str, name: str = "Ann") -> ClientWebSocketResponse:
    socket = await client.ws_connect(f"/tables/{table}")
    await socket.send_json({"seat": seat, "name": name})
    return socket


async def begun(client: Client | ClientSession, **asked: Any) -> tuple[ClientWebSocketResponse, dict[str, Any]]:
    """A new table at which somebody sits, and what that seat is asked first."""
    table, (seat,) = await opened(client, **asked)
    socket = await sat(client, table, seat)
    return socket, await until(socket, asks)


async def played(socket: ClientWebSocketResponse, scene: dict[str, Any], decisions: int = 1000) -> dict[str, Any]:
    """The scene after so many decisions, each the first choices of its scene, or at the end of the hand."""
    while decisions and not scene["over"]:
        await socket.send_json(at(scene))
        scene, decisions = await until(socket, asks), decisions - 1
    return scene


async def error_of(socket: ClientWebSocketResponse) -> str:
    """The text of the next error."""
    return str((await until(socket, lambda told: told["type"] == "error"))["text"])


async def until(socket: ClientWebSocketResponse, wanted: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """The first message that is wanted."""
    while True:
        message: dict[str, Any] = await asyncio.wait_for(socket.receive_json(), 60)
        if wanted(message):
            return message


def asks(message: dict[str, Any]) -> bool:
    return bool(message["type"] == "scene" and (message.get("your_turn") or message.get("over")))
