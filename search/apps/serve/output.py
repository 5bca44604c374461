"""Output that nobody need read: a server goes on where its pipe is full or closed, or its disk."""

import io
import logging
import os
import select
import signal
import sys
from contextlib import suppress


class Unread(io.TextIOBase):
    """Writes to a descriptor what it takes at once; the rest is lost."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """See ``io``."""
        return self._descriptor

    def isatty(self) -> bool:
        """See ``io``."""
        return os.isatty(self._descriptor)

    def writable(self) -> bool:
        """See ``io``."""
        return True

    def write(self, text: str) -> int:
        """Never waits, never fails."""
        data = text.encode(errors="replace")
        with suppress(OSError):
            for start in range(0, len(data), select.PIPE_BUF):  # so much fits into a pipe that takes any
                if not select.select([], [self._descriptor], [], 0)[1]:
                    break
                os.write(self._descriptor, data[start : start + select.PIPE_BUF])
        return len(text)


def need_no_reader() -> None:
    """Let this process go on whatever becomes of its standard output and error."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for name in ("stdout", "stderr"):
        before = getattr(sys, name)
        if before is None:
            continue
        with suppress(OSError):
            before.flush()
        try:
            now = Unread(before.fileno())
        except io.UnsupportedOperation:  # it is no file
            continue
        setattr(sys, name, now)
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is before:
                handler.stream = now
