"""How dataclasses become Hydra's structured configs, and values become instances of them.

A field of a schema, of type ``Any``, with the metadata ``{"kinds": MODULE}`` holds one of several dataclasses:
``MODULE.names()`` are the kinds there are, ``MODULE.config_of(kind)`` is the dataclass, and its key ``kind`` says which
one it is. Hydra finds them in the group ``kinds/FIELD``, and a preset of the group FIELD begins with its own::

    defaults:
      - /kinds/model@_here_: transformer
      - _self_
"""

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, TypeVar, get_origin, get_type_hints

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from cluster.fields import flat

T = TypeVar("T")


def register(config_name: str, schema: type, sweep: bool = False) -> None:
    """Make a schema known to Hydra as ``<config_name>_schema``, with its kinds; ``cluster.cli.run`` does it, and tests
    that compose do.

    In a sweep any key of a group of kinds is let through, and ``over_defaults`` finds the wrong ones: Hydra composes
    the command line once without what is swept, so perhaps with the keys of one kind and the preset of another.
    """
    store = ConfigStore.instance()
    store.store(
        name=f"{config_name}_schema", node=_open_mappings(OmegaConf.structured(schema), schema), provider="kibitz"
    )
    for field in groups_of_kinds(schema):
        kinds = import_module(field.metadata["kinds"])
        for name in kinds.names():
            with suppress(ValueError):  # a broken package; choosing it reports the error
                node = kinds.config_of(name)
                if sweep:
                    node = OmegaConf.create(OmegaConf.to_container(OmegaConf.structured(node)), flags={"struct": False})
                store.store(group=f"kinds/{field.name}", name=name, node=node, provider="kibitz")


def _open_mappings(node: Any, schema: Any) -> Any:
    """Let a command line add names to mappings, such as options of a game, without Hydra's ``+``."""
    for name, kind in get_type_hints(schema).items():
        if dataclasses.is_dataclass(kind):
            if OmegaConf.is_missing(node, name) and "kinds" not in schema.__dataclass_fields__[name].metadata:
                node[name] = kind
            if not OmegaConf.is_missing(node, name):
                _open_mappings(node[name], kind)
        elif get_origin(kind) is dict:
            OmegaConf.set_struct(node[name], False)
    return node


def groups_of_kinds(schema: Any) -> list[dataclasses.Field[Any]]:
    """The fields of a schema that hold one of several dataclasses."""
    return [field for field in dataclasses.fields(schema) if "kinds" in field.metadata]


def keep_given(config: DictConfig, overrides: Sequence[str]) -> None:
    """Write the names of a group's settings that a command line gives into the group's key ``given``, where it has
    one: they may be the defaults, and still be what the user wants."""
    for override in OverridesParser.create().parse_overrides([*overrides]):
        group, _, key = override.key_or_group.partition(".")
        value: Any = override.value()
        if isinstance(config.get(group), DictConfig) and "given" in config[group] and (key or isinstance(value, dict)):
            config[group].given = sorted({*config[group].given, *flat({key: value} if key else value)})


def over_defaults(schema: type, values: Any) -> DictConfig:
    """Values over the defaults of a schema. ``OmegaConfBaseException`` where they do not fit, ``ValueError`` for a kind
    that does not exist."""
    merged = OmegaConf.structured(schema)
    for field in groups_of_kinds(schema):
        if kind := (values.get(field.name) or {}).get("kind"):
            merged[field.name] = import_module(field.metadata["kinds"]).config_of(kind)
    merged.merge_with(dict(values))
    assert isinstance(merged, DictConfig)
    return merged


def overridden(config: T, values: Mapping[str, Any], group: str) -> T:
    """A copy of a group of settings with other values for some keys. ``ValueError`` naming the key, as ``group.KEY``,
    that there is none of or whose value does not fit."""
    try:
        return OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(config), dict(values)))  # type: ignore[return-value]
    except OmegaConfBaseException as error:
        reason = "unknown key" if isinstance(error, KeyError | AttributeError) else str(error).splitlines()[0]
        raise ValueError(f"{group}.{error.full_key}: {reason}; --cfg job prints the keys and their values") from None
