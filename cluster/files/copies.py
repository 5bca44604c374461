"""Local copies of directories that lie in object storage, kept on this machine while they are used."""

import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pyarrow.fs

from cluster.errors import UserError, first_line
from cluster.files import storage
from cluster.files.cache import private
from cluster.files.digests import DIGESTS_FILE
from cluster.foreign import stays_below

_UNFINISHED_SECONDS = 6 * 3600.0
"""An older unfinished copy on this machine belongs to a process that is gone."""
_UNUSED_SECONDS = 7 * 86400.0
"""Making a copy removes copies that were not used for this long."""

_CHUNK = 2**23
"""Bytes copied at once."""


def local_copy(source: str | Path) -> Path:
    """A local directory with the content of a published one: itself if it is local, else a copy kept on this machine.

    Every call checks whether the source has changed since it was copied, and removes outdated copies.
    Raises ``UserError`` where it cannot be read.
    """
    if not storage.is_remote(source):
        return Path(storage.resolve(source)[1])
    home, (filesystem, name) = private(storage.home_of_copies(source)), storage.resolve(source)
    partial = home / f"{secrets.token_hex(4)}.tmp"
    try:
        copy = home / _content_key(filesystem, name)
        if copy.exists():
            os.utime(home)
            return copy
        _remove_idle(home.parent.glob("*/*.tmp"), _UNFINISHED_SECONDS)
        _remove_idle(home.parent.glob("*"), _UNUSED_SECONDS)
        for outdated in home.glob("*"):
            if outdated.suffix != ".tmp":  # another process is copying it now
                shutil.rmtree(outdated, ignore_errors=True)
        fetch(source, partial)
    except Exception as error:  # the library behind a file system may raise anything
        shutil.rmtree(partial, ignore_errors=True)
        reason = first_line(error).removeprefix(f"{source}: ")
        raise UserError(f"{source}: cannot be read ({reason})") from error
    try:
        partial.rename(copy)
    except OSError:  # another process was faster, and its copy is as good
        shutil.rmtree(partial)
    return copy


def _remove_idle(directories: Iterable[Path], seconds: float) -> None:
    """Remove directories of copies that were not used for ``seconds``: by their time, which ``local_copy`` sets, and
    the times of their files."""
    for directory in directories:
        with suppress(OSError):  # gone meanwhile
            used = max(path.lstat().st_mtime for path in (directory, *directory.rglob("*")))
            if time.time() - used > seconds:
                shutil.rmtree(directory, ignore_errors=True)


def fetch(source: str | Path, target: Path) -> None:
    """Copy a directory, wherever it is, into a new local one. ``UserError``, with nothing copied, where a name in it
    would lead out of it: an object storage may send any, and only ``target`` is to be written to."""
    filesystem, name = storage.resolve(source)
    found = filesystem.get_file_info(pyarrow.fs.FileSelector(name, recursive=True))
    files = {entry.path: _below(name, entry.path, source) for entry in found if entry.is_file}
    target.mkdir(parents=True)
    for path, relative in files.items():
        (place := target / relative).parent.mkdir(parents=True, exist_ok=True)
        if not place.resolve().is_relative_to(target.resolve()):
            raise UserError(f"{source}: {relative!r} leads out of it; take files that you know from elsewhere")
        with filesystem.open_input_stream(path) as stream, place.open("xb") as file:  # nothing is written over
            shutil.copyfileobj(stream, file, _CHUNK)


def _below(directory: str, path: str, source: str | Path) -> str:
    """The name of a file below ``directory``; ``UserError`` for one that is not, wherever it may lead."""
    inside = directory.strip("/") + "/"
    relative = path.lstrip("/").removeprefix(inside)
    if not path.lstrip("/").startswith(inside) or not stays_below(relative):
        raise UserError(f"{source}: {path!r} leads out of it; take files that you know from elsewhere")
    return relative


def _content_key(filesystem: pyarrow.fs.FileSystem, name: str) -> str:
    """A digest of a directory's content: of its ``digests.json``, else of names, sizes and times of its files. Raises
    ``FileNotFoundError`` and the file system's other exceptions."""
    recorded = filesystem.get_file_info(f"{name}/{DIGESTS_FILE}")
    if recorded.type == pyarrow.fs.FileType.File:
        with filesystem.open_input_stream(recorded.path) as stream:
            content = bytes(stream.read())
    else:
        found = filesystem.get_file_info(pyarrow.fs.FileSelector(name, recursive=True))
        files = sorted((entry.path, entry.size, entry.mtime_ns) for entry in found if entry.is_file)
        if not files:
            raise FileNotFoundError("no such directory")
        content = repr(files).encode()
    return hashlib.blake2b(content, digest_size=12).hexdigest()
