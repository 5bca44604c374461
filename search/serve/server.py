"""``kibitz serve`` over HTTP and websockets: tables for people, answers for programs.

Everything that takes long, players, networks and searches, runs on one background thread, one thing after the other, so
that no two use an engine at once. A client is told scenes of its own seat alone; what it sends is compared with what is
legal and is never run, looked up as a name, or shown unescaped.
"""

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from typing import Any, TypeVar

from aiohttp import WSMsgType, web

from search.analysis.analyst import Analyst
from search.serve.config import LOOPBACK, ServeConfig
from search.serve.games import Service
from search.serve.tables import Table, whole

T = TypeVar("T")
_IDLE_SECONDS = 3600.0
_MOST_BYTES = 1 << 16
"""Of a message of a client."""
_TOGETHER = 64
"""Questions that are answered at once."""
_NAME = 24
"""Most characters of a person's name."""


@dataclass
class Guest:
    """A connection at a seat."""

    socket: web.WebSocketResponse
    seat: int
    seen: int = 0
    """Tokens of its history that it was shown."""


@dataclass
class Room:
    """A table and who is connected to it."""

    table: Table
    guests: list[Guest] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while something happens at the table."""
    used: float = field(default_factory=time.monotonic)


class Server:
    """The application; ``app`` runs under any runner of aiohttp's."""

    def __init__(self, config: ServeConfig, service: Service) -> None:
        self._config, self._service = config, service
        self._rooms = dict[str, Room]()
        self._thinker = ThreadPoolExecutor(1, "kibitz-thinks")
        self._questions = Questions(service.analyst, config.waiting, self._think)
        self.app = web.Application(client_max_size=1 << 20, middlewares=[self._guard])
        self.app.add_routes(
            [
                web.get("/", self._page),
                web.get("/about", self._about),
                web.post("/tables", self._open),
                web.get("/tables/{table}", self._sit),
                web.get("/tables/{table}/review", self._review),
                web.post("/answers", self._answers),
                web.get("/openapi.json", self._openapi),
            ]
        )
        self.app.on_shutdown.append(self._close)

    async def _think(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thinker, work)

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Refuse pages of other sites, which a browser lets ask this one too."""
        host = request.host.rpartition(":")[0].strip("[]") or request.host
        if self._config.host in LOOPBACK and host not in LOOPBACK:
            raise web.HTTPForbidden(text="this server answers at its own address alone")
        origin = request.headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != request.host:
            raise web.HTTPForbidden(text="another site may not ask this one")
        response = await handler(request)
        if not response.prepared:
            response.headers["X-Content-Type-Options"] = "nosniff"
            response.headers["Referrer-Policy"] = "no-referrer"
        return response

    def _check_key(self, request: web.Request) -> None:
        given = request.headers.get("X-Kibitz-Key", "")
        if self._config.key and not secrets.compare_digest(given.encode(), self._config.key.encode()):
            raise web.HTTPForbidden(text="the key is missing or wrong")

    # ---- pages

    async def _page(self, request: web.Request) -> web.Response:
        return web.Response(text=self._service.page(), content_type="text/html")

    async def _about(self, request: web.Request) -> web.Response:
        return web.json_response(self._service.about())

    async def _openapi(self, request: web.Request) -> web.Response:
        text = resources.files("search.serve").joinpath("openapi.json").read_text(encoding="utf-8")
        return web.Response(text=text, content_type="application/json")

    # ---- answers for programs

    async def _answers(self, request: web.Request) -> web.Response:
        self._check_key(request)
        asked = await _json(request)
        questions = asked if isinstance(asked, list) else [asked]
        answers = await self._questions.ask(questions)
        return web.json_response(answers if isinstance(asked, list) else answers[0])

    # ---- tables

    async def _open(self, request: web.Request) -> web.Response:
        """A new table, and the secrets of its people's seats."""
        self._check_key(request)
        asked = await _json(request)
        try:
            wanted = self._service.wanted(asked)
        except ValueError as error:
            raise web.HTTPBadRequest(text=str(error)) from None
        self._make_room()
        table = await self._think(lambda: self._service.table(wanted))
        self._rooms[table.id] = Room(table)
        tokens = {str(chair.seat): chair.token for chair in table.chairs.values()}
        return web.json_response({"table": table.id, "seats": tokens})

    def _make_room(self) -> None:
        old = [
            number
            for number, room in self._rooms.items()
            if not room.guests and time.monotonic() - room.used > _IDLE_SECONDS
        ]
        for number in old:
            del self._rooms[number]
        if len(self._rooms) >= self._config.tables:
            raise web.HTTPServiceUnavailable(text=f"all {self._config.tables} tables are taken; come back later")

    def _room(self, request: web.Request, token: str) -> tuple[Room, int]:
        """The table that is asked for and the seat of a token; 403 for anything else, whether or not there is such a
        table."""
        room = self._rooms.get(request.match_info["table"])
        seat = room.table.seat_of(token) if room else None
        if room is None or seat is None:
            raise web.HTTPForbidden(text="this link fits no seat")
        return room, seat

    async def _review(self, request: web.Request) -> web.Response:
        room, seat = self._room(request, request.headers.get("X-Kibitz-Seat", ""))
        if not room.table.hands.finished:
            raise web.HTTPConflict(text="no hand is over yet")
        async with room.lock:
            html = await self._think(lambda: self._service.review(room.table, seat))
        return web.Response(text=html, content_type="text/html")

    async def _sit(self, request: web.Request) -> web.StreamResponse:
        """A websocket, whose first message has the secret of the seat."""
        socket = web.WebSocketResponse(heartbeat=30, max_msg_size=_MOST_BYTES)
        await socket.prepare(request)
        first = await _message(socket)
        try:
            room, seat = self._room(request, str(first.get("seat", "")))
        except web.HTTPForbidden:
            await socket.close(code=4403, message=b"this link fits no seat")
            return socket
        guest = Guest(socket, seat, len(room.table.hands.history_of(seat)))  # who comes back sees what is there now
        room.guests.append(guest)
        room.table.chairs[seat].name = str(first.get("name", ""))[:_NAME]
        try:
            async with room.lock:
                await self._show(room, [guest])
                await self._go_on(room)
            while (message := await _message(socket)) or not socket.closed:
                room.used = time.monotonic()
                await self._take(room, guest, message)
        finally:
            room.guests.remove(guest)
        return socket

    async def _take(self, room: Room, guest: Guest, message: dict[str, Any]) -> None:
        """Do what a client asks; what makes no sense is answered by a line, and changes nothing."""
        table = room.table
        try:
            async with room.lock:
                if "act" in message:
                    table.act(guest.seat, whole(message["act"]))
                elif "deal" in message:
                    table.hands.deal()
                    for other in room.guests:
                        other.seen = 0
                elif "undo" in message:
                    table.undo(guest.seat)
                    for other in room.guests:
                        other.seen = min(other.seen, len(table.hands.history_of(other.seat)) - 1)
                elif "hint" in message:
                    told = await self._think(lambda: self._service.hint(table, guest.seat, bool(message.get("search"))))
                    await _tell(guest, told)
                    return
                elif "again" in message:
                    await _tell(guest, await self._think(lambda: self._service.again(table, guest.seat)))
                    return
                else:
                    raise ValueError("no such message; there are act, deal, undo, hint, again")
                await self._show(room, room.guests)
                await self._go_on(room)
        except ValueError as error:
            await _tell(guest, {"type": "error", "text": str(error)})

    async def _go_on(self, room: Room) -> None:
        """Let players act until a person is to, or the hand is over; all see each action as it comes."""
        while room.table.waits_for_players:
            await self._think(room.table.hands.let_play)
            await self._show(room, room.guests)

    async def _show(self, room: Room, guests: list[Guest]) -> None:
        """Send each of them the scenes that it has not seen."""
        for guest in list(guests):
            told, guest.seen = room.table.scenes(guest.seat, guest.seen)
            for scene in told:
                await _tell(guest, scene)

    async def _close(self, app: web.Application) -> None:
        for room in self._rooms.values():
            for guest in list(room.guests):
                await guest.socket.close(code=1001, message=b"the server ends")
        self._thinker.shutdown(wait=False, cancel_futures=True)


