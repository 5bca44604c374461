"""The settings of a directory's contents, recorded in its ``config.yaml``."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from cluster.composing import over_defaults
from cluster.errors import UserError, first_line
from cluster.files import storage
from cluster.foreign import check_format
from games.registry import recordable

T = TypeVar("T")

SETTINGS_FILE = "config.yaml"
FORMAT = 3
"""Format number of this file and of a run's ``state.json``; increased whenever the meaning of their keys changes."""
_MAX_SETTINGS = 1_000_000
"""Characters; ours have a few thousand."""
_MAX_DEPTH = 50


def plain(config: Any) -> dict[str, Any]:
    """A configuration as nested dictionaries and lists, for a file."""
    settings: Any = OmegaConf.to_container(OmegaConf.create(dataclasses.asdict(config)))
    return dict(settings)


def record_settings(path: str, config: Any) -> None:
    """Write or replace the record."""
    settings = {"format": FORMAT, **plain(config)}
    settings["game"]["options"] = recordable(config.game.name, settings["game"]["options"])
    storage.write_bytes_atomic(path, OmegaConf.to_yaml(OmegaConf.create(settings)).encode())


def recorded_settings(path: str) -> dict[str, Any] | None:
    """The recorded settings; None without a record. ``UserError`` for a file without settings."""
    if not storage.exists(path):
        return None
    try:
        text = storage.read_text(path)
        _check_plain(text)
        recorded: Any = OmegaConf.to_container(OmegaConf.create(text))
    except (yaml.YAMLError, OmegaConfBaseException, ValueError, RecursionError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(
            f"{path}: cannot be read ({first_line(error)}); restore it, or take another directory"
        ) from error
    if "${" in text:  # never written by us: it could leak environment variables
        raise UserError(f"{path}: holds an interpolation (${{...}}), and records have plain values; restore it")
    if not isinstance(recorded, dict) or not recorded:
        raise UserError(f"{path}: holds no settings; restore it, or take another directory")
    try:
        check_format(recorded.pop("format", None), FORMAT)
    except ValueError as error:
        raise UserError(f"{path}: {error}; take another directory") from error
    return recorded


def _check_plain(text: str) -> None:
    """``ValueError`` for YAML of a form that we never write, and that a few lines of could fill the memory."""
    if len(text) > _MAX_SETTINGS:
        raise ValueError(f"has {len(text):,} characters, and settings have at most {_MAX_SETTINGS:,}")
    depth = 0
    for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"line {event.start_mark.line + 1} repeats another by an alias")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise ValueError(f"line {event.start_mark.line + 1} is nested too deeply")


def typed(settings: Mapping[str, Any], schema: type[T]) -> T:
    """A group of recorded settings as its dataclass. ``UserError`` where it does not fit."""
    try:
        built = OmegaConf.to_object(over_defaults(schema, settings))
    except (OmegaConfBaseException, ValueError) as error:
        raise UserError(f"the settings recorded do not fit this version ({str(error).splitlines()[0]})") from error
    return built  # type: ignore[return-value]


def check_recorded(
    path: str, theirs: Mapping[str, Any], mine: Mapping[str, Any], free: Collection[str], made: str, to: str
) -> None:
    """Check that a command may continue work that was made with the settings recorded in ``path``.

    Args:
        theirs, mine: the recorded settings and the command's, nested.
        free: keys and groups in which the two may differ.
        made, to: phrases for the message, such as ``this run was started`` and ``resume it``.

    Raises:
        UserError: they differ in another key; names the first.
    """
    before, now = dict(_settled(theirs, free)), dict(_settled(mine, free))
    for key in now | before:
        if now.get(key) != before.get(key):
            raise UserError(
                f"{path}: {made} with {key}={before.get(key)}, the command says {now.get(key)}; use the same settings "
                f"to {to}"
            )


def _settled(config: Mapping[str, Any], free: Collection[str], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every key that may not change, with the groups around it, and its value."""
    for name, value in config.items():
        key = f"{prefix}{name}"
        if key in free:
            continue
        if isinstance(value, Mapping):
            yield from _settled(value, free, f"{key}.")
        else:
            yield key, value
