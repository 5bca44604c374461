"""Who may be connected: as many as there is room for, from one address a quarter of these, and none for long that asks
nothing. So nobody keeps others out by connections that are open and no more."""

import asyncio
import ipaddress
import logging
import resource
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

from aiohttp import web
from aiohttp.http import HttpProcessingError

from cluster.errors import UserError

HEAD_SECONDS = 10.0
"""Until a request's head is there, counted from the connection or from the answer before."""
_UNREAD_SECONDS = 60.0
"""Until a client reads on whose answers wait."""
_MOST = 4096
_OWN_FILES = 128
"""Descriptors that are left for everything but connections, where there are twice as many."""
_QUIET_SECONDS = 600.0
"""Between two lines about the same."""
_ACCEPT_FAILED = "socket.accept() out of system resource"
"""What asyncio says, a hundred times a second."""
_CLIENTS_FAULT = (HttpProcessingError, web.RequestPayloadError)
_LOG = logging.getLogger(__name__)
_HTTP_LOG = logging.getLogger(f"{__name__}.http")
_HTTP_LOG.addFilter(lambda record: not isinstance((record.exc_info or (None, None))[1], _CLIENTS_FAULT))
"""Of aiohttp, without a traceback for each client that speaks no HTTP."""


class Connections:
    """Counts connections. Where there is no place, the oldest that waits for a request makes room."""

    def __init__(self, most: int = 0, head_seconds: float = HEAD_SECONDS) -> None:
        """``most``: at once; 0 for what the limit on open files allows (``ulimit -n``)."""
        self.most, self.head_seconds = most or _room(), head_seconds
        self.most_of_address = max(1, self.most // 4)
        self._open = dict[Any, _Connection]()
        """By transport; who was answered last is last."""
        self._of_address = Counter[str]()
        self._warned = -_QUIET_SECONDS

    @asynccontextmanager
    async def listening(self, app: web.Application, host: str, port: int) -> AsyncIterator[int]:
        """Serve an application; yields the port. ``UserError`` for an address that cannot be had."""
        loop = asyncio.get_running_loop()
        runner = web.AppRunner(
            app, access_log=None, logger=_HTTP_LOG, shutdown_timeout=2, keepalive_timeout=self.head_seconds
        )
        await runner.setup()
        make = cast(Callable[[], asyncio.Protocol], runner.server)
        loop.set_exception_handler(self._failed)
        try:
            with _listening_at(host, port):
                listener = await loop.create_server(lambda: _Connection(self, make), host, port, backlog=128)
            try:
                yield listener.sockets[0].getsockname()[1]
            finally:
                listener.close()
        finally:
            await runner.cleanup()

    @contextmanager
    def answering(self, request: web.Request) -> Iterator[None]:
        """While a request is answered its connection makes no room; a table's lasts as long as its websocket."""
        connection = self._open.get(request.transport)
        if connection is None:  # of another runner, or gone
            yield
            return
        connection.busy = True
        connection.close_after(None)
        try:
            yield
        finally:
            connection.busy = False
            if self._open.pop(connection.transport, None):
                self._open[connection.transport] = connection

    def admit(self, new: "_Connection") -> bool:
        """Whether there is a place for a connection."""
        of_address = self._of_address[new.address] >= self.most_of_address
        if of_address or len(self._open) >= self.most:
            whose = (
                f"{self.most_of_address} connections from {new.address}" if of_address else f"{self.most} connections"
            )
            self._warn(f"{whose}, and no more: those that ask nothing make room; a higher ulimit -n allows more")
            waiting = (one for one in self._open.values() if not one.busy)
            oldest = next((one for one in waiting if not of_address or one.address == new.address), None)
            if oldest is None:
                return False
            self.forget(oldest)
            oldest.transport.abort()
        self._open[new.transport] = new
        self._of_address[new.address] += 1
        return True

    def forget(self, connection: "_Connection") -> None:
        """A connection is gone."""
        if self._open.pop(connection.transport, None):
            self._of_address[connection.address] -= 1
            if not self._of_address[connection.address]:
                del self._of_address[connection.address]

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if context["message"] == _ACCEPT_FAILED:
            self._warn("no connection can be accepted: no files are left; raise ulimit -n")
        else:
            loop.default_exception_handler(context)

    def _warn(self, text: str) -> None:
        if (now := time.monotonic()) - self._warned >= _QUIET_SECONDS:
            self._warned = now
            _LOG.warning("%s", text)


class _Connection(asyncio.Protocol):
    """Hands all that happens on to the protocol of aiohttp's that it makes for a connection with a place."""

    transport: asyncio.Transport
    address: str

    def __init__(self, connections: Connections, make: Callable[[], asyncio.Protocol]) -> None:
        self.busy = False
        self._connections, self._make = connections, make
        self._inner: asyncio.Protocol | None = None
        self._timer: asyncio.TimerHandle | None = None

    def close_after(self, seconds: float | None) -> None:
        """Close it then unless this is called again; with None never."""
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.transport.abort) if seconds else None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.address = _network(transport.get_extra_info("peername"))
        if not self._connections.admit(self):
            self.transport.abort()
            return
        self._inner = self._make()
        self._inner.connection_made(transport)
        self.close_after(self._connections.head_seconds)

    def data_received(self, data: bytes) -> None:
        if self._inner:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received() if self._inner else None

    def pause_writing(self) -> None:
        self.close_after(_UNREAD_SECONDS)
        if self._inner:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        self.close_after(None)
        if self._inner:
            self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self.close_after(None)
        self._connections.forget(self)
        if self._inner:
            self._inner.connection_lost(exc)


@contextmanager
def _listening_at(host: str, port: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"host={host} port={port}: cannot be listened at ({error.strerror})") from error


def _room() -> int:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    own = min(_OWN_FILES, files // 2)
    return _MOST if files == resource.RLIM_INFINITY else max(1, min(_MOST, files - own))


def _network(peer: Any) -> str:
    """Who connects: its address, or the network of an address of version 6, which one person has all of."""
    if not peer:  # gone already
        return ""
    address = ipaddress.ip_address(peer[0].partition("%")[0])
    if address.version == 6 and not address.ipv4_mapped:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(peer[0])
