"""The settings of a directory's contents, recorded in its ``config.yaml``."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar, get_args, get_type_hints

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from cluster.errors import UserError, first_line
from cluster.files import storage
from cluster.merging import over_defaults, schema_of_kind
from games.registry import recordable
from search.config import without_removed

T = TypeVar("T")

SETTINGS_FILE = "config.yaml"
_MAX_SETTINGS = 1_000_000
"""Characters; ours have a few thousand."""
_MAX_DEPTH = 50


def plain(config: Any) -> dict[str, Any]:
    """A configuration as nested dictionaries and lists, for a file."""
    settings: Any = OmegaConf.to_container(OmegaConf.create(dataclasses.asdict(config)))
    return dict(settings)


def record_settings(path: str, config: Any) -> None:
    """Write or replace the record."""
    settings = plain(config)
    settings["game"]["options"] = recordable(config.game.name, settings["game"]["options"])
    storage.write_bytes_atomic(path, OmegaConf.to_yaml(OmegaConf.create(settings)).encode())


def recorded_settings(path: str, schema: type) -> dict[str, Any] | None:
    """The recorded settings, with defaults for newer keys; None without a record. ``UserError`` for a file without
    settings."""
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
        settings: Any = OmegaConf.to_container(OmegaConf.create(completed(_as_today(recorded), schema)))
    except ValueError as error:  # a kind of network whose package is not installed
        raise UserError(f"{path}: {error}") from error
    return dict(settings)


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


def _as_today(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the record of an earlier version, in which the gate's keys were in no group, players could have weight 0
    (presets were merged), ``initial_learner`` repeated values of ``learner``, Q-networks had their own group, and
    players had settings that are gone."""
    settings = without_removed(recorded)
    if isinstance(network := settings.pop("q_network", None), Mapping) and network.get("kind") != "none":
        settings["model"] = {**network, "kind": "q_network", "architecture": network.get("kind")}
    if isinstance(selfplay := settings.get("selfplay"), Mapping):
        settings["selfplay"] = selfplay = _as_today(selfplay)
        gate = {key: selfplay.pop(f"gate_{key}") for key in ("deals", "margin", "seating") if f"gate_{key}" in selfplay}
        if gate.get("deals"):
            selfplay["gate"] = gate
    learner, first = settings.get("learner"), settings.get("initial_learner", {})
    if first is None:
        settings["initial_learner"] = {}
    elif isinstance(learner, Mapping) and isinstance(first, Mapping):
        settings["initial_learner"] = {key: value for key, value in first.items() if value != learner.get(key)}
    initial = settings.get("initial")
    if isinstance(initial, Mapping) and isinstance(players := initial.get("players"), Mapping):
        settings["initial"] = {**initial, "players": {name: weight for name, weight in players.items() if weight}}
    return settings


def completed(recorded: Mapping[str, Any], schema: type) -> dict[str, Any]:
    """A recorded configuration, with defaults for newer keys."""
    types, whole = get_type_hints(schema), dict(recorded)
    for field in dataclasses.fields(schema):
        kind = types[field.name]
        group: Any = next(filter(dataclasses.is_dataclass, (kind, *get_args(kind))), None)  # of ``Group | None`` too
        there = recorded.get(field.name, {} if group is kind else None)
        if "kinds" in field.metadata and field.name in recorded:
            if not isinstance(there, Mapping):
                raise ValueError(f"{field.name} is {there!r}, and it holds settings; restore the file")
            whole[field.name] = completed(there, schema_of_kind(field, there))
        elif group and isinstance(there, Mapping):
            whole[field.name] = completed(there, group)
        elif field.name not in recorded and field.default_factory is not dataclasses.MISSING:
            whole[field.name] = field.default_factory()
        elif field.name not in recorded and field.default is not dataclasses.MISSING:
            whole[field.name] = field.default
    return whole


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
