"""Finished parts of a long command's result, so that the same command can resume.

The result goes into the file ``out``. Until then its finished parts lie in the directory ``<out>.parts``: arrays in
files ``NAME.DIGEST.safetensors``, written atomically, each with its settings. The digest covers the whole file, so
flipped bits are noticed.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from cluster.errors import UserError
from cluster.fields import flat
from cluster.files import storage, uris
from learner.config import FREE_ENGINE_KEYS

_FREE = frozenset(["table_size", *(f"engine.{key}" for key in FREE_ENGINE_KEYS)])
"""Recorded settings of devices and batches, which change figures by rounding errors at most."""
_ENDING = ".safetensors"


@dataclass(frozen=True)
class Parts:
    """Where finished parts of one result go; nowhere without a directory."""

    directory: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Everything that the parts depend on."""

    def keep(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Write a part; ``name`` has no dots. ``UserError`` where that fails."""
        if self.directory:
            data = save(dict(arrays), {"settings": json.dumps(dict(self.settings))})
            storage.write_bytes_atomic(f"{self.directory}/{name}.{_digest(data)}{_ENDING}", data)


class PartialResults:
    """Finished parts of one result in files; keeps none without a directory."""

    def __init__(self, directory: str = "", settings: Mapping[str, Any] | None = None, what: str = "") -> None:
        """Read the existing parts.

        Args:
            directory: of the parts, as ``parts_of`` names it.
            settings: everything that the parts depend on.
            what: name of the whole in messages, as in ``a tournament``.

        Raises:
            UserError: a part of other settings, or a damaged one.
        """
        self.parts, self._what = Parts(directory, settings or {}), what
        self.keep = self.parts.keep
        there = [name for name in (storage.list_names(directory) if directory else []) if name.endswith(_ENDING)]
        read = storage.of_each(self._read, there)
        self.found = {name.split(".")[0]: arrays for name, arrays in zip(there, read, strict=True)}
        """Name of a part -> its arrays."""

    def _read(self, name: str) -> dict[str, np.ndarray]:
        path = f"{self.parts.directory}/{name}"
        data = storage.read_bytes(path)
        if _digest(data) != name.split(".")[1]:
            raise UserError(f"{path}: is damaged, its bytes are not those written; remove it to have them made again")
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        settings = json.loads(header["__metadata__"]["settings"])
        check_same(self.parts.directory, f"parts of {self._what}", settings, self.parts.settings)
        return load(data)


def parts_of(out: str) -> str:
    """The directory for the parts of a result; empty for a result without a file."""
    return uris.beside(out, ".parts") if out else ""


def remove_parts(out: str) -> None:
    """Remove the parts of a written result, if any; a result without a file has none."""
    if out:
        storage.remove_directory(parts_of(out))


def key_of(settings: Mapping[str, Any]) -> str:
    """A name that differs for different settings."""
    return _digest(json.dumps(dict(settings), sort_keys=True).encode())


def check_same(path: str, what: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Check that the content of ``path`` was made with the present settings.

    Raises:
        UserError: it was not; names the first key that differs.
    """
    mine, theirs = flat(json.loads(json.dumps(dict(now)))), flat(before)
    # Networks last, as they follow from the players. Swept keys ("overrides") are among the other keys.
    for key in sorted(mine.keys() | theirs.keys(), key=lambda key: (key.startswith("checkpoints"), key)):
        if theirs.get(key) != mine.get(key) and key not in _FREE and not key.startswith("overrides"):
            raise UserError(
                f"{path}: holds {what} with {key}={theirs.get(key)}, and this one has {key}={mine.get(key)}; remove "
                "it, or give another out"
            )


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()
