"""Tables with the people who are connected to them. Everything that touches a table's hands runs on the thread that
players and networks run on (``Think``), since these share engines."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiohttp import web

from cluster.errors import UserError
from search.serve.games import Service
from search.serve.tables import WATCHING, Table, whole

Think = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs work on the one background thread."""
_BEHIND = 256
"""Messages that a client may leave unread before its connection is closed."""
_MESSAGES = ("act", "deal", "undo", "hint", "search", "stop", "again")
_LOG = logging.getLogger(__name__)


class Guest:
    """A connection at a seat. What it is told waits in a queue of its own, so that nobody waits for a slow reader."""

    def __init__(self, socket: web.WebSocketResponse, seat: int) -> None:
        self.socket, self.seat = socket, seat
        self.seen = 0
        """Tokens of its history that it was shown."""
        self._stopped = threading.Event()
        self._waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_BEHIND)
        self._sender = asyncio.create_task(self._send())

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message soon; one that reads nothing is closed."""
        try:
            self._waiting.put_nowait(message)
        except asyncio.QueueFull:
            self.end()

    def search(self, searching: Callable[[threading.Event], Coroutine[Any, Any, None]]) -> None:
        """Begin a search, which goes on until the event that it is given."""
        self._stopped = threading.Event()
        self._searching = asyncio.create_task(searching(self._stopped))

    def stop(self) -> None:
        """End the search, if there is one."""
        self._stopped.set()

    def end(self) -> None:
        """Send nothing more, and close the connection."""
        self.stop()
        self._sender.cancel()
        self._closing = asyncio.create_task(self.socket.close())

    async def _send(self) -> None:
        with contextlib.suppress(ConnectionError):  # the seat waits until somebody comes back to it
            while True:
                await self.socket.send_json(await self._waiting.get())


@dataclass
class Room:
    """A table and who is connected to it."""

    table: Table
    service: Service
    think: Think
    keep: Callable[[Table], None] | None = None
    """Called on the background thread after every decision of a person."""
    guests: list[Guest] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while something happens at the table."""
    used: float = field(default_factory=time.monotonic)

    async def join(self, guest: Guest, name: str) -> None:
        """Somebody sits down, comes back, or watches: it sees what is there now."""
        self.guests.append(guest)
        if guest.seat != WATCHING:
            self.table.chairs[guest.seat].name = name
        async with self.lock:
            guest.seen = await self._tokens(guest)
            await self._show([guest])
            await self._go_on()

    def part(self, guest: Guest) -> None:
        """A connection has ended; its seat stays."""
        self.guests.remove(guest)
        self.used = time.monotonic()
        guest.end()

    async def take(self, guest: Guest, message: dict[str, Any]) -> None:
        """Do what a client asks; what makes no sense is answered by a line, and changes nothing. Whatever it asks ends
        the search that it has begun."""
        self.used = time.monotonic()
        guest.stop()
        if guest.seat == WATCHING:
            guest.tell({"type": "error", "text": "you watch this table"})
        elif "search" in message:
            guest.search(partial(self._search, guest))
        elif "stop" not in message:
            async with self.lock:
                await self._take(guest, message)

    async def _take(self, guest: Guest, message: dict[str, Any]) -> None:
        try:
            told = await self.think(partial(self._do, guest.seat, message))
        except ValueError as error:
            guest.tell({"type": "error", "text": str(error)})
            return
        if told is not None:
            guest.tell(told)
            return
        for other in self.guests:
            if "deal" in message:
                other.seen = 0
            elif "undo" in message:
                other.seen = min(other.seen, await self._tokens(other) - 1)
        await self._show(self.guests)
        await self._go_on()

    def _do(self, seat: int, message: dict[str, Any]) -> dict[str, Any] | None:
        """Do it; an answer for the seat alone, or None where all see what has changed."""
        table = self.table
        match next((name for name in _MESSAGES if name in message), ""):
            case "act":
                table.act(seat, whole(message["act"]))
            case "deal":
                table.deal()
            case "undo":
                table.undo(seat)
            case "hint":
                return self.service.hint(table, seat)
            case "again":
                return self.service.again(table, seat)
            case _:
                raise ValueError(f"no such message; there are {', '.join(_MESSAGES)}")
        return None

    async def _search(self, guest: Guest, stopped: threading.Event) -> None:
        """Search a seat's decision; it sees what was found so far, now and then."""
        loop = asyncio.get_running_loop()

        def watch(found: dict[str, Any]) -> bool:
            loop.call_soon_threadsafe(guest.tell, found)
            return not stopped.is_set()

        def work() -> dict[str, Any] | None:
            """Nothing, if it was stopped while it waited."""
            return None if stopped.is_set() else self.service.hint(self.table, guest.seat, watch)

        try:
            found = await self.think(work)
            if found is not None:
                guest.tell(found)
        except ValueError as error:
            guest.tell({"type": "error", "text": str(error)})
        except Exception:
            _LOG.exception("a search failed")
            guest.tell({"type": "error", "text": "the search has failed"})

    async def _go_on(self) -> None:
        """Let players act until a person is to, or the hand is over; all see each action as it comes. What a failure
        says may name cards, so people are told no more than that there was one."""
        try:
            while self.table.waits_for_players:
                await self.think(self.table.hands.let_play)
                await self._show(self.guests)
            if self.table.hands.over and self.table.wanted.deals:
                await self._compare()
        except Exception:
            _LOG.exception("a player failed")
            self._tell_all("a player of this table has failed; open another table")
        if self.keep is not None:
            try:
                await self.think(partial(self.keep, self.table))
            except UserError as error:
                _LOG.error("%s", error)
                self._tell_all("the server cannot keep this table: it will be lost when the server ends")

    async def _compare(self) -> None:
        """In a match: the hand that is over, played by the rival too."""
        for seat in self.table.chairs:
            told = await self.think(partial(self.service.again, self.table, seat))
            for guest in self.guests:
                if guest.seat == seat:
                    guest.tell(told)

    def _tell_all(self, text: str) -> None:
        for guest in self.guests:
            guest.tell({"type": "error", "text": text})

    async def _tokens(self, guest: Guest) -> int:
        """Length of the history that its scenes are made of."""
        return len(await self.think(partial(self.table.history_of, guest.seat)))

    async def _show(self, guests: list[Guest]) -> None:
        """Tell each of them the scenes that it has not seen."""
        for guest in list(guests):
            told, guest.seen = await self.think(partial(self.table.scenes, guest.seat, guest.seen))
            for scene in told:
                guest.tell(scene)
