"""Timeline of a run for https://ui.perfetto.dev: ``results/timeline.json`` in Chrome's trace event format.

There is one timeline in a process, as there is one root logger; nothing is recorded while none is open. Each command
on a run is a process of the trace, its stages and actors are threads, and their work are slices. The file is valid
after every event, so it may be read at any time. Behind a URI it is written after every stage.
"""

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.files import storage

_END = b"\n]\n"

log = logging.getLogger(__name__)


class Timeline:
    """Slices of one command. A failure to write is reported once and ends no run."""

    def __init__(self, path: str) -> None:
        """Append to the file at ``path`` (path or URI), if it exists; drop incomplete events in it."""
        self._path = path
        self._local = None if storage.is_remote(path) else Path(storage.resolve(path)[1])
        self._lock = threading.RLock()
        self._resting = False
        self._tracks: dict[str, int] = {}
        self._open: dict[str, str] = {}
        """Track -> its open slice."""
        self._clock = time.time() - time.monotonic()
        self._events = _events(path)
        """Kept for a file behind a URI only."""
        self._command = 1 + sum('"process_name"' in event for event in self._events)
        began = datetime.now().astimezone().isoformat(" ", "seconds")
        self._events.append(self._named("process_name", 0, f"command {self._command}, begun {began}"))
        self.flush()
        if self._local is not None:
            self._events.clear()

    def begin(self, track: str, name: str) -> None:
        """Begin a slice on the track of a stage or an actor; ends the slice that is open there."""
        with self._lock:
            self.end(track)
            if track not in self._tracks:
                self._tracks[track] = len(self._tracks)
                self._add(self._named("thread_name", self._tracks[track], track))
            self._open[track] = name
            self._add(self._event("B", self._tracks[track], name=name, ts=self._now()))

    def end(self, track: str, name: str | None = None) -> None:
        """End the open slice of a track, if there is one, and it has this name."""
        with self._lock:
            if track in self._open and name in (None, self._open[track]):
                del self._open[track]
                self._add(self._event("E", self._tracks[track], ts=self._now()))

    def flush(self) -> None:
        """Make everything recorded so far visible to readers."""
        if self._events:
            text = b"[\n" + ",\n".join(self._events).encode() + _END
            self._attempt(lambda: storage.write_bytes_atomic(self._path, text))

    def close(self) -> None:
        """End whatever is open."""
        for track in list(self._open):
            self.end(track)
        self.flush()

    def _now(self) -> int:
        """Microseconds since 1970 by a clock that only goes forward."""
        return round((self._clock + time.monotonic()) * 1e6)

    def _named(self, what: str, thread: int, name: str) -> str:
        return self._event("M", thread, name=what, args={"name": name})

    def _event(self, phase: str, thread: int, **more: Any) -> str:
        return json.dumps({"ph": phase, "pid": self._command, "tid": thread} | more)

    def _add(self, event: str) -> None:
        if self._local is None:
            self._events.append(event)
        else:
            self._attempt(lambda: self._append(event))

    def _append(self, event: str) -> None:
        """Put an event before the end of the local file, in one write."""
        assert self._local is not None
        with self._local.open("r+b") as file:
            file.seek(-len(_END), os.SEEK_END)
            file.write(b",\n" + event.encode() + _END)

    def _attempt(self, write: Callable[[], None]) -> None:
        if self._resting:
            return
        try:
            write()
        except Exception as error:  # the run goes on after any failure
            self._resting = True
            log.warning("%s gets no more events: %s: %s", self._path, type(error).__name__, error)


def _events(path: str) -> list[str]:
    """The complete events of a timeline, one JSON object each."""
    found = []
    for line in storage.read_text(path, "replace").splitlines() if storage.exists(path) else []:
        event = line.removesuffix(",")
        try:
            if isinstance(json.loads(event), dict):
                found.append(event)
        except json.JSONDecodeError:
            continue
    return found


_current: Timeline | None = None


@contextmanager
def recorded(path: str) -> Iterator[None]:
    """Record a timeline to ``path`` inside the ``with`` block."""
    global _current
    _current = timeline = Timeline(path)
    try:
        yield
    finally:
        _current = None
        timeline.close()


@contextmanager
def span(track: str, name: str) -> Iterator[None]:
    """Record a slice for the length of a ``with`` block, and log it."""
    log.info("%s: begun", name)
    began = time.monotonic()
    begin(track, name)
    try:
        yield
    finally:
        end(track)
        log.info("%s: ended after %.1f s", name, time.monotonic() - began)
        if _current is not None:
            _current.flush()


def begin(track: str, name: str) -> None:
    """See ``Timeline.begin``; nothing where no timeline is recorded."""
    if _current is not None:
        _current.begin(track, name)


def end(track: str, name: str | None = None) -> None:
    """See ``Timeline.end``; nothing where no timeline is recorded."""
    if _current is not None:
        _current.end(track, name)
