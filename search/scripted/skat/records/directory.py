"""The directory of a conversion: what it is of, and how far it is.

``config.json`` is there before the first shard, ``conversion.json`` when all is done. In between ``progress.json`` says
which shards are written, of how many records, and how long the lists of what was left out were then, so that the same
command goes on from there.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cluster.errors import UserError
from cluster.files import storage
from cluster.files.locks import run_lock
from cluster.foreign import check_format

CONFIG, RESULT, LEFT_OUT, PROGRESS = "config.json", "conversion.json", "left_out.txt", "progress.json"
FORMAT = 1
"""Version of a directory's files; increased whenever the meaning of their keys changes."""


# ---- whose it is ---------------------------------------------------------------------------------------------------


def check(out: Path, config: Mapping[str, object]) -> None:
    """``UserError`` where the directory was made of another file or with other settings."""
    try:
        theirs = dict(json.loads((out / CONFIG).read_text()))
        check_format(theirs.get("format"), FORMAT)
        key = next((key for key in config if theirs.get(key) != config[key]), None)
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{out}: holds no readable {CONFIG} ({error}); take another --out") from None
    if key is not None:
        raise UserError(
            f"{out}: was converted with {key}={theirs.get(key)}, the command says {config[key]}; take another --out"
        )


def prepare(out: Path, config: Mapping[str, object]) -> None:
    """Make the directory of this conversion, or go on in it."""
    out.mkdir(parents=True, exist_ok=True)
    if (out / CONFIG).exists():
        check(out, config)
    elif any(not path.name.endswith(".tmp") for path in out.iterdir()):
        raise UserError(f"{out}: holds files, and no {CONFIG} of a conversion; take another --out")
    else:
        storage.write_json_atomic(out / CONFIG, {"format": FORMAT, **config})


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep other conversions out of the directory, and remove what a killed one had not finished."""
    with run_lock(out):
        for path in (*out.glob(".*.tmp"), *out.glob("*/.*.tmp")):
            path.unlink()
        yield


# ---- how far it is -------------------------------------------------------------------------------------------------


class Notes:
    """A text file that lines are added to, from a length on: what was behind it is cut off."""

    def __init__(self, path: Path, length: int) -> None:
        self.path = path
        self._file = path.open("r+b" if path.exists() else "w+b")
        self._file.truncate(length)
        self._file.seek(length)

    def add(self, line: str) -> None:
        """Add a line."""
        self._file.write(f"{line}\n".encode(errors="backslashreplace"))

    def save(self) -> int:
        """Have all of it on the disk; returns its length."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> int:
        """Have all of it on the disk and close the file; returns its length."""
        length = self.save()
        self._file.close()
        return length


@dataclass
class Progress:
    """What is finished of a conversion."""

    line: int = 0
    """``deal_seed`` of the last record that is done: its line, where each has one of its own."""
    stretch: int = 0
    """Number of the next shards."""
    counts: dict[str, int] = field(default_factory=dict)
    left_out: int = 0
    """Length of the list of records left out."""
    rejected: int = 0
    """Length of the list of lines that are no records."""
    shards: list[str] = field(default_factory=list)
    """Paths in the directory."""

    def save(self, out: Path) -> None:
        """Write it to the directory."""
        storage.write_json_atomic(out / PROGRESS, asdict(self))

    @staticmethod
    def of(out: Path, rejected: Path) -> "Progress":
        """That of a directory, which begins anew where a file is missing or shorter than it was.

        Raises ``UserError`` for a file that is damaged.
        """
        try:
            found = Progress(**json.loads((out / PROGRESS).read_text()))
            found._check()
        except FileNotFoundError:
            return Progress()
        except (ValueError, TypeError):
            raise UserError(f"{out / PROGRESS}: is damaged; remove it to convert from the beginning") from None
        notes = ((out / LEFT_OUT, found.left_out), (rejected, found.rejected))
        lost = [out / shard for shard in found.shards if not (out / shard).exists()]
        lost += [path for path, length in notes if length > (path.stat().st_size if path.exists() else 0)]
        if lost:
            print(f"{lost[0]}: is not what it was; converting from the beginning", file=sys.stderr)
            return Progress()
        print(f"{out}: going on behind line {found.line:,}, {len(found.shards)} shards written", file=sys.stderr)
        return found

    def _check(self) -> None:
        """``TypeError`` or ``ValueError`` where it cannot be one."""
        numbers: list[Any] = [self.line, self.stretch, self.left_out, self.rejected]
        if not isinstance(self.counts, dict) or not isinstance(self.shards, list):
            raise TypeError
        if any(type(number) is not int or number < 0 for number in (*numbers, *self.counts.values())):
            raise ValueError
        if any(not isinstance(shard, str) for shard in self.shards):
            raise TypeError
