"""Access to all files and directories, on a local disk or behind a URI that ``pyarrow.fs`` knows (``s3://bucket/run``).

A reader sees a file or a published directory whole or not at all; a writer killed at any moment leaves at most a
temporary name behind, which ends in ``.tmp``. Errors of a file system become ``UserError``, which names the path. Needs
neither Ray nor torch, so that ``games.shards`` can use it.
"""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pyarrow
import pyarrow.fs

from cluster.errors import UserError, writing
from cluster.files.digests import DIGESTS_FILE
from cluster.files.scratch import scratch
from cluster.files.uris import home_of_copies, is_remote, last_name, parent, resolve
from cluster.foreign import parse_json
from cluster.reader import check_lasts

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_CHUNK = 2**23
"""Bytes copied at once."""
_READERS = 16
"""Requests to a storage at the same time: one takes tens of milliseconds, all of them waiting."""


@contextmanager
def _named(path: str | Path, failure: str, untouched: tuple[type[OSError], ...] = ()) -> Iterator[None]:
    """Turn a file system's exceptions, except ``untouched``, into a ``UserError`` with ``path`` and ``failure``."""
    try:
        yield
    except untouched:
        raise
    except (OSError, pyarrow.ArrowException) as error:
        raise UserError(f"{path}: {failure} ({str(error).partition(chr(10))[0]})") from error


# ---- reading ---------------------------------------------------------------------------------------------------------


def exists(path: str | Path) -> bool:
    """Whether a file or directory is there."""
    filesystem, name = resolve(path)
    with _named(path, "cannot be looked up"):
        return bool(filesystem.get_file_info(name).type != pyarrow.fs.FileType.NotFound)


def existing(paths: Iterable[str]) -> set[str]:
    """Those of many files that are there: one list for each directory that they lie in, not a question for each."""
    wanted = {path: (parent(path), last_name(path)) for path in paths}
    there = {directory: times(directory).keys() for directory in {directory for directory, _ in wanted.values()}}
    return {path for path, (directory, name) in wanted.items() if name in there[directory]}


