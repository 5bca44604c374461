"""What every command does about its outputs: how it ends when one of them does, and where a job's files may lie."""

import atexit
import faulthandler
import io
import os
import re
import select
import signal
import sys
from contextlib import suppress
from types import TracebackType
from typing import Any

from cluster.errors import UserError

IN_JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"
"""Environment variable that Ray sets for the command of a job."""


def check_lasts(path: object, key: str = "", in_job: bool = False) -> None:
    """``UserError`` for a relative path of an output, given as ``key``, inside a job of Ray's: its working directory is
    a copy that vanishes with the cluster and that other jobs share. An empty path is fine.

    Args:
        path: path or URI.
        key: in messages.
        in_job: whether this is a job though Ray's variable is not set.
    """
    name = str(path)
    if (in_job or IN_JOB in os.environ) and name and not re.match(r"/|~|file://|[a-zA-Z][a-zA-Z0-9+.-]+://", name):
        raise UserError(
            f"{key}{'=' if key else ''}{name} is relative to the job's copy of the code, which is lost with the "
            "cluster; give an absolute path on storage that all machines share, or a URI such as s3://bucket/run"
        )


def end_with_reader() -> None:
    """Every command calls this first, for how it ends:

    - as in ``kibitz show SHARD | head``, when it writes to a closed standard output or error: exit code 141, no
      message. The stack is unwound, so that actors end and temporary directories are removed;
    - where standard output cannot be written to, as on a full disk: one line, the stack unwound, and Python's code 120;
    - on Ctrl-C: "interrupted" and exit code 130;
    - when compiled code crashes: where it was;
    - on Windows: at once, in one line.

    What the encoding of standard output cannot express is printed as ``?``.
    """
    if not hasattr(signal, "SIGPIPE"):
        print("error: Kibitz runs on Linux and macOS; on Windows use WSL", file=sys.stderr)
        sys.exit(2)
    signal.signal(signal.SIGPIPE, _end)
    sys.excepthook = _report
    atexit.register(_flush)
    if not faulthandler.is_enabled():
        with suppress(io.UnsupportedOperation, RuntimeError):  # standard error is no file, or closed
            faulthandler.enable()
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:  # else replaced already
        sys.stdout = _guarded(sys.stdout)


class _Output(io.FileIO):
    """Standard output, whose failure ends the process in order."""

    said = False

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:  # see ``_end``
            raise
        except OSError as error:
            if not self.said:
                print(f"error: standard output cannot be written ({error.strerror})", file=sys.stderr)
            self.said = True
            sys.exit(1)


def _guarded(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    raw = _Output(stream.fileno(), "w", closefd=False)
    buffer: Any = raw if stream.write_through else io.BufferedWriter(raw)
    return io.TextIOWrapper(
        buffer, stream.encoding, "replace", line_buffering=stream.line_buffering, write_through=stream.write_through
    )


def _end(number: int, frame: object) -> None:
    """Handle SIGPIPE: end the process if standard output or error is broken; other writers get an exception."""
    if _silence():
        sys.exit(128 + number)


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Except hook."""
    if issubclass(kind, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    if issubclass(kind, BrokenPipeError):  # Python runs signal handlers at the next call, which may come too late
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
        except SystemExit:  # all is said; Python would complain too, as it ends with 120
            _discard(2)


def _silence() -> bool:
    """Redirect broken outputs to the null device, else Python would complain of them at exit; whether there are any."""
    outputs = select.poll()
    for descriptor in (1, 2):
        outputs.register(descriptor, 0)
    unread = [descriptor for descriptor, event in outputs.poll(0) if event & (select.POLLERR | select.POLLHUP)]
    for descriptor in unread:
        _discard(descriptor)
    return bool(unread)


def _discard(descriptor: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
