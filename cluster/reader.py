"""Ending silently once nobody reads any more what a command prints, as in ``kibitz show SHARD | head``."""

import atexit
import os
import select
import signal
import sys
from types import TracebackType


def end_with_reader() -> None:
    """Have this process end as soon as it writes to a standard output or error that nobody reads: exit code 141, no
    message. The stack is unwound, so that actors end and temporary directories go. Every command calls it first."""
    signal.signal(signal.SIGPIPE, _end)
    sys.excepthook = _report
    atexit.register(_flush)


def _end(number: int, frame: object) -> None:
    """A pipe or socket is broken; of others than the two, whoever wrote to it hears of it from an exception."""
    if _silence():
        sys.exit(128 + number)


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Python sees to a signal at the next call of a function, and none may come before the end of the program."""
    if issubclass(kind, BrokenPipeError):
        _end(signal.SIGPIPE, None)
    sys.__excepthook__(kind, error, trace)


def _flush() -> None:
    """Print what is left where nothing can be raised any more."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None where the caller has closed it
        try:
            stream.flush()
        except BrokenPipeError:
            _silence()


def _silence() -> bool:
    """Have what nobody reads go nowhere; whether there is such output. Python would complain of the rest at its end."""
    outputs = select.poll()
    for descriptor in (1, 2):
        outputs.register(descriptor, 0)
    unread = [descriptor for descriptor, event in outputs.poll(0) if event & (select.POLLERR | select.POLLHUP)]
    for descriptor in unread:
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    return bool(unread)
