"""``kibitz serve`` over HTTP and websockets: tables for people, answers for programs.

Everything that takes long, players, networks and searches, runs on one background thread (``thinking.py``), so that no
two use an engine at once. A client gets scenes of its own seat alone; what it sends is compared with what is legal
and is never run, looked up as a name, or shown unescaped.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import accumulate
from typing import Any

from aiohttp import WSMsgType, web

from cluster.errors import UserError
from cluster.foreign import parse_json
from search.apps.engine.engine import Answer, MoveEngine, read_json
from search.apps.pictures.texts import Text, as_json
from search.apps.serve.config import ServeConfig
from search.apps.serve.connections import Connections
from search.apps.serve.names import refused
from search.apps.serve.openapi import document
from search.apps.serve.rooms import Connection, Room
from search.apps.serve.saved import SavedTables
from search.apps.serve.service import NO_VALUES, Service
from search.apps.serve.tables import WATCHING, Greeting, Table, TableOptions, same_secret
from search.apps.serve.thinking import LATER, Thinker

_LOG = logging.getLogger(__name__)
_IDLE_SECONDS, _UNUSED_SECONDS = 3600.0, 60.0
"""Until a table that people have left makes room, and one that nobody has sat at where no other place is left."""
_MOST_BYTES = 1 << 16
"""Of a message of a client."""
_TOGETHER = 64
"""Questions that are answered at once."""
_BODY_SECONDS = 10.0
"""Until all of a request is there."""
_FIRST_SECONDS = 10.0
"""Until a connection says which seat it is for."""
_RECORD = 16
"""Questions that a record counts for: it has some ten decisions."""
_NAME = 24
"""Most characters of a person's name."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "frame-ancestors 'none'",
}
"""Of every answer."""


