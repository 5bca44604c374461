"""Log files in the run directory: ``logs/driver.log``, and one of each actor.

They hold the records of Python's ``logging`` at INFO and above, tracebacks included. Output of Ray and libraries stays
in Ray's log files. Behind a URI a file is written at every warning, and else once a minute.
"""

import functools
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from cluster.errors import UserError
from cluster.files.appended import AppendedText

P = ParamSpec("P")
R = TypeVar("R")

_FLUSH_SECONDS = 60.0

log = logging.getLogger(__name__)


class _RunHandler(logging.Handler):
    """Adds records to a file of a run directory; a failure is reported once and stops the logging."""

    def __init__(self, path: str) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self._path, self._text, self._flushed = path, AppendedText(path), time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._text.add(self.format(record))
            if record.levelno >= logging.WARNING or time.monotonic() - self._flushed >= _FLUSH_SECONDS:
                self.flush()
        except Exception as error:  # the work goes on after any failure
            self.setLevel(sys.maxsize)
            print(f"{self._path} gets no more lines: {type(error).__name__}: {error}", file=sys.stderr)

    def flush(self) -> None:
        self._flushed = time.monotonic()
        self._text.flush()


def keep(path: str) -> logging.Handler:
    """Add what this process logs from now on to a file, a path or URI."""
    kept = _RunHandler(path)
    logging.getLogger().addHandler(kept)
    logging.getLogger().setLevel(logging.INFO)
    return kept


@contextmanager
def kept(path: str) -> Iterator[None]:
    """``keep`` for the length of a ``with`` block; logs how it ended."""
    handler = keep(path)
    log.info("begun: %s", " ".join(sys.argv))
    try:
        yield
        log.info("done")
    except UserError as error:
        log.info("error: %s", error)
        raise
    except Exception:
        log.info("failed", exc_info=True)  # the terminal shows it anyway
        raise
    except BaseException as error:  # Ctrl-C, a request to terminate
        log.info("ended by %s", type(error).__name__)
        raise
    finally:
        logging.getLogger().removeHandler(handler)
        handler.flush()


@contextmanager
def span(title: str) -> Iterator[None]:
    """Log when the ``with`` block begins and how long it took."""
    began = time.monotonic()
    log.info("%s: begun", title)
    try:
        yield
    finally:
        log.info("%s: ended after %.1f s", title, time.monotonic() - began)


def logged(title: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have a method log when it begins, how long it took, and the stack of what it raises.

    Args:
        title: the work; braces are filled with the arguments after ``self``: ``"shard {1}"``.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        log = logging.getLogger(method.__module__)

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> R:
            what, began = title.format(*args[1:]), time.monotonic()
            log.info("%s: begun", what)
            try:
                result = method(*args, **kwargs)
            except Exception:
                log.exception("%s: failed after %.1f s", what, time.monotonic() - began)
                raise
            log.info("%s: done in %.1f s", what, time.monotonic() - began)
            return result

        return call  # type: ignore[return-value]

    return decorate
