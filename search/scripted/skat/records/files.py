"""Which files hold records, and what is in them, packed or not."""

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from cluster.foreign import shown
from games.skat.records.iss import FormatError
from games.skat.records.splitting import Found, records_in

ENDINGS = (".sgf", ".sgf.gz", ".sgf.bz2")
"""Endings of the files of records in a directory, in small letters or capitals."""
_PACKED: Mapping[bytes, Callable[[BinaryIO], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open}
"""First bytes of a packed file -> how it is opened."""
_MOST = 1000
"""Times its size that a packed file may unpack to; records do so to some five times."""


def files_of(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The files of records among these, those in a directory by their endings; and what is left out, in a line each.

    Raises ``FormatError`` for a directory without any.
    """
    files, notes = dict[Path, Path](), list[str]()
    for path in paths:
        inside = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
        found = [one for one in inside if one.name.lower().endswith(ENDINGS) or one is path]
        if not found:
            raise FormatError(f"{path}: has no file that ends in {', '.join(ENDINGS)}")
        others = [shown(one.name) for one in inside if not one.name.lower().endswith(ENDINGS) and one is not path]
        if others:
            more = f" and {len(others) - 3} more" if len(others) > 3 else ""
            notes.append(f"{path}: left out {', '.join(others[:3])}{more}, by the ending no file of records")
        for one in found:
            if files.setdefault(one.resolve(), one) is not one:
                notes.append(f"{one}: is given twice, and read once")
    return [*files.values()], notes


def records_of(path: Path) -> Iterator[Found]:
    """The records in a file and the texts that are none (``records_in``).

    Raises:
        OSError: it cannot be read.
        FormatError: it is packed and damaged, or unpacks to far more than records do.
    """
    with path.open("rb") as file:
        unpack = next((opens for first, opens in _PACKED.items() if file.peek(3).startswith(first)), None)
        if unpack is None:
            yield from records_in(file)
            return
        with unpack(file) as unpacked:
            yield from records_in(_Unpacked(unpacked, path))


class _Unpacked:
    """The lines of a packed file, up to a size; errors name the file."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path, self._left = file, path, _MOST * path.stat().st_size

    def readline(self, size: int, /) -> bytes:
        """See ``BinaryIO``."""
        try:
            raw = self._file.readline(size)
        except (EOFError, zlib.error, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise FormatError(f"{self._path}: is damaged, and ends early ({error})") from None
        self._left -= len(raw)
        if self._left < 0:
            raise FormatError(f"{self._path}: unpacks to over {_MOST} times its size, as no file of records does")
        return raw
