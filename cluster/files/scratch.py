"""Temporary directories that do not stay behind, though a command is killed."""

import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OWNER = ".owner"
"""File in a directory that is locked while the command lives to which it belongs."""
_KEPT = ".kept"
"""The same file in one that stays."""
_OURS = re.compile(r"kibitz-(\w+-)?[a-z0-9_]{8}")
"""Names of such directories, as ``tempfile`` ends them."""
_BEGINNING_SECONDS = 3600.0
"""An older one without a lock is of a command that was killed between making it and locking it."""


@contextmanager
def scratch(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A directory of this command's own inside the ``with`` block, below ``parent`` or the machine's temporary
    directory. What killed commands left there goes first.

    Args:
        prefix: how its name begins, with ``kibitz-``.
    """
    parent = parent or Path(tempfile.gettempdir())
    _remove_abandoned(parent)
    directory = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        with (directory / f"{_OWNER}.tmp").open("w") as owner:
            fcntl.flock(owner, fcntl.LOCK_EX)
            Path(owner.name).rename(directory / _OWNER)  # under its name it is locked, always
            yield directory
    finally:
        if not (directory / _KEPT).exists():
            shutil.rmtree(directory, ignore_errors=True)


def keep(directory: Path) -> None:
    """Leave a scratch directory behind at the end; nobody removes it but the user."""
    with suppress(FileNotFoundError):  # it has gone already
        (directory / _OWNER).rename(directory / _KEPT)


def _remove_abandoned(parent: Path) -> None:
    """Remove what commands of this user left that were killed. Their locks went with them, whatever process has their
    number by now; a Ray that is still ending does without its files."""
    for file in parent.glob(f"kibitz-*/{_OWNER}"):
        with suppress(OSError):  # in use, or gone meanwhile
            if file.stat().st_uid == os.getuid():
                with file.open() as owner:
                    fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(file.parent, ignore_errors=True)
    for directory in parent.glob("kibitz-*"):
        with suppress(OSError):  # another user's, not empty, or gone meanwhile
            found = directory.stat()
            old = time.time() - found.st_mtime > _BEGINNING_SECONDS
            if old and found.st_uid == os.getuid() and _OURS.fullmatch(directory.name):
                (directory / f"{_OWNER}.tmp").unlink(missing_ok=True)
                directory.rmdir()
