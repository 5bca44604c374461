"""Every path of every command: files and directories on a local disk, or behind a URI that ``pyarrow.fs`` knows
(``s3://bucket/run``).

A reader sees a file or a published directory whole or not at all; a writer killed at any moment leaves at most a
temporary name behind, which ends in ``.tmp``. It needs neither Ray nor torch, so that ``games.shards`` can use it.
"""

import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.fs

from cluster.digests import DIGESTS_FILE
from cluster.errors import UserError, writing

_URI = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+://")
_ONE_SLASH = re.compile(r"^(s3|gs|gcs|hf|hdfs|abfss?|file):/?(?!/)")
_QUERY = re.compile(r"^([^?]+://[^?]+?)(\?[^/]*)(/(?!/).*)$")
"""The options of a URI with names behind them."""


def is_remote(path: str | Path) -> bool:
    """Whether ``path`` is a URI of something else than a local directory."""
    return bool(_URI.match(str(path))) and not str(path).startswith("file://")


def resolve(path: str | Path) -> tuple[pyarrow.fs.FileSystem, str]:
    """The file system of a path or URI, and its name there.

    A URI may end in options (``?endpoint_override=...``), and names below it may be written behind them.

    Raises ``UserError`` for a URI whose scheme is unknown or that lacks a slash.
    """
    text = _QUERY.sub(r"\1\3\2", str(path))
    if not _URI.match(text):
        if _ONE_SLASH.match(text):
            raise UserError(f"{text}: a URI has two slashes behind its scheme; for a local directory write ./{text}")
        return pyarrow.fs.LocalFileSystem(), str(Path(text).expanduser().absolute())
    try:
        filesystem, name = pyarrow.fs.FileSystem.from_uri(text)
    except (ValueError, OSError) as error:
        raise UserError(f"{text}: {error}") from error
    return filesystem, name


def exists(path: str | Path) -> bool:
    """Whether a file or directory is there."""
    filesystem, name = resolve(path)
    return bool(filesystem.get_file_info(name).type != pyarrow.fs.FileType.NotFound)


def list_names(directory: str | Path) -> list[str]:
    """Names of the files and directories in ``directory``, sorted, temporary ones left out; empty if it is missing."""
    filesystem, name = resolve(directory)
    found = filesystem.get_file_info(pyarrow.fs.FileSelector(name, allow_not_found=True))
    return sorted(entry.base_name for entry in found if not entry.base_name.endswith(".tmp"))


def read_text(path: str | Path) -> str:
    """A whole text file. Raises ``FileNotFoundError`` if it is missing."""
    filesystem, name = resolve(path)
    with filesystem.open_input_stream(name) as stream:
        return bytes(stream.read()).decode()


def read_json(path: str | Path) -> Any:
    """A whole JSON file. Raises ``FileNotFoundError``, and ``UserError`` naming the file if it is not JSON."""
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise UserError(f"{path} is not JSON ({error}); remove it to have it written again") from error


def write_bytes_atomic(path: str | Path, data: bytes | pyarrow.Buffer) -> None:
    """Write or replace a small file, its directory made if need be; readers see the old content or the new."""
    filesystem, name = resolve(path)
    with writing(path):
        filesystem.create_dir(name.rpartition("/")[0], recursive=True)
    if not isinstance(filesystem, pyarrow.fs.LocalFileSystem):
        with filesystem.open_output_stream(name) as stream:  # object stores publish a file when it is closed
            stream.write(data)
        return
    target = Path(name)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    with writing(path):
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            temporary.unlink(missing_ok=True)  # a full disk has no room for it
            raise
        temporary.replace(target)


def write_json_atomic(path: str | Path, value: Any) -> None:
    """Write or replace a JSON file, keys in the order given; see ``write_bytes_atomic``."""
    write_bytes_atomic(path, (json.dumps(value, indent=2) + "\n").encode())


