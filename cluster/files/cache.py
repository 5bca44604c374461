"""The directory of what a machine keeps between commands: compiled kernels, and copies of checkpoints behind URIs."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from cluster.errors import UserError

_VARIABLE = "KIBITZ_CACHE_DIR"
_MEND = f"set {_VARIABLE} to a directory of your own"


def cache_directory() -> Path:
    """``$KIBITZ_CACHE_DIR``, else ``~/.cache/kibitz``, else, without a home that can be written to, one of this user's
    alone in the temporary directory; made if it is missing. ``UserError`` where none of them can be used."""
    if given := os.environ.get(_VARIABLE):
        with suppress(RuntimeError):  # a home of nobody
            if _writable(directory := Path(given).expanduser()):
                return directory
        raise UserError(f"{_VARIABLE}={given}: cannot be written to; {_MEND}")
    with suppress(RuntimeError):
        if _writable(directory := Path("~/.cache/kibitz").expanduser()):
            return directory
    return private(Path(tempfile.gettempdir()) / f"kibitz-cache-{os.geteuid()}")


def private(directory: Path) -> Path:
    """Make a directory that this user alone can use, or check the one that is there; links are not followed. Returns
    it. ``UserError`` for anything else of this name: others could have put into it what they like."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        found = directory.lstat()
    except OSError as error:
        raise UserError(f"{directory}: cannot be made ({error.strerror}); {_MEND}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        is_now = f"{stat.filemode(found.st_mode)} of user {found.st_uid}"
        raise UserError(
            f"{directory}: is {is_now}, and must be a directory of yours alone (0700); remove it, or {_MEND}"
        )
    return directory


def _writable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK | os.X_OK)
