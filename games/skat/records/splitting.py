"""The records in a file of any size, whatever stands around them.

A record goes from ``(;`` to the next ``;)`` that is not in a value, over as many lines as it likes; several may stand
on one line. Lines end as anywhere. What a line has beside a record, as a log does, is passed over. A line without one,
and what is left of a record that was cut apart, comes as a text that is none, so that it can be counted.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, Protocol

LONGEST = 1 << 16
"""Bytes of a record that are read; the rest of a longer one is skipped."""
_BEGIN = re.compile(rb"\(;(?=\s*(?:[A-Z][A-Z0-9]{0,7}\[|$))")
"""The beginning of a record, behind whatever stands before it on the line."""
_NEXT = re.compile(rb"\[|;\)")
_MARK = b"\xef\xbb\xbf"
"""What some editors write before UTF-8."""


class Found(NamedTuple):
    """A record, or a text that is none."""

    number: int
    """The line where it begins, counted from 1."""
    text: str
    """In one line, without the spaces around it; ``LONGEST`` characters of one that has at least as many bytes."""


class Lines(Protocol):
    """A file of bytes."""

    def readline(self, size: int, /) -> bytes:
        """See ``BinaryIO``."""


class _Text:
    """Bytes that come by and by, of which no more than ``LONGEST`` are kept."""

    def __init__(self, number: int) -> None:
        self.number, self.in_value = number, False
        self._raw = bytearray()

    def add(self, more: bytes) -> None:
        self._raw += more[: LONGEST - len(self._raw)]

    def take(self, stretch: bytes) -> int:
        """Go on with a record; returns where in the stretch it ends, or -1."""
        place = 0
        while not self.in_value or (place := stretch.find(b"]", place) + 1):
            self.in_value = False
            found = _NEXT.search(stretch, place)
            if found is None or found[0] == b";)":
                end = found.end() if found else len(stretch)
                self.add(stretch[:end])
                return end if found else -1
            place, self.in_value = found.end(), True
        self.add(stretch)
        return -1

    def found(self) -> Found:
        """What has come, all of it."""
        if len(self._raw) >= LONGEST:
            return Found(self.number, self._raw.decode("latin-1"))  # a character for each byte
        return Found(self.number, self._raw.decode("utf-8", errors="replace").strip())

    @property
    def is_remnant(self) -> bool:
        """Whether it looks like a part of a record."""
        return b"(;" in self._raw or b";)" in self._raw


def records_in(file: Lines) -> Iterator[Found]:
    """The records of a file and the texts that are none, in order; holds one of them at a time."""
    number, record, beside, seen = 1, None, _Text(1), False
    begun = False  # this line, by a piece before
    for piece, ended in _pieces(file):
        if record is None and ended and not begun and (not piece or _is_one(piece)):  # as most are
            if piece:
                yield Found(number, piece.decode("utf-8", errors="replace"))
            number += 1
            beside = _Text(number)
            continue
        begun = not ended
        begins = [found.start() for found in _BEGIN.finditer(piece)]
        for place, (start, stop) in enumerate(pairwise([0, *begins, len(piece)])):
            if place > 0:
                if record or beside.is_remnant:
                    yield (record or beside).found()
                record, beside, seen = _Text(number), _Text(number), True
            stretch = piece[start:stop]
            if record and (end := record.take(stretch)) >= 0:
                yield record.found()
                record, stretch = None, stretch[end:]
            if record is None:
                beside.add(stretch)
        if ended:
            if (text := beside.found()).text and (not seen or beside.is_remnant):
                yield text
            number, seen = number + 1, record is not None
            beside = _Text(number)
            if record:
                record.add(b" ")
    if record:
        yield record.found()


def _is_one(piece: bytes) -> bool:
    """Whether a line is a record and nothing else."""
    framed = piece.startswith(b"(;") and piece.endswith(b";)") and len(piece) < LONGEST
    return framed and piece.count(b"(;") == piece.count(b";)") == 1


def _pieces(file: Lines) -> Iterator[tuple[bytes, bool]]:
    """The lines of a file, without their ends; long ones in pieces, of which the last says that its line ends. No piece
    ends amid the beginning of a record."""
    kept, amid = file.readline(LONGEST).removeprefix(_MARK), False
    while raw := file.readline(LONGEST):
        lines = (kept + raw).splitlines(keepends=True)
        last = lines.pop()
        for line in lines:
            yield line.rstrip(b"\r\n"), True
            amid = False
        if last.endswith(b"\n"):
            yield last.rstrip(b"\r\n"), True
            kept, amid = b"", False
            continue
        cut = max(last.rfind(b"]") + 1, last.rfind(b"("))
        if last.endswith(b"\r"):  # a line feed may follow
            cut = 0
        elif cut <= 0 and len(last) >= LONGEST:
            cut = len(last)
        if cut > 0:
            yield last[:cut], False
            amid = True
        kept = last[max(cut, 0) :]
    for line in kept.splitlines():
        yield line, True
        amid = False
    if amid:
        yield b"", True