def of_each(function: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """``map`` for functions that ask a storage, many at a time, with the results in order. The first error ends it."""
    with ThreadPoolExecutor(_READERS, "storage") as threads:
        yield from threads.map(function, items)


def is_directory(path: str | Path) -> bool:
    """Whether a directory is there."""
    filesystem, name = resolve(path)
    with _named(path, "cannot be looked up"):
        return bool(filesystem.get_file_info(name).type == pyarrow.fs.FileType.Directory)


def list_names(directory: str | Path) -> list[str]:
    """Names of the files and directories in ``directory``, sorted, temporary ones left out; empty if it is missing."""
    return sorted(name for name in times(directory) if not name.endswith(".tmp"))


def times(directory: str | Path) -> dict[str, float]:
    """Every name in ``directory``, and when its file was written, in seconds of the storage's own clock."""
    filesystem, name = resolve(directory)
    with _named(directory, "cannot be listed"):
        found = filesystem.get_file_info(pyarrow.fs.FileSelector(name, allow_not_found=True))
    return {entry.base_name: (entry.mtime_ns or 0) / 1e9 for entry in found}


def stamp(directory: str | Path) -> str:
    """A text that changes when a file in a directory, or below it, comes, goes or is written: by their sizes and times,
    which take one list of all."""
    filesystem, name = resolve(directory)
    with _named(directory, "cannot be listed"):
        found = filesystem.get_file_info(pyarrow.fs.FileSelector(name, allow_not_found=True, recursive=True))
    files = sorted((entry.path, entry.size, entry.mtime_ns) for entry in found if entry.is_file)
    return hashlib.blake2b(repr(files).encode(), digest_size=8).hexdigest()


def check_regular(path: str | Path) -> None:
    """``UserError`` for a local pipe, socket or device, which may have no end; anything else passes."""
    if not is_remote(path):
        name = Path(resolve(path)[1])
        if name.exists() and not name.is_file() and not name.is_dir():
            raise UserError(f"{path}: is no regular file; copy what it gives into one")


def read_bytes(path: str | Path) -> bytes:
    """A whole file. Raises ``FileNotFoundError`` if it is missing."""
    check_regular(path)
    filesystem, name = resolve(path)
    with _named(path, "cannot be read", (FileNotFoundError,)), filesystem.open_input_stream(name) as stream:
        return bytes(stream.read())


def read_text(path: str | Path, errors: str = "strict") -> str:
    """A whole text file. Raises ``FileNotFoundError`` if it is missing, and ``UnicodeDecodeError`` where it is damaged,
    unless ``errors`` says otherwise, as in ``bytes.decode``."""
    return read_bytes(path).decode(errors=errors)


def read_json(path: str | Path) -> Any:
    """A whole JSON file. Raises ``FileNotFoundError``, and ``UserError`` naming the file if it is not JSON."""
    try:
        return parse_json(read_text(path))
    except UserError:
        raise
    except ValueError as error:
        raise UserError(f"{path} is not JSON ({error}); remove it to have it written again") from error


# ---- writing ---------------------------------------------------------------------------------------------------------


def check_writable(directory: str | Path) -> None:
    """Check before any work that a directory, which may not exist yet, can be written to. Makes nothing on a local
    disk; makes the directory behind a URI, because no other check is certain.

    Raises ``UserError`` naming it: a file, a read-only place, a job's own copy of the code, a missing bucket,
    insufficient credentials.
    """
    check_lasts(directory)
    filesystem, name = resolve(directory)
    if not isinstance(filesystem, pyarrow.fs.LocalFileSystem):
        with _named(directory, "cannot be written to"):
            filesystem.create_dir(name, recursive=True)
        return
    place = next(path for path in (Path(name), *Path(name).parents) if os.access(path, os.F_OK))
    if not place.is_dir():
        raise UserError(f"{directory}: {place} is a file; give a directory")
    if not os.access(place, os.W_OK | os.X_OK):
        raise UserError(f"{directory}: {place} cannot be written to; change its permissions, or give another directory")


def write_bytes_atomic(path: str | Path, data: bytes | pyarrow.Buffer) -> None:
    """Write or replace a small file, its directory made if need be; readers see the old content or the new.
    ``UserError`` where it cannot be written."""
    filesystem, name = resolve(path)
    with _named(path, "cannot be written"), writing(path):
        if isinstance(filesystem, pyarrow.fs.LocalFileSystem):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            _replace(Path(name), data)
            return
        _make_directory(filesystem, name.rpartition("/")[0])
        with filesystem.open_output_stream(name) as stream:  # object stores publish a file when it is closed
            stream.write(data)


def _make_directory(filesystem: pyarrow.fs.FileSystem, name: str) -> None:
    if filesystem.type_name != "s3":  # where lists know directories by what is in them; pyarrow's of gs:// do not
        filesystem.create_dir(name, recursive=True)


def _replace(target: Path, data: bytes | pyarrow.Buffer) -> None:
    """Write a local file beside its place, and move it there once it is on the disk."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def write_json_atomic(path: str | Path, value: Any) -> None:
    """Write or replace a JSON file, keys in the order given; see ``write_bytes_atomic``."""
    write_bytes_atomic(path, (json.dumps(value, indent=2) + "\n").encode())


# ---- directories -----------------------------------------------------------------------------------------------------


def write_directory_atomic(path: str | Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a new local directory, and publish it as ``path``; see ``publish_directory``."""
    with _named(path, "cannot be written"), writing(path):
        if is_remote(path):
            with scratch("kibitz-upload-") as place:
                (new := place / "new").mkdir()
                write(new)
                publish_directory(new, path)
            return
        target = Path(resolve(path)[1])
        temporary = target.with_name(f"{target.name}.tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        try:
            write(temporary)
        except OSError:
            shutil.rmtree(temporary, ignore_errors=True)  # a full disk has no room for it
            raise
        publish_directory(temporary, target)


def publish_directory(source: str | Path, target: str | Path) -> None:
    """Move a finished local directory to its place, replacing nothing.

    A local target appears by one rename. To object storage, which has none, files are copied and the source stays;
    ``digests.json`` comes last, so a directory that should have one is whole if it has (``is_published``).

    Raises ``UserError`` where ``target`` cannot be written, or is there already and local.
    """
    filesystem, name = resolve(target)
    with _named(target, "cannot be written"):
        if isinstance(filesystem, pyarrow.fs.LocalFileSystem):
            if Path(name).exists():
                raise UserError(f"{target}: exists already; choose another directory or remove it")
            for path in Path(source).rglob("*"):
                _to_disk(path)
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(source).rename(name)
            return

        def upload(path: Path) -> None:
            destination = f"{name}/{path.relative_to(source).as_posix()}"
            _make_directory(filesystem, destination.rpartition("/")[0])
            # not by pyarrow's copy_files, which says nothing of an upload that fails at its end
            with path.open("rb") as file, filesystem.open_output_stream(destination) as stream:
                shutil.copyfileobj(file, stream, _CHUNK)

        files = [path for path in sorted(Path(source).rglob("*")) if path.is_file()]
        last = Path(source) / DIGESTS_FILE
        for _ in of_each(upload, [path for path in files if path != last]):
            pass
        if last in files:
            upload(last)


def is_published(directory: str | Path) -> bool:
    """Whether a directory that is published with digests is there, whole."""
    return exists(f"{directory}/{DIGESTS_FILE}" if is_remote(directory) else directory)


def remove_file(path: str | Path) -> None:
    """Remove a file; nothing if it is missing."""
    filesystem, name = resolve(path)
    with suppress(FileNotFoundError), _named(path, "cannot be removed", (FileNotFoundError,)):
        filesystem.delete_file(name)


def remove_directory(directory: str | Path) -> None:
    """Remove a directory and, behind a URI, its copy on this machine; nothing if it is missing. ``ValueError`` for an
    empty name, which would be the working directory."""
    if str(directory) in ("", "."):
        raise ValueError("the name of the directory to remove is empty")
    filesystem, name = resolve(directory)
    with _named(directory, "cannot be removed"):
        if filesystem.get_file_info(name).type == pyarrow.fs.FileType.Directory:
            filesystem.delete_dir(name)
    if is_remote(directory):
        shutil.rmtree(home_of_copies(directory), ignore_errors=True)  # which leaves a link as it is


def _to_disk(path: Path) -> None:
    """Sync a file's content, or a directory's entries, to disk before a rename."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
