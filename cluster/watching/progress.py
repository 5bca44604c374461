"""Progress of long work in the terminal: one moving line, or plain lines where output goes to a file."""

import functools
import threading
import time
from collections.abc import Callable, Mapping

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

OnProgress = Callable[[Mapping[str, float]], None]
"""Called at intervals with counts of the work done so far, e.g. ``deals`` and ``decisions``."""

_MOVING = threading.Lock()
"""Held by the work that has the moving line; work beside it prints plain lines."""
_PLAIN_SECONDS = 10.0
"""Interval of plain lines, with or without progress; another comes at the end."""


class Progress:
    """Progress of ``total`` units of work; use as a context manager."""

    def __init__(
        self, title: str, total: float, unit: str, *, done: float = 0.0, console: Console | None = None
    ) -> None:
        """Nothing is printed before the ``with`` block.

        Args:
            title: name of the work, e.g. ``"iteration 3: games"``.
            total: number of units, at least 0; 1 for parts of a whole.
            unit: their plural, e.g. ``"games"``; empty for parts of a whole, shown without a rate.
            done: units finished earlier, not counted in the rate.
            console: where to print; standard error by default, so that results alone are on standard output.
        """
        self._title, self._total, self._unit = title, total, unit
        self._console = console or _stderr()
        self._done = self._before = done
        self._text = ""
        self._printed_done: float | None = None
        times = (TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("{task.fields[text]}"))
        columns = (TextColumn("{task.description}"), BarColumn(20), TaskProgressColumn(), *times)
        self._bar = Bar(*columns, console=self._console)
        self._task = self._bar.add_task(title, total=total, completed=int(done), text="")
        self._printer = threading.Thread(target=self._print_lines, daemon=True)
        self._ended = threading.Event()
        self._moves = False
        self._started = time.monotonic()

    def update(self, done: float, values: Mapping[str, float | str] | None = None) -> None:
        """Show ``done`` as the units finished in all, and ``values`` behind them, until the next call."""
        self._done = done
        rate = (done - self._before) / max(time.monotonic() - self._started, 1e-9)
        shown = ({f"{self._unit}/s": rate} if self._unit else {}) | dict(values or {})
        self._text = "  ".join(f"{key} {_written(value)}" for key, value in shown.items())
        self._bar.update(self._task, completed=done, text=self._text)

    def __enter__(self) -> "Progress":
        self._started = time.monotonic()
        self._moves = self._console.is_terminal and _MOVING.acquire(blocking=False)
        if self._moves:
            self._bar.start()
        else:
            self._printer.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._moves:
            self._bar.stop()
            _MOVING.release()
            return
        self._ended.set()
        self._printer.join()
        if self._printed_done != self._done:
            self._print_line()

    def _print_lines(self) -> None:
        """Print a line at intervals, in a thread: the work may report nothing for minutes."""
        while not self._ended.wait(_PLAIN_SECONDS):
            self._print_line()

    def _print_line(self) -> None:
        self._printed_done = self._done
        seconds = time.monotonic() - self._started
        amount = f"{self._done:g} of {self._total:g} {self._unit}" if self._unit else f"{self._done:.0%}"
        line = f"{self._title}: {amount}, {seconds:.0f} s  {self._text}"
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


@functools.cache
def _stderr() -> Console:
    """A console shared by all, so that plain lines go above a moving line."""
    return Console(stderr=True)


def _written(value: float | str) -> str:
    """Counts with all their digits, other numbers with four digits."""
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
