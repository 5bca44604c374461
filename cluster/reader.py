"""End silently when a command's output is closed by its reader, as in ``kibitz show SHARD | head``."""

import atexit
import os
import select
import signal
import sys
from types import TracebackType


def end_with_reader() -> None:
    """End this process when it writes to a closed standard output or error: exit code 141, no message. The stack is
    unwound, so that actors end and temporary directories are removed. Every command calls it first."""
    signal.signal(signal.SIGPIPE, _end)
    sys.excepthook = _report
    atexit.register(_flush)


def _end(number: int, frame: object) -> None:
    """Handle SIGPIPE: end the process if standard output or error is broken; other writers get an exception."""
    if _silence():
        sys.exit(128 + number)


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Except hook: Python runs signal handlers at the next function call, which may not come before the end."""
    if issubclass(kind, BrokenPipeError):
        _end(signal.SIGPIPE, None)
    sys.__excepthook__(kind, error, trace)


def _flush() -> None:
    """Flush both outputs at exit, where no exception can be raised."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None where the caller has closed it
        try:
            stream.flush()
        except BrokenPipeError:
            _silence()


def _silence() -> bool:
    """Redirect broken outputs to the null device, else Python would complain of them at exit; whether there are any."""
    outputs = select.poll()
    for descriptor in (1, 2):
        outputs.register(descriptor, 0)
    unread = [descriptor for descriptor, event in outputs.poll(0) if event & (select.POLLERR | select.POLLHUP)]
    for descriptor in unread:
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    return bool(unread)
