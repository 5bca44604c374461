"""Measurements in files: what has been measured is not measured again."""

from dataclasses import asdict
from typing import Any

from cluster.errors import UserError
from cluster.files import storage
from search.kept import check_same, remove_parts
from search.values.report import ValuesResult, from_record

WHAT = "a measurement of values"
_SETTINGS = ("game", "game_options", "utility", "player", "playouts", "worlds", "seed")


def stored_values(path: str, asked: ValuesResult) -> ValuesResult | None:
    """The result that ``path`` holds if it is of the settings of ``asked``; None where there is no such file.

    Raises:
        UserError: it is of others, which names what differs, or something else.
    """
    if not path or not storage.exists(path):
        return None
    try:
        result = from_record(storage.read_json(path))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{path}: holds no {WHAT[2:]} ({error}); remove it, or give another out") from error
    check_same(path, WHAT, settings_of(result), settings_of(asked))
    remove_parts(path)  # left by a command that was killed between writing the one and removing the others
    return result


def write_values(path: str, result: ValuesResult) -> None:
    """Write or replace the file, and remove the parts it came from."""
    storage.write_json_atomic(path, result.record())
    remove_parts(path)


def settings_of(result: ValuesResult) -> dict[str, Any]:
    """Everything that its figures depend on."""
    record = asdict(result)
    return {**result.settings, **{key: record[key] for key in _SETTINGS}}
