"""An object storage that lists, and hands out, whatever keys it likes. moto, like Amazon, would not."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from posixpath import normpath
from urllib.parse import unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "evil"


class HostileS3(ThreadingHTTPServer):
    """Serves ``objects``, key -> content, of one bucket; ``asked`` is all that was ever asked."""

    def __init__(self, objects: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects, self.asked = dict(objects), list[str]()

    def uri(self, name: str) -> str:
        """A directory there, credentials and endpoint included: nothing is set in the environment."""
        options = f"scheme=http&endpoint_override=127.0.0.1:{self.server_port}&region=us-east-1"
        return f"s3://x:x@{BUCKET}/{name}?{options}"


class _Handler(BaseHTTPRequestHandler):
    server: HostileS3

    def do_HEAD(self) -> None:
        self._object(send=False)

    def do_GET(self) -> None:
        if unquote(urlsplit(self.path).path).strip("/") != BUCKET:
            self._object(send=True)
            return
        self.server.asked.append(self.path)
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f"<Size>{len(content)}</Size></Contents>"
            for key, content in self.server.objects.items()
        )
        self._answer(
            f'<?xml version="1.0"?><ListBucketResult><Name>{BUCKET}</Name><IsTruncated>false</IsTruncated>'
            f"<KeyCount>{len(self.server.objects)}</KeyCount>{entries}</ListBucketResult>".encode()
        )

    def _object(self, send: bool) -> None:
        self.server.asked.append(self.path)
        asked = unquote(urlsplit(self.path).path)  # from which the client has taken dots
        keys = (key for key in self.server.objects if normpath(f"/{BUCKET}/{key}") == normpath(asked))
        content = self.server.objects.get(next(keys, ""))
        if content is None:
            self._answer(b"", 404, send)
            return
        first, _, last = (self.headers.get("Range") or "").removeprefix("bytes=").partition("-")
        part = content[int(first or 0) : int(last) + 1 if last else None]
        self._answer(part, 206 if first else 200, send)

    def _answer(self, body: bytes, status: int = 200, send: bool = True) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/xml")
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.send_header("ETag", '"0"')
        self.end_headers()
        if send:
            self.wfile.write(body)

    def log_message(self, format: str, *given: object) -> None:
        pass


@contextmanager
def hostile(objects: Mapping[str, bytes]) -> Iterator[HostileS3]:
    """The server, for the ``with`` block."""
    server = HostileS3(objects)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
