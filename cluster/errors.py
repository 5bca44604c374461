"""Errors that end a command with a message instead of the driver's traceback."""

import errno
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from cluster.foreign import printable

P = ParamSpec("P")
T = TypeVar("T")


class UserError(ValueError):
    """Bad input: commands print its one line on stderr and end with exit code 2, without a traceback.

    The message names the file, key or value and says what to do.
    """


class PeerLostError(RuntimeError):
    """Another member of a group of actors has died or stopped answering."""


class WorkFailedError(RuntimeError):
    """A piece of work raised, or its actors kept dying. Commands print the message, which names the work, and end with
    exit code 1. The same command resumes."""


_MENDED_BY_USER = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space or have the quota raised",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EROFS: "make it writable or choose another directory",
    errno.EACCES: "make it writable or choose another directory",
    errno.EPERM: "make it writable or choose another directory",
}
_NO_MEMORY = re.compile("out of memory|not enough memory|can't allocate memory")
"""torch's messages on GPUs and CPUs."""


@contextmanager
def writing(path: object) -> Iterator[None]:
    """Turn errors of writing that only the user can mend (a full or read-only disk) into ``UserError``."""
    try:
        yield
    except OSError as error:
        if error.errno not in _MENDED_BY_USER:
            raise
        raise UserError(
            f"{path} cannot be written ({error.strerror}); {_MENDED_BY_USER[error.errno]}, then give the same command "
            "again"
        ) from error


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of Python, numpy or torch says that memory was refused."""
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and bool(_NO_MEMORY.search(str(error))))


@contextmanager
def needing_memory(stage: str, settings: str) -> Iterator[None]:
    """Turn out-of-memory errors into ``UserError``, which names the stage and the settings to lower."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(f"{stage}: out of memory ({first_line(error)}); lower {settings}") from error


def first_line(error: BaseException) -> str:
    """The first line of an exception's message."""
    return (str(error).splitlines() or [type(error).__name__])[0]


@contextmanager
def blaming_input() -> Iterator[None]:
    """Turn ``ValueError`` and ``OSError`` raised inside into ``UserError``; wrap only the reading of users' input."""
    try:
        yield
    except UserError:
        raise
    except (ValueError, OSError) as error:
        raise UserError(str(error)) from error


@contextmanager
def blaming_code(what: str) -> Iterator[None]:
    """Let a ``ValueError`` raised inside be an error of code that runs, a game's or a player's, amid the reading of
    users' input (``blaming_input``): it keeps its traceback."""
    try:
        yield
    except UserError:
        raise
    except ValueError as error:
        raise RuntimeError(f"{what}: {first_line(error)}") from error


def in_one_line(main: Callable[P, int]) -> Callable[P, int]:
    """Decorator of a command's ``main``, which returns the exit code: bad input is 2 after its one line on stderr."""

    @wraps(main)
    def command(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            return main(*args, **kwargs)
        except UserError as error:
            return say(error)

    return command


def say(error: object, *more: object) -> int:
    """Print an error on stderr, and ``more`` on lines below it; names in it come from anywhere. Returns 2, the exit
    code of bad input."""
    print(*(printable(text, kept="\n") for text in (f"error: {error}", *more)), sep="\n", file=sys.stderr)
    return 2


def raised(result: T | Exception) -> T:
    """Return a result; raise it if it is an exception."""
    if isinstance(result, Exception):
        raise result
    return result


def about(what: str, error: Exception) -> Exception:
    """The error of a piece of work, its message headed by the work's name; the traceback of a bug is a note."""
    if isinstance(error, UserError):
        return UserError(f"{what}: {error}")
    if isinstance(error, WorkFailedError):
        return WorkFailedError(f"{what}: {error}")
    failed = WorkFailedError(f"{what}: {' '.join(repr(error).split())}")
    failed.add_note("".join(traceback.format_exception(error)).rstrip())
    return failed
