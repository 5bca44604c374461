"""Temporary directories that are removed even after their command was killed."""

import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OWNER = ".owner"
"""File in a scratch directory, locked while its command lives."""
_KEPT = ".kept"
"""Name of that file in a directory that is to stay."""
_OURS = re.compile(r"kibitz-(\w+-)?[a-z0-9_]{8}")
"""Names of scratch directories, with ``tempfile``'s random ending."""
_BEGINNING_SECONDS = 3600.0
"""An older directory without a lock file belongs to a command that was killed before it could lock it."""


@contextmanager
def scratch(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A temporary directory for the ``with`` block, below ``parent`` or the machine's temporary directory. Removes
    first what killed commands left there.

    Args:
        prefix: beginning of its name, ``kibitz-`` included.
    """
    parent = parent or Path(tempfile.gettempdir())
    _remove_abandoned(parent)
    directory = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        with (directory / f"{_OWNER}.tmp").open("w") as owner:
            fcntl.flock(owner, fcntl.LOCK_EX)
            Path(owner.name).rename(directory / _OWNER)  # a file of this name is always locked
            yield directory
    finally:
        if not (directory / _KEPT).exists():
            shutil.rmtree(directory, ignore_errors=True)


def keep(directory: Path) -> None:
    """Leave a scratch directory to the user at the end."""
    with suppress(FileNotFoundError):  # it has gone already
        (directory / _OWNER).rename(directory / _KEPT)


def _remove_abandoned(parent: Path) -> None:
    """Remove the directories of this user's killed commands. The kernel released their locks, so reused process ids do
    not matter; a Ray that is still ending does not need its files."""
    for file in parent.glob(f"kibitz-*/{_OWNER}"):
        with suppress(OSError):  # in use, or gone meanwhile
            if _own(file.parent, stat.S_ISDIR) and _own(file, stat.S_ISREG):
                with file.open() as owner:
                    fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(file.parent, ignore_errors=True)
    for directory in parent.glob("kibitz-*"):
        with suppress(OSError):  # another user's, not empty, or gone meanwhile
            old = time.time() - directory.lstat().st_mtime > _BEGINNING_SECONDS
            if old and _own(directory, stat.S_ISDIR) and _OURS.fullmatch(directory.name):
                (directory / f"{_OWNER}.tmp").unlink(missing_ok=True)
                directory.rmdir()


def _own(path: Path, kind: Callable[[int], bool]) -> bool:
    """Whether this is of that kind and this user's. Anybody may have put it there, so that links are not followed."""
    found = path.lstat()
    return kind(found.st_mode) and found.st_uid == os.geteuid()
