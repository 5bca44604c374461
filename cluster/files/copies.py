"""Local copies of what lies in object storage: of directories, kept on this machine, and of files that are read."""

import fcntl
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pyarrow.fs

from cluster.errors import UserError, first_line
from cluster.files import storage, uris
from cluster.files.cache import private
from cluster.files.digests import DIGESTS_FILE
from cluster.files.scratch import scratch
from cluster.foreign import stays_below

_UNFINISHED_SECONDS = 6 * 3600.0
"""An older unfinished copy on this machine belongs to a process that is gone."""
_UNUSED_SECONDS = 7 * 86400.0
"""Making a copy removes copies that were not used for this long."""

_CHUNK = 2**23
"""Bytes copied at once."""


def local_copy(source: str | Path, without: str = "") -> Path:
    """A local directory with the content of a published one: itself if it is local, else a copy kept on this machine.

    Every call checks whether the source has changed since it was copied, and removes outdated copies. Of processes that
    want the same copy one fetches it, and the others wait.

    Args:
        without: name of a directory in it that a copy does not need.

    Raises ``UserError`` where it cannot be read.
    """
    if not uris.is_remote(source):
        return Path(uris.resolve(source)[1])
    home, (filesystem, name) = private(uris.home_of_copies(source)), uris.resolve(source)
    try:
        key = _content_key(filesystem, name)
        copy = home / (f"{key}-{without}" if without else key)
        if not copy.exists():
            with _alone(home):
                if not copy.exists():
                    _renew(home, key)
                    _fetch_to(source, copy, without)
        os.utime(home)
    except Exception as error:  # the library behind a file system may raise anything
        reason = first_line(error).removeprefix(f"{source}: ")
        raise UserError(f"{source}: cannot be read ({reason})") from error
    return copy


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Wait for the other processes of this machine that make copies of the same source. The lock ends with them."""
    with home.with_suffix(".lock").open("w") as file:
        with suppress(OSError):  # a file system without locks: each makes a copy, and the first counts
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _renew(home: Path, key: str) -> None:
    """Remove copies of earlier contents, and of other sources what nobody has used for long."""
    _remove_idle(home.parent.glob("*/*.tmp"), _UNFINISHED_SECONDS)
    _remove_idle(home.parent.glob("*"), _UNUSED_SECONDS)
    for outdated in home.glob("*"):
        if not outdated.name.startswith(key):
            shutil.rmtree(outdated, ignore_errors=True)


def _fetch_to(source: str | Path, copy: Path, without: str) -> None:
    partial = copy.with_name(f"{secrets.token_hex(4)}.tmp")
    try:
        fetch(source, partial, without)
        with suppress(OSError) if copy.exists() else nullcontext():
            partial.rename(copy)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def fetched(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Local files with the content of ``paths``, for the ``with`` block: local ones themselves, others as copies, each
    read once. An error in the block that names a copy names the original. ``UserError`` for a file that is not there
    or cannot be read."""
    if not any(map(uris.is_remote, paths)):
        yield tuple(paths)
        return
    with scratch("kibitz-fetched-") as place:
        remote = [path for path in paths if uris.is_remote(path)]
        copies = {f"{place}/{number:06d}.parquet": path for number, path in enumerate(remote)}
        for _ in storage.of_each(lambda copy: _fetch_file(copies[copy], Path(copy)), copies):
            pass
        local = iter(copies)
        try:
            yield tuple(next(local) if uris.is_remote(path) else path for path in paths)
        except Exception as error:
            error.args = tuple(_originals(text, str(place), copies) for text in error.args)
            raise


def _fetch_file(source: str, target: Path) -> None:
    try:
        target.write_bytes(storage.read_bytes(source))
    except FileNotFoundError as error:
        raise UserError(f"{source}: no such file") from error


def _originals(text: object, place: str, copies: Mapping[str, str]) -> object:
    """A message with the originals' names in place of their copies'."""
    if not isinstance(text, str):
        return text
    return re.sub(re.escape(place) + r"/\d{6}\.parquet", lambda found: copies[found[0]], text)


def _remove_idle(directories: Iterable[Path], seconds: float) -> None:
    """Remove directories of copies that were not used for ``seconds``: by their time, which ``local_copy`` sets, and
    the times of their files."""
    for directory in directories:
        with suppress(OSError):  # gone meanwhile
            used = max(path.lstat().st_mtime for path in (directory, *directory.rglob("*")))
            if time.time() - used > seconds and directory.is_file():  # the lock of a copy
                directory.unlink()
            elif time.time() - used > seconds:
                shutil.rmtree(directory, ignore_errors=True)


def fetch(source: str | Path, target: Path, without: str = "") -> None:
    """Copy a directory, wherever it is, into a new local one, less its directory ``without``. ``UserError``, with
    nothing copied, where a name in it would lead out of it: an object storage may send any, and only ``target`` is to
    be written to."""
    filesystem, name = uris.resolve(source)
    found = filesystem.get_file_info(pyarrow.fs.FileSelector(name, recursive=True))
    files = {entry.path: _below(name, entry.path, source) for entry in found if entry.is_file}
    target.mkdir(parents=True)

    def copy(path: str) -> None:
        (place := target / files[path]).parent.mkdir(parents=True, exist_ok=True)
        if not place.resolve().is_relative_to(target.resolve()):
            raise UserError(f"{source}: {files[path]!r} leads out of it; take files that you know from elsewhere")
        with filesystem.open_input_stream(path) as stream, place.open("xb") as file:  # nothing is written over
            shutil.copyfileobj(stream, file, _CHUNK)

    for _ in storage.of_each(copy, [path for path, relative in files.items() if relative.partition("/")[0] != without]):
        pass


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
    try:
        with filesystem.open_input_stream(f"{name}/{DIGESTS_FILE}") as stream:
            content = bytes(stream.read())
    except FileNotFoundError:
        found = filesystem.get_file_info(pyarrow.fs.FileSelector(name, recursive=True))
        files = sorted((entry.path, entry.size, entry.mtime_ns) for entry in found if entry.is_file)
        if not files:
            raise FileNotFoundError("no such directory") from None
        content = repr(files).encode()
    return hashlib.blake2b(content, digest_size=12).hexdigest()