def write_directory_atomic(path: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a new local directory, and publish it as ``path``; see ``publish_directory``."""
    temporary = path.with_name(f"{path.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    with writing(path):
        temporary.mkdir(parents=True)
        try:
            write(temporary)
        except OSError:
            shutil.rmtree(temporary, ignore_errors=True)  # a full disk has no room for it
            raise
        publish_directory(temporary, path)


def publish_directory(source: str | Path, target: str | Path, last: Sequence[str] = ()) -> None:
    """Move a finished local directory to its place, replacing nothing.

    A local target appears by one rename. To object storage, which has none, files are copied and the source stays;
    those named in ``last`` (the ones readers look for) are copied at the end, in that order.

    Raises:
        UserError: ``target`` is there already, and local.
    """
    filesystem, name = resolve(target)
    if isinstance(filesystem, pyarrow.fs.LocalFileSystem):
        if Path(name).exists():
            raise UserError(f"{target}: exists already; choose another directory or remove it")
        for path in Path(source).rglob("*"):
            _to_disk(path)
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(source).rename(name)
        return
    files = [path for path in sorted(Path(source).rglob("*")) if path.is_file()]
    files.sort(key=lambda path: last.index(path.name) if path.name in last else -1)
    for path in files:
        destination = f"{name}/{path.relative_to(source).as_posix()}"
        filesystem.create_dir(destination.rpartition("/")[0], recursive=True)
        pyarrow.fs.copy_files(
            str(path.absolute()), destination,
            source_filesystem=pyarrow.fs.LocalFileSystem(), destination_filesystem=filesystem,
        )  # fmt: skip


def _to_disk(path: Path) -> None:
    """Have a file's content, or a directory's entries, on the disk before its new name is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def scratch(purpose: str, uri: str) -> Path:
    """A directory of this machine and user for what belongs to a URI, in the system's temporary directory; it may not
    be there yet."""
    digest = hashlib.blake2b(uri.encode(), digest_size=12).hexdigest()
    return Path(tempfile.gettempdir()) / f"kibitz-{purpose}-{os.getuid()}" / digest


def local_copy(source: str | Path) -> Path:
    """A local directory with the content of a published one: itself if it is local, else a copy kept on this machine.

    Every call asks whether the source is still what the copy was made of; a copy of what it was before is removed.
    Raises ``UserError`` where it cannot be read.
    """
    if not is_remote(source):
        return Path(resolve(source)[1])
    home, (filesystem, name) = scratch("copies", str(source)), resolve(source)
    partial = home / f"{os.getpid()}.tmp"
    try:
        copy = home / _content_key(filesystem, name)
        if copy.exists():
            return copy
        for outdated in home.glob("*"):
            if outdated.suffix != ".tmp":  # what another process is copying just now
                shutil.rmtree(outdated, ignore_errors=True)
        partial.mkdir(parents=True)
        pyarrow.fs.copy_files(
            name, str(partial),
            source_filesystem=filesystem, destination_filesystem=pyarrow.fs.LocalFileSystem(),
        )  # fmt: skip
    except Exception as error:  # what a file system raises is up to the library behind it
        shutil.rmtree(partial, ignore_errors=True)
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{source}: cannot be read ({reason})") from error
    try:
        partial.rename(copy)
    except OSError:  # another process was faster, and its copy is as good
        shutil.rmtree(partial)
    return copy


def _content_key(filesystem: pyarrow.fs.FileSystem, name: str) -> str:
    """What changes with the content of a directory: its ``digests.json``, else names, sizes and times of its files.
    Raises ``FileNotFoundError``, or whatever else the file system does."""
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


@contextmanager
def run_lock(directory: str | Path) -> Iterator[None]:
    """Keep a second driver out of a local run directory, which is made if it is missing; the system releases the lock
    when its holder dies, however. It cannot guard object storage: there it does nothing.

    Raises:
        UserError: another process holds the lock.
    """
    if is_remote(directory):
        yield
        return
    local = Path(resolve(directory)[1])
    with writing(directory):
        local.mkdir(parents=True, exist_ok=True)
        file = (local / ".lock").open("a+")
    with file:
        file.seek(0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = file.read().strip() or "unknown"
            raise UserError(
                f"{directory} is in use by another command (process {holder}); wait for it or take another"
            ) from error
        file.truncate()
        print(os.getpid(), file=file, flush=True)
        yield
