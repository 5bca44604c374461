"""Live page of a run: served on this machine alone, made anew whenever the run's files have changed."""

import hashlib
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cluster.errors import UserError
from cluster.files import storage
from selfplay.report.contents import Run, read_run
from selfplay.report.page import Sample, page, sample

HOST = "127.0.0.1"


class LivePage:
    """A run's page for the present files. Calls wait for each other."""

    def __init__(self, root: str, deals: int, searched: int, game: str = "", player: str = "") -> None:
        self._root, self._sample = root, (deals, searched, game, player)
        self._lock = threading.Lock()
        self._seen = ("", "")
        """Stamp of the run's files, and the version that they were then."""
        self._made = ("", "")
        """Version and HTML of the last page."""
        self._sampled: tuple[int | None, Sample] | None = None
        """Newest iteration, and its deals."""

    def version(self) -> str:
        """A text that changes whenever the page does. Files are read only where one has changed."""
        with self._lock:
            if (stamp := storage.stamp(self._root)) != self._seen[0]:
                self._seen = stamp, _version(read_run(self._root))
            return self._seen[1]

    def html(self) -> str:
        """The page; its deals are played again only for a newer network."""
        with self._lock:
            run = read_run(self._root)
            version = _version(run)
            if self._made[0] != version:
                if self._sampled is None or self._sampled[0] != run.newest:
                    self._sampled = run.newest, sample(run, *self._sample)
                self._made = version, page(run, self._sampled[1], version)
            return self._made[1]


def _version(run: Run) -> str:
    return hashlib.blake2b(repr(run).encode(), digest_size=8).hexdigest()


def server(live: LivePage, port: int) -> ThreadingHTTPServer:
    """A server of the page at ``/`` and of its version at ``/version``, bound to this machine's loopback; 0 for any
    free port. ``UserError`` where the port is taken."""
    answers: dict[str, tuple[str, Callable[[], str]]] = {
        "/": ("text/html; charset=utf-8", live.html),
        "/version": ("text/plain; charset=utf-8", live.version),
    }

    class Handler(BaseHTTPRequestHandler):
        """Answers GET."""

        def do_GET(self) -> None:
            kind, answer = answers.get(self.path.partition("?")[0], ("", None))
            if answer is None:
                self.send_error(404)
                return
            try:
                status, text = 200, answer()
            except UserError as error:  # the run was removed meanwhile
                status, kind, text = 500, "text/plain; charset=utf-8", f"{error}\n"
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Log no requests."""

    try:
        return ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        raise UserError(f"--port {port}: {error.strerror or error}; name another, or 0 for any free one") from error
