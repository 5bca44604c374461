"""The lines of a file of any size, and where in the file each of them ends."""

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

LONGEST = 1 << 16
"""Bytes of a line that are read; the rest of a longer one is skipped."""


class Line(NamedTuple):
    """A line that holds something."""

    number: int
    """Counted from 1, empty lines too."""
    text: str
    """Without the spaces around it; ``LONGEST`` characters of a line that has at least as many bytes."""
    end: int
    """Bytes of the file up to its end."""


def stream(file: BinaryIO, number: int = 0, end: int = 0) -> Iterator[Line]:
    """The lines from where a file stands, behind ``number`` lines of ``end`` bytes; holds one of them at a time."""
    while raw := file.readline(LONGEST):
        number, end = number + 1, end + len(raw)
        if len(raw) == LONGEST and not raw.endswith(b"\n"):
            yield Line(number, raw.decode("latin-1"), end := end + _skip_line(file))  # a character for each byte
        elif text := raw.decode("utf-8", errors="replace").strip():
            yield Line(number, text, end)


def _skip_line(file: BinaryIO) -> int:
    """Read the rest of a line; returns its bytes."""
    skipped = 0
    while raw := file.readline(LONGEST):
        skipped += len(raw)
        if raw.endswith(b"\n"):
            break
    return skipped
