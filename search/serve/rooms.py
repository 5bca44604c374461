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

_Searching = Callable[[threading.Event], Coroutine[Any, Any, None]]
"""A search that goes on until the event."""


class Guest:
    """A connection at a seat. What it is told waits in a queue of its own, so that nobody waits for a slow reader."""

    def __init__(self, socket: web.WebSocketResponse, seat: int) -> None:
        self.socket, self.seat = socket, seat
        self.seen = 0
        """Tokens of its history that it was shown."""
        self._stopped = threading.Event()
        self._next: _Searching | None = None
        self._searches: asyncio.Task[None] | None = None
        self._waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_BEHIND)
        self._sender = asyncio.create_task(self._send())

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message soon; one that reads nothing is closed."""
        try:
            self._waiting.put_nowait(message)
        except asyncio.QueueFull:
            self.end()

    def search(self, searching: _Searching) -> None:
        """Begin a search, once the one before has ended."""
        self._next = searching
        if self._searches is None or self._searches.done():
            self._searches = asyncio.create_task(self._search())

    def stop(self) -> None:
        """End the search, if there is one."""
        self._next = None
        self._stopped.set()

    def end(self) -> None:
        """Send nothing more, and close the connection."""
        self.stop()
        self._sender.cancel()
        self._closing = asyncio.create_task(self.socket.close())

    async def _search(self) -> None:
        while self._next is not None:
            searching, self._next, self._stopped = self._next, None, threading.Event()
            await searching(self._stopped)

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
    """Called on the background thread after every decision of a person, and at the end of a hand."""
    guests: list[Guest] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while something happens at the table."""
    used: float = field(default_factory=time.monotonic)

    async def join(self, guest: Guest, name: str) -> None:
        """Somebody sits down, comes back, or watches: it sees what is there now."""
        self.guests.append(guest)
        if guest.seat != WATCHING and name:
            self.table.chairs[guest.seat].name = name
        async with self.lock:
            guest.seen = await self._tokens(guest)
            await self._show([guest])
            await self._go_on([guest])

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
        asked = [name for name in _MESSAGES if name in message]
        if guest.seat == WATCHING or len(asked) != 1:
            known = f"no such message; there are {', '.join(_MESSAGES)}"
            guest.tell({"type": "error", "text": "you watch this table" if guest.seat == WATCHING else known})
            await asyncio.sleep(0)  # let it be sent before the next message is read
        elif asked == ["search"]:
            guest.search(partial(self._search, guest))
        elif asked != ["stop"]:
            async with self.lock:
                await self._take(guest, asked[0], message[asked[0]])

    async def _take(self, guest: Guest, asked: str, what: Any) -> None:
        try:
            told = await self.think(partial(self._do, guest.seat, asked, what))
        except UserError as error:
            self._cannot_keep(error)
            told = None
        except ValueError as error:
            guest.tell({"type": "error", "text": str(error)})
            return
        if told is not None:
            guest.tell(told)
            return
        for other in self.guests:
            if asked == "deal":
                other.seen = 0
            elif asked == "undo":
                other.seen = min(other.seen, await self._tokens(other) - 1)
        await self._show(self.guests)
        await self._go_on(self.guests)

    def _do(self, seat: int, asked: str, what: Any) -> dict[str, Any] | None:
        """Do it; an answer for the seat alone, or None where all see what has changed. What a person did is kept before
        anybody else acts."""
        table = self.table
        match asked:
            case "hint":
                return self.service.hint(table, seat)
            case "again":
                return self.service.again(table, seat)
            case "act":
                table.act(seat, whole(what))
            case "deal":
                table.deal()
            case "undo":
                table.undo(seat)
        if self.keep is not None:
            self.keep(table)
        return None

    async def _search(self, guest: Guest, stopped: threading.Event) -> None:
        """Search a seat's decision; it sees what was found so far, now and then."""
        loop = asyncio.get_running_loop()

        def watch(found: dict[str, Any]) -> bool:
            loop.call_soon_threadsafe(guest.tell, found)
            return not stopped.is_set()

        try:
            guest.tell(await self.think(partial(self.service.hint, self.table, guest.seat, watch)))
        except ValueError as error:
            guest.tell({"type": "error", "text": str(error)})
        except Exception:
            _LOG.exception("a search failed")
            guest.tell({"type": "error", "text": "the search has failed"})

    async def _go_on(self, told: list[Guest]) -> None:
        """Let players act until a person is to, or the hand is over; all see each action as it comes. What a failure
        says may name cards, so people are told no more than that there was one.

        Args:
            told: who is told the comparison of a match's hand that is over.
        """
        changes = self.table.waits_for_players or self.table.wanted.deals > 0  # a match's comparison is kept too
        try:
            while self.table.waits_for_players:
                await self.think(self.table.hands.let_play)
                await self._show(self.guests)
            if self.table.hands.over and self.table.wanted.deals:
                await self._compare(told)
        except Exception:
            _LOG.exception("a player failed")
            self._tell_all("a player of this table has failed; open another table")
        if self.keep is not None and self.table.hands.over and changes:
            try:
                await self.think(partial(self.keep, self.table))
            except UserError as error:
                self._cannot_keep(error)

    async def _compare(self, told: list[Guest]) -> None:
        """In a match: the hand that is over, played by the rival too."""
        for seat in self.table.chairs:
            found = await self.think(partial(self.service.again, self.table, seat))
            for guest in told:
                if guest.seat == seat:
                    guest.tell(found)

    def _cannot_keep(self, error: UserError) -> None:
        _LOG.error("%s", error)
        self._tell_all("the server cannot keep this table: it will be lost when the server ends")

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