class Questions:
    """Questions of programs that wait together are answered together."""

    def __init__(self, analyst: Analyst, most: int, think: Callable[[Callable[[], Any]], Awaitable[Any]]) -> None:
        self._analyst, self._most, self._think = analyst, most, think
        self._waiting = list[tuple[Any, asyncio.Future[dict[str, Any]]]]()
        self._answering: asyncio.Task[None] | None = None

    async def ask(self, questions: list[Any]) -> list[dict[str, Any]]:
        """The answers, in order; 503 where too many wait."""
        if len(self._waiting) + len(questions) > self._most:
            raise web.HTTPServiceUnavailable(text=f"{self._most} questions may wait; come back later")
        loop = asyncio.get_running_loop()
        mine = [(question, loop.create_future()) for question in questions]
        self._waiting += mine
        if self._answering is None or self._answering.done():
            self._answering = loop.create_task(self._answer_all())
        return [await future for _, future in mine]

    async def _answer_all(self) -> None:
        while self._waiting:
            now, self._waiting = self._waiting[:_TOGETHER], self._waiting[_TOGETHER:]
            try:
                answers = await self._think(partial(self._analyst.answers, [question for question, _ in now]))
            except Exception as error:
                for _, future in now:
                    future.set_exception(error)
                raise
            for (_, future), answer in zip(now, answers, strict=True):
                if not future.done():
                    future.set_result(answer)


async def _tell(guest: Guest, message: dict[str, Any]) -> None:
    """Send a message, unless the connection is gone: the seat waits until somebody comes back to it."""
    with contextlib.suppress(ConnectionError):
        await guest.socket.send_json(message)


async def _json(request: web.Request) -> Any:
    try:
        return await request.json()
    except (ValueError, RecursionError):
        raise web.HTTPBadRequest(text="not JSON") from None


async def _message(socket: web.WebSocketResponse) -> dict[str, Any]:
    """The next message of a client; empty for what is no JSON object, and at the end."""
    received = await socket.receive()
    if received.type is not WSMsgType.TEXT:
        return {}
    try:
        found = json.loads(received.data)
    except (ValueError, RecursionError):
        return {"wrong": True}
    return found if isinstance(found, dict) else {"wrong": True}
