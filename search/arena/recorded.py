"""Measured results in JSON files, so that nothing is measured twice."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError

from cluster.errors import UserError
from cluster.files import storage, uris
from cluster.foreign import check_format, printable
from cluster.reader import check_lasts
from search.arena.partial_results import check_same, remove_parts
from search.checked_json import first_wrong


@dataclass(frozen=True)
class Recorded:
    """A result of a game with its settings: fields of plain values, tuples, dictionaries, and dataclasses of them.

    Its file is a JSON object with ``format``, then the fields in order.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    FORMAT: ClassVar[int] = 1
    """Increased whenever the meaning of the JSON changes."""
    WHAT: ClassVar[str]
    """Name of the measurement in messages, as in ``a tournament``."""

    game: str
    game_options: dict[str, bool | int | str]

    @property
    def depends_on(self) -> dict[str, Any]:
        """The settings that the figures depend on, by key of the configuration."""
        raise NotImplementedError

    def record(self) -> dict[str, Any]:
        """The result as plain JSON types."""
        record: dict[str, Any] = json.loads(json.dumps({"format": self.FORMAT, **asdict(self)}))
        return record

    @classmethod
    def from_record(cls, record: Any) -> Self:
        """The result of a ``record``; ``ValueError`` is a line that says what is wrong with it."""
        if not isinstance(record, dict):
            raise ValueError("no object")
        check_format(record.get("format"), cls.FORMAT)
        fields, kind = {key: value for key, value in record.items() if key != "format"}, cast(type, cls)
        try:
            result: Self = _reader(kind).validate_python(_printable(fields))
        except ValidationError as error:
            raise ValueError(first_wrong(error)) from None
        result.check()
        return result

    def check(self) -> None:
        """``ValueError`` where what was read does not agree with itself."""

    @classmethod
    def read(cls, path: str) -> Self:
        """The result in a file; ``UserError`` where it holds none."""
        return cls._in_file(path)[0]

    @classmethod
    def stored(cls, path: str, settings: Mapping[str, Any]) -> Self | None:
        """The result in ``path``, if it was made with these settings; None for a missing file.

        Raises:
            UserError: it was made with other settings, naming the difference, or is no such result.
        """
        if not path or not storage.exists(path):
            return None
        result, before = cls._in_file(path)
        check_same(path, cls.WHAT, before, settings)
        remove_parts(path)  # left by a command that was killed between writing the file and removing the parts
        return result

    def write(self, path: str) -> None:
        """Write or replace the file, and remove the parts that it was made of."""
        storage.write_json_atomic(path, self.record())
        remove_parts(path)

    @classmethod
    def _in_file(cls, path: str) -> tuple[Self, dict[str, Any]]:
        try:
            result = cls.from_record(storage.read_json(path))
            return result, result.depends_on
        except (ValueError, TypeError, KeyError) as error:
            what = cls.WHAT.removeprefix("a ")
            raise UserError(f"{path}: holds no {what} ({error}); remove it, or give another out") from error


def check_out(out: str, key: str = "out") -> None:
    """``UserError`` where no file can be written under this name, given as ``key``; an empty name is fine."""
    check_lasts(out, key)
    if out and not uris.is_remote(out) and Path(uris.resolve(out)[1]).is_dir():
        raise UserError(f"{key}={out}: is a directory; name the file to write")
    if out:
        storage.check_writable(uris.parent(out))


@cache
def _reader(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _printable(value: Any) -> Any:
    """A JSON value whose texts can be shown: names come from anywhere."""
    match value:
        case str():
            return printable(value)
        case list():
            return [_printable(item) for item in value]
        case dict():
            return {printable(key): _printable(item) for key, item in value.items()}
    return value
