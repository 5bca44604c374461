"""Tables with the people who are connected to them. Everything that touches a table's hands runs on the thread that
players and networks run on (``search.apps.serve.thinking``), since these share engines."""

import asyncio
import contextlib
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiohttp import web

from cluster.errors import UserError
from search.apps.pictures.texts import Text
from search.apps.serve.service import Service
from search.apps.serve.tables import WATCHING, Message, Table, error_message
from search.apps.serve.thinking import Thinker

_BEHIND = 256
"""Messages that a client may leave unread before its connection is closed."""
_MOST_WATCHING = 32
"""Connections of spectators at a table."""
_MOST_AT_A_SEAT = 4
"""Connections of one person, as a lost one may take a while to end; the oldest makes room for another."""
REPLACED = 4409, b"this seat is open in other windows"
"""Code and reason with which it is closed."""
_LOG = logging.getLogger(__name__)

_Searching = Callable[[threading.Event], Coroutine[Any, Any, None]]
"""A search that goes on until the event."""


class Connection:
    """A connection at a seat. Its messages wait in a queue of its own, so that nobody waits for a slow reader."""

    def __init__(self, socket: web.WebSocketResponse, seat: int) -> None:
        self.socket, self.seat = socket, seat
        self.seen: int | None = None
        """Tokens of its history that it was shown; None before it has seen where the table stands."""
        self._waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_BEHIND)
        self._sender = asyncio.create_task(self._send())

    def send(self, message: dict[str, Any]) -> None:
        """Send a message soon; one that reads nothing is closed."""
        try:
            self._waiting.put_nowait(message)
        except asyncio.QueueFull:
            self.end()

    def end(self, code: int = 1000, reason: bytes = b"") -> None:
        """Send nothing more, and close the connection."""
        self._sender.cancel()
        self._closing = asyncio.create_task(self.socket.close(code=code, message=reason))

    async def _send(self) -> None:
        with contextlib.suppress(ConnectionError):  # the seat waits until somebody comes back to it
            while True:
                await self.socket.send_json(await self._waiting.get())


