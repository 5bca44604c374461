"""Where files lie: a local path, or a URI that ``pyarrow.fs`` knows (``s3://bucket/run``)."""

import hashlib
import os
import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

import pyarrow.fs

from cluster.errors import UserError
from cluster.files.cache import cache_directory, private

_MAX_NAME = 200
"""Longest text used as a file's name unchanged, in characters; file systems end at 255."""

_URI = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+://")
_ONE_SLASH = re.compile(r"^(s3|gs|gcs|hf|hdfs|abfss?|file):/?(?!/)")
_QUERY = re.compile(r"^([^?:]+://[^?]*[^?/])/*(\?(?:[^/]|(?<=:)//)*)(/(?!/).*)$")
"""The options of a URI with names behind them."""
_BUCKET = re.compile(r"^(?:s3|gs|gcs)://[^/?]+")
"""An object storage's scheme and bucket."""


def is_remote(path: str | Path) -> bool:
    """Whether ``path`` is a URI of something else than a local directory."""
    return bool(_URI.match(str(path))) and not str(path).startswith("file://")


def is_uri(path: str | Path) -> bool:
    """Whether ``path`` is a URI, of whatever scheme, or means to be one."""
    return bool(_URI.match(str(path)) or _ONE_SLASH.match(str(path)))


def resolve(path: str | Path) -> tuple[pyarrow.fs.FileSystem, str]:
    """The file system of a path or URI, and its name there.

    A URI may end in options (``?endpoint_override=...``), and names below it may be written behind them.

    Raises ``UserError`` for a URI whose scheme is unknown or that lacks a slash.
    """
    text = _options_last(path)
    if not _URI.match(text):
        if _ONE_SLASH.match(text):
            raise UserError(f"{text}: a URI has two slashes behind its scheme; for a local directory write ./{text}")
        return pyarrow.fs.LocalFileSystem(), str(Path(text).expanduser().absolute())
    try:
        if not (bucket := _BUCKET.match(text)):
            filesystem, name = pyarrow.fs.FileSystem.from_uri(text)
            return filesystem, name
        names, options, values = text[bucket.end() :].partition("?")
        filesystem, top = _client(f"{bucket[0]}{options}{values}", _surroundings())
    except (ValueError, OSError) as error:
        raise UserError(f"{text}: {error}") from error
    return filesystem, f"{top}{unquote(names.rstrip('/'))}"


@lru_cache(maxsize=64)
def _client(bucket: str, surroundings: tuple[tuple[str, str], ...]) -> tuple[pyarrow.fs.FileSystem, str]:
    """The client of a bucket, and the bucket's name: one for a process, so that connections and credentials are made
    once. ``surroundings`` tells clients apart that would find other credentials."""
    if bucket.startswith("s3:"):  # a small file is one request, and not the three of an upload in parts
        bucket += f"{'&' if '?' in bucket else '?'}allow_delayed_open=true"
    filesystem, name = pyarrow.fs.FileSystem.from_uri(bucket)
    return filesystem, name


def _surroundings() -> tuple[tuple[str, str], ...]:
    return tuple(sorted(item for item in os.environ.items() if item[0].startswith(("AWS_", "GOOGLE_"))))


def beside(path: str | Path, ending: str) -> str:
    """The path with ``ending`` behind its name, where a URI may go on with options."""
    if not is_remote(path):
        return f"{path}{ending}"
    name, options, values = _options_last(path).partition("?")
    return f"{name.rstrip('/')}{ending}{options}{values}"


def parent(path: str | Path) -> str:
    """The directory that a file lies in."""
    if not _URI.match(str(path)):
        return str(Path(path).parent)
    name, options, values = _options_last(path).partition("?")
    scheme, _, names = name.partition("://")
    return f"{scheme}://{names.rpartition('/')[0] or '/'}{options}{values}"


def file_name(text: str) -> str:
    """``text`` as a file name. If it is too long or has unsuitable characters, it is cut or cleaned, and ends in a
    digest."""
    safe = re.sub(r"[^\w.,=+-]", "_", text)[:_MAX_NAME]
    return safe if safe == text else f"{safe}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"


def last_name(path: str) -> str:
    return unquote(_options_last(path).partition("?")[0]).rpartition("/")[2] if is_remote(path) else Path(path).name


def _options_last(path: str | Path) -> str:
    """A path or URI with its options moved to the end."""
    return _QUERY.sub(r"\1\3\2", str(path))


def home_of_copies(uri: str | Path) -> Path:
    """The directory, of this machine and user, for copies of a URI's content; it may not exist yet, and lies in one
    that nobody else can put anything into."""
    digest = hashlib.blake2b(str(uri).encode(), digest_size=12).hexdigest()
    return private(cache_directory() / f"copies-{os.geteuid()}") / digest