class Server:
    """The application; ``app`` runs under any runner of aiohttp's."""

    def __init__(self, config: ServeConfig, service: Service) -> None:
        self._config, self._service = config, service
        self._rooms, self._opening = dict[str, Room](), 0
        self._sockets = set[web.WebSocketResponse]()
        self._think = Thinker()
        self._kept = SavedTables(config.out, service) if config.out else None
        self.connections = Connections()
        self._questions = Questions(service.engine, config.waiting, self._think) if service.engine else None
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
        self.app.on_response_prepare.append(_add_headers)
        self.app.on_shutdown.append(self._close)

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Refuse pages of other sites, which a browser lets ask this one too."""
        asked = request.headers.get("Host", ""), request.headers.get("Origin")
        if why := refused(self._config.host, self._config.names, *asked):
            raise web.HTTPForbidden(text=why)
        with self.connections.answering(request):
            return await handler(request)

    def _check_key(self, request: web.Request) -> None:
        given = request.headers.get("X-Kibitz-Key", "")
        if self._config.key and not same_secret(given, self._config.key):
            raise _refusal(web.HTTPForbidden, Text("serve.key"))

    # ---- pages

    async def _page(self, request: web.Request) -> web.Response:
        return web.Response(text=self._service.page(), content_type="text/html")

    async def _about(self, request: web.Request) -> web.Response:
        return web.json_response(self._service.about())

    async def _openapi(self, request: web.Request) -> web.Response:
        return web.json_response(document())

    # ---- answers for programs

    async def _answers(self, request: web.Request) -> web.Response:
        self._check_key(request)
        if self._questions is None:
            raise _refusal(web.HTTPConflict, NO_VALUES)
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
            options = self._service.checked(TableOptions.of(asked))
        except ValueError as error:
            raise _refusal(web.HTTPBadRequest, error.args[0]) from None
        self._make_room()
        self._opening += 1
        try:
            table = await self._think(partial(self._opened, options))
        except UserError as error:
            _LOG.error("%s", error)
            raise _refusal(web.HTTPServiceUnavailable, Text("serve.not_kept")) from None
        finally:
            self._opening -= 1
        self._rooms[table.id] = self._room_of(table)
        tokens = {str(seat.seat): seat.token for seat in table.seats.values()}
        return web.json_response({"table": table.id, "seats": tokens, "watch": table.watching})

    def _opened(self, options: TableOptions) -> Table:
        table = self._service.table(options)
        if self._kept:
            self._kept.keep(table)
        return table

    def _room_of(self, table: Table) -> Room:
        pace = self._config.pace * self._service.levels[table.options.level].seconds
        return Room(table, self._service, self._think, self._kept.keep if self._kept else None, pace)

    def _make_room(self) -> None:
        """Drop tables that nobody has sat at for long; 503 where there is no place."""
        now, full = time.monotonic(), len(self._rooms) + self._opening >= self._config.tables
        for number, room in list(self._rooms.items()):
            if not room.connections and now - room.used > (_UNUSED_SECONDS if full and not room.sat else _IDLE_SECONDS):
                self._think.soon(self._rooms.pop(number).table.hands.leave)
        if len(self._rooms) + self._opening >= self._config.tables:
            raise _refusal(web.HTTPServiceUnavailable, Text("serve.tables", tables=self._config.tables))

    async def _room(self, request: web.Request, token: str) -> tuple[Room, int]:
        """The table that is asked for and the seat of a token; 403 for anything else, whether or not there is such a
        table."""
        name = request.match_info["table"]
        table = self._rooms[name].table if name in self._rooms else None
        if table is None and self._kept:
            record = await asyncio.to_thread(self._kept.read, name, token)  # the thread of tables waits for no storage
            table = await self._think(partial(self._kept.restored, name, record)) if record else None
        seat = table.seat_of(token) if table else None
        if table is None or seat is None:
            raise web.HTTPForbidden(text="this link fits no seat")
        if name not in self._rooms:
            self._make_room()
            self._rooms[name] = self._room_of(table)
        return self._rooms[name], seat

    async def _review(self, request: web.Request) -> web.Response:
        room, seat = await self._room(request, request.headers.get("X-Kibitz-Seat", ""))
        if seat == WATCHING:
            raise _refusal(web.HTTPForbidden, Text("serve.watched"))
        if not room.table.hands.finished:
            raise _refusal(web.HTTPConflict, Text("serve.no_hand"))
        if self._service.engine is None:
            raise _refusal(web.HTTPConflict, NO_VALUES)
        async with room.lock:
            html = await self._think(lambda: self._service.review(room.table, seat), LATER)
        return web.Response(text=html, content_type="text/html")

    async def _sit(self, request: web.Request) -> web.StreamResponse:
        """A websocket, whose first message has the secret of the seat."""
        socket = web.WebSocketResponse(heartbeat=30, max_msg_size=_MOST_BYTES)
        await socket.prepare(request)
        self._sockets.add(socket)
        try:
            first = Greeting.of(await asyncio.wait_for(_message(socket), _FIRST_SECONDS))
            room, seat = await self._room(request, first.seat)
            if room.full(seat):
                raise web.HTTPServiceUnavailable
        except (web.HTTPForbidden, web.HTTPServiceUnavailable, TimeoutError, ValueError) as error:
            full = isinstance(error, web.HTTPServiceUnavailable)
            code, reason = (4503, b"all places are taken") if full else (4403, b"this link fits no seat")
            await socket.close(code=code, message=reason)
            self._sockets.discard(socket)
            return socket
        connection = Connection(socket, seat)
        try:
            await room.join(connection, first.name[:_NAME])
            while (message := await _message(socket)) or not socket.closed:
                await room.take(connection, message)
        finally:
            room.part(connection)
            self._sockets.discard(socket)
        return socket

    async def _close(self, app: web.Application) -> None:
        for socket in list(self._sockets):
            await socket.close(code=1001, message=b"the server ends")
        self._think.close()


class Questions:
    """Questions of programs that wait together are answered together."""

    def __init__(self, engine: MoveEngine, most: int, think: Thinker) -> None:
        self._engine, self._most, self._think = engine, most, think
        self._waiting = list[tuple[Any, asyncio.Future[Answer]]]()
        self._answering: asyncio.Task[None] | None = None

    async def ask(self, questions: list[Any]) -> list[Answer]:
        """The answers, in order; 503 where too many wait."""
        if sum(map(_weight, [*(question for question, _ in self._waiting), *questions])) > self._most:
            raise web.HTTPServiceUnavailable(text=f"{self._most} questions may wait; come back later")
        loop = asyncio.get_running_loop()
        mine = [(question, loop.create_future()) for question in questions]
        self._waiting += mine
        if self._answering is None or self._answering.done():
            self._answering = loop.create_task(self._answer_all())
        return [await future for _, future in mine]

    async def _answer_all(self) -> None:
        while self._waiting:
            weights = accumulate(_weight(question) for question, _ in self._waiting)
            some = max(1, sum(weight <= _TOGETHER for weight in weights))
            now, self._waiting = self._waiting[:some], self._waiting[some:]
            try:
                answers = await self._think(partial(self._engine.answers, [question for question, _ in now]), LATER)
            except Exception as error:
                _LOG.exception("no answers")
                for _, future in now:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), answer in zip(now, answers, strict=True):
                if not future.done():
                    future.set_result(answer)


def _weight(question: Any) -> int:
    return _RECORD if isinstance(question, dict) and "record" in question else 1


def _refusal(kind: type[web.HTTPException], text: str) -> web.HTTPException:
    """In English for programs, and in a header as pages say it."""
    return kind(text=text, headers={"X-Kibitz-Text": json.dumps(as_json(text))})


async def _add_headers(request: web.BaseRequest, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)


async def _json(request: web.Request) -> Any:
    """What a request holds. Other character sets are refused: some take Python minutes to decode."""
    if (request.charset or "utf-8").lower() not in ("utf-8", "utf8"):
        raise web.HTTPBadRequest(text="not UTF-8")
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            return read_json((await request.read()).decode())
    except TimeoutError:
        refusal: web.HTTPException = web.HTTPRequestTimeout(text="not all of the request has come")
    except (ValueError, RecursionError, web.RequestPayloadError):
        refusal = web.HTTPBadRequest(text="not JSON")
    if not request.content.is_eof() or request.content.exception():
        refusal.force_close()  # what follows in the connection cannot be told from the rest
    raise refusal


async def _message(socket: web.WebSocketResponse) -> Any:
    """The next message of a client; None for what is no JSON, and at the end."""
    received = await socket.receive()
    try:
        return parse_json(received.data) if received.type is WSMsgType.TEXT else None
    except ValueError:
        return None