class Searches:
    """The searches of a seat, one at a time; one more may wait, in whose place a later one comes."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._next: tuple[_Searching, threading.Event] | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self, searching: _Searching) -> None:
        """Begin a search once the one before has ended, which must have been stopped."""
        self._stopped = threading.Event()
        self._next = searching, self._stopped
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._search())

    def stop(self) -> None:
        """End the search, if there is one."""
        self._stopped.set()

    async def _search(self) -> None:
        while self._next is not None:
            (searching, stopped), self._next = self._next, None
            if not stopped.is_set():
                await searching(stopped)


@dataclass
class Room:
    """A table and who is connected to it."""

    table: Table
    service: Service
    think: Thinker
    keep: Callable[[Table], None] | None = None
    """Called on the background thread after every decision of a person, and at the end of a hand."""
    pace: float = 0.0
    """Least seconds from one decision to the next of a player that is no person."""
    connections: list[Connection] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while something happens at the table."""
    used: float = field(default_factory=time.monotonic)
    sat: bool = False
    """Whether anybody has ever sat at a seat."""
    searches: defaultdict[int, Searches] = field(default_factory=lambda: defaultdict(Searches))
    """Seat -> its searches."""

    def full(self, seat: int) -> bool:
        """Whether one more connection has no place. A seat always has room for one."""
        return seat == WATCHING and len(self._at(seat)) >= _MOST_WATCHING

    async def join(self, connection: Connection, name: str) -> None:
        """Somebody sits down, comes back, or watches: they see what is there now, and from then on what happens."""
        if connection.seat != WATCHING:
            self.sat = True
            for oldest in self._at(connection.seat)[: 1 - _MOST_AT_A_SEAT]:
                self.part(oldest, *REPLACED)
            if name:
                self.table.seats[connection.seat].name = name
        self.connections.append(connection)
        await self._show(partial(self._begin, connection), [connection])
        async with self.lock:
            await self._go_on([connection])

    def part(self, connection: Connection, code: int = 1000, reason: bytes = b"") -> None:
        """A connection has ended, or is to; its seat stays."""
        if connection not in self.connections:
            return
        self.connections.remove(connection)
        self.used = time.monotonic()
        connection.end(code, reason)
        if not self._at(connection.seat):
            self.searches[connection.seat].stop()

    def _at(self, seat: int) -> list[Connection]:
        """Connections at a seat, the oldest first."""
        return [connection for connection in self.connections if connection.seat == seat]

    def _begin(self, connection: Connection) -> None:
        connection.seen = len(self.table.history_of(connection.seat))

    async def take(self, connection: Connection, message: Any) -> None:
        """Do what a client asks; what makes no sense is answered by a line, and changes nothing. Whatever it asks ends
        the search of its seat."""
        self.used = time.monotonic()
        self.searches[connection.seat].stop()
        try:
            if connection.seat == WATCHING:
                raise ValueError(Text("serve.watching"))
            asked = Message.of(message)
        except ValueError as error:
            connection.send(error_message(error))
            await asyncio.sleep(0)  # let it be sent before the next message is read
            return
        if asked.asked == "search":
            self.searches[connection.seat].begin(partial(self._search, connection))
        elif asked.asked != "stop":
            async with self.lock:
                await self._take(connection, asked)

    async def _take(self, connection: Connection, message: Message) -> None:
        try:
            if message.asked == "again":
                await self.think.slices(self.service.replay(self.table))
            answer = await self.think(partial(self._do, connection.seat, message))
        except UserError as error:
            self._cannot_keep(error)
            answer = None
        except ValueError as error:
            connection.send(error_message(error))
            if isinstance(error, _PassedError):
                await self._show(to=[connection])
            return
        if answer is not None:
            connection.send(answer)
            return
        await self._show(partial(self._look_again, message.asked))
        await self._go_on(self.connections)

    def _look_again(self, asked: str) -> None:
        """Set back what each connection has seen, after a deal or an undo."""
        for connection in list(self.connections):
            if connection.seen is not None and asked == "deal":
                connection.seen = 0
            elif connection.seen is not None and asked == "undo":
                connection.seen = min(connection.seen, len(self.table.history_of(connection.seat)) - 1)

    def _do(self, seat: int, message: Message) -> dict[str, Any] | None:
        """Do what a message asks; returns an answer for the seat alone, or None where all see the change. A person's
        decision is saved before anybody else acts."""
        table = self.table
        if message.asked in _CHANGING:
            _check_position(message, len(table.history_of(seat)))
        match message.asked:
            case "hint":
                return self.service.hint(table, seat)
            case "again":
                return self.service.rival_replay(table, seat)
            case "act":
                table.act(seat, message.act)
            case "deal":
                table.deal()
            case "undo":
                table.undo(seat)
            case "name":
                table.seats[seat].name = message.name
        if self.keep is not None:
            self.keep(table)
        return None

    async def _search(self, connection: Connection, stopped: threading.Event) -> None:
        """Search a seat's decision, and send it what was found so far now and then."""
        try:
            async with self.think.places:
                await self.think.slices(
                    self.service.search(self.table, connection.seat, stopped.is_set), connection.send
                )
        except ValueError as error:
            connection.send(error_message(error))
        except Exception:
            _LOG.exception("a search failed")
            connection.send(error_message(Text("serve.search_failed")))

    async def _go_on(self, to: list[Connection]) -> None:
        """Let players act until a person is to, or the hand is over; all see each action as it comes, the pace after
        the one before, so that its time does not reveal whether there was a choice. A failure may name cards, so people
        learn no more than that there was one.

        Args:
            to: who gets the comparison of a match's hand that is over.
        """
        changes = self.table.waits_for_players or self.table.options.deals > 0  # a match's comparison is kept too
        hands, due = self.table.hands, time.monotonic() + self.pace
        try:
            while self.table.waits_for_players:
                chosen = await self.think(hands.choice, self.pace)
                await asyncio.sleep(due - time.monotonic())
                await self._show(partial(hands.let_play, chosen))  # not known to the table before
                due = time.monotonic() + self.pace
            if self.table.hands.over and self.table.options.deals:
                await self._compare(to)
        except Exception:
            _LOG.exception("a player failed")
            self._tell_all(Text("serve.failed"))
        if self.keep is not None and self.table.hands.over and changes:
            try:
                await self.think(partial(self.keep, self.table))
            except UserError as error:
                self._cannot_keep(error)

    async def _compare(self, to: list[Connection]) -> None:
        """Let the rival play the finished hand of a match too, and send the comparison."""
        await self.think.slices(self.service.replay(self.table))
        for seat in self.table.seats:
            found = await self.think(partial(self.service.rival_replay, self.table, seat))
            for connection in to:
                if connection.seat == seat:
                    connection.send(found)

    def _cannot_keep(self, error: UserError) -> None:
        _LOG.error("%s", error)
        self._tell_all(Text("serve.lost"))

    def _tell_all(self, text: str) -> None:
        for connection in self.connections:
            connection.send(error_message(text))

    async def _show(self, doing: Callable[[], None] = lambda: None, to: list[Connection] | None = None) -> None:
        """Do something, and send all, or some, the scenes that they have not seen."""
        for connection, scenes in await self.think(partial(self._scenes, doing, to)):
            for scene in scenes:
                connection.send(scene)

    def _scenes(
        self, doing: Callable[[], None], to: list[Connection] | None
    ) -> list[tuple[Connection, list[dict[str, Any]]]]:
        doing()
        made, found = dict[tuple[int, int], tuple[list[dict[str, Any]], int]](), []
        for connection in list(self.connections) if to is None else to:
            if connection.seen is not None:
                place = connection.seat, connection.seen
                if place not in made:  # spectators see the same
                    made[place] = self.table.scenes(*place)
                scenes, connection.seen = made[place]
                found.append((connection, scenes))
        return found


class _PassedError(ValueError):
    """A message is for an earlier position."""


_CHANGING = ("act", "deal", "undo")
"""What changes the table, so it names the position that it is for: somebody who taps twice asks for one thing."""


def _check_position(message: Message, now: int) -> None:
    """``_PassedError`` unless the seat's history has ``at`` tokens now, or for ``undo`` as many or more: what others
    play while one asks for it goes too."""
    if "at" not in message.model_fields_set:
        raise ValueError(f"{message.asked}: at must be the number of tokens of the history that it is for")
    if message.at != now and not (message.asked == "undo" and message.at < now):
        raise _PassedError(Text("serve.moved_on"))
