"""Digests of the files of a published directory, in a file beside them. Readers notice flipped bits by them, and a copy
whether its source has been replaced.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from cluster.errors import UserError
from cluster.foreign import parse_json, stays_below

DIGESTS_FILE = "digests.json"


def digest_of(file: Path) -> str:
    """16 hex digits of BLAKE2b over a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, lambda: hashlib.blake2b(digest_size=8)).hexdigest()


def write_digests(directory: Path) -> None:
    """Write the digests of all files of a directory that is about to be published."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    digests = {path.relative_to(directory).as_posix(): digest_of(path) for path in files}
    (directory / DIGESTS_FILE).write_text(json.dumps(digests, indent=2) + "\n")


def read_digests(directory: Path) -> dict[str, str]:
    """File -> digest as it was published, unchecked; empty where the directory came without."""
    record = directory / DIGESTS_FILE
    if not record.is_file():
        return {}
    try:
        digests = dict(parse_json(record.read_text()))
        if elsewhere := [name for name in digests if not stays_below(name)]:
            raise ValueError(f"{elsewhere[0]!r} leads out of it")
        return digests
    except (ValueError, TypeError) as error:
        raise UserError(f"{record}: is damaged ({error}); restore {directory} or remove it") from error


def check_digests(directory: Path, names: Sequence[str] | None = None) -> dict[str, str]:
    """Check files (``names``, or all with a digest) of a directory and return their digests; empty, unchecked, for a
    directory without digests.

    Raises ``UserError`` naming a file that is missing or was changed since it was published.
    """
    if not (directory / DIGESTS_FILE).is_file():
        return {}
    digests = read_digests(directory)
    checked = digests if names is None else {name: digests.get(name, "") for name in names}
    for name, digest in checked.items():
        file = directory / name
        if not file.is_file():
            raise UserError(f"{file}: no such file; restore {directory} or remove it")
        if digest != digest_of(file):
            raise UserError(
                f"{file}: is damaged, its bytes are not those that {DIGESTS_FILE} was written for; restore {directory} "
                "or remove it"
            )
    return checked
