"""A proxy before an S3 server whose answers go wrong: errors, closed connections, answers cut short, long waits."""

import http.client
import random
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KINDS = ("S3 error 500", "S3 error 503", "S3 closed connection", "S3 lost answer", "S3 answer cut short", "S3 wait")
_SHARE = 0.15
"""Of requests that something happens to, while it may."""
_WAIT_SECONDS = (1.0, 4.0)
_CODES = {"S3 error 500": "InternalError", "S3 error 503": "SlowDown"}
_HOP = {"connection", "transfer-encoding", "keep-alive", "date", "server"}
"""Headers that are of one connection, or written by the proxy itself."""


class BadLine:
    """The proxy, on the loopback interface."""

    def __init__(self, behind: str, drawn: random.Random) -> None:
        """Forward to ``host:port`` ``behind``; nothing happens before ``left`` is set."""
        self.behind, self._drawn, self._lock = behind, drawn, threading.Lock()
        self.left = 0
        """Faults that may still happen by themselves."""
        self.faults = Counter[str]()
        self.down_until = 0.0
        """Until when every request is answered 503 (monotonic seconds)."""
        proxy = self

        class Handler(_Handler):
            line = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def draw(self) -> str:
        """What happens to this request; empty for nothing."""
        with self._lock:
            if time.monotonic() < self.down_until:
                return "S3 error 503"
            if self.left <= 0 or self._drawn.random() >= _SHARE:
                return ""
            fault = self._drawn.choice(KINDS)
            self.left -= 1
            self.faults[fault] += 1
            return fault

    def seconds(self) -> float:
        """How long to wait."""
        with self._lock:
            return self._drawn.uniform(*_WAIT_SECONDS)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    line: BadLine

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client that was killed
            super().handle()

    def _forward(self) -> None:
        body = self._body()
        fault = self.line.draw()
        if fault == "S3 wait":
            time.sleep(self.line.seconds())
        if fault in _CODES:
            text = f"<Error><Code>{_CODES[fault]}</Code><Message>as drawn</Message></Error>".encode()
            self._answer(
                int(fault[-3:]), [("Content-Type", "application/xml"), ("Content-Length", str(len(text)))], text
            )
            return
        if fault == "S3 closed connection":
            self._hang_up()
            return
        behind = http.client.HTTPConnection(self.line.behind, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
        behind.request(self.command, self.path, body, headers)
        answer = behind.getresponse()
        content = answer.read()
        behind.close()
        if fault == "S3 lost answer":
            self._hang_up()
            return
        kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in _HOP]
        if not any(name.lower() == "content-length" for name, _ in kept):
            kept.append(("Content-Length", str(len(content))))
        cut = fault == "S3 answer cut short"
        self._answer(answer.status, kept, content[: len(content) // 2] if cut else content)
        if cut:
            self._hang_up()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _forward  # noqa: N815

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""
