"""What OmegaConf cannot do by itself when values are merged over the defaults of a schema.

**Mappings replace**: a key of a schema that is a ``dict`` holds names of the user's own, such as players and weights.
OmegaConf would merge what is given into what there was. Here it takes its place, so that nobody has to take anything
out again.

**Groups of several kinds**: a top-level field of type ``Any`` with the metadata ``{"kinds": MODULE}`` holds one of
several dataclasses. Its key ``kind`` says which: ``MODULE.config_of(kind)``. ``MODULE.names()`` are all kinds.
"""

import dataclasses
import functools
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar, get_type_hints

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from cluster.fields import flat, keys

T = TypeVar("T")


@functools.cache
def mappings(schema: type) -> frozenset[str]:
    """The keys of a schema that are mappings; those in groups of several kinds are merged."""
    return frozenset(key.name for key in keys(schema, kinds=False) if key.type.startswith("dict["))


def selected(config: Any, key: str) -> Any:
    """The value of a key; None where there is none, or where it is an interpolation that leads nowhere."""
    return OmegaConf.select(config, key, throw_on_missing=False, throw_on_resolution_failure=False)


@functools.cache
def groups_of_kinds(schema: Any) -> Mapping[str, dataclasses.Field[Any]]:
    """The fields of a schema that hold groups of several kinds, by name; none where this is no dataclass."""
    fields = dataclasses.fields(schema) if dataclasses.is_dataclass(schema) else ()
    return {field.name: field for field in fields if "kinds" in field.metadata}


@functools.cache
def groups_that_keep(schema: Any) -> tuple[str, ...]:
    """The groups of a schema that keep the names of the settings that were given, in their key ``given``."""
    hints = get_type_hints(schema) if dataclasses.is_dataclass(schema) else {}
    return tuple(name for name, kind in hints.items() if "given" in getattr(kind, "__dataclass_fields__", {}))


def keep_given(config: DictConfig, schema: Any, given: Any) -> None:
    """Add the names of the settings in ``given``, values of some keys of ``config``, to the groups that keep them."""
    for group in groups_that_keep(schema):
        settings = selected(given, group)
        if isinstance(settings, DictConfig):
            names: Any = OmegaConf.to_container(settings)
            config[group].given = sorted({*config[group].given, *flat(names)} - {"given"})


def schema_of_kind(field: dataclasses.Field[Any], given: Mapping[str, Any]) -> type:
    """The dataclass of the kind that ``given`` names, else of the default kind. ``ValueError`` for no such kind."""
    default: Any = field.default_factory() if field.default_factory is not dataclasses.MISSING else None
    kind: type = import_module(field.metadata["kinds"]).config_of(given.get("kind", default.kind))
    return kind


def open_defaults(schema: type) -> DictConfig:
    """The defaults of a schema, groups of several kinds still empty."""
    defaults = OmegaConf.structured(schema)
    for key in groups_of_kinds(schema):
        OmegaConf.update(defaults, key, {}, merge=False)
    assert isinstance(defaults, DictConfig)
    return defaults


def fill_kinds(config: DictConfig, schema: Any) -> None:
    """Put the keys and types of its kind into every group of several kinds, below the values that it has.
    ``OmegaConfBaseException`` where these do not fit, ``ValueError`` for no such kind."""
    for key, field in groups_of_kinds(schema).items():
        given = config.get(key) or {}
        OmegaConf.update(config, key, OmegaConf.structured(schema_of_kind(field, given)), merge=False)
        config.merge_with({key: given})


def over_defaults(schema: type, values: Any) -> DictConfig:
    """Values over the defaults of a schema. ``OmegaConfBaseException`` where they do not fit, ``ValueError`` for a kind
    that does not exist."""
    given = OmegaConf.create(values)
    merged = OmegaConf.merge(open_defaults(schema), given)
    assert isinstance(merged, DictConfig)
    for key in mappings(schema):
        if (mapping := selected(given, key)) is not None:
            OmegaConf.update(merged, key, mapping, merge=False)
    fill_kinds(merged, schema)
    return merged


def overridden(config: T, values: Mapping[str, Any], group: str) -> T:
    """A copy of a group of settings with other values for some keys. ``ValueError`` naming the key, as ``group.KEY``,
    that there is none of or whose value does not fit."""
    try:
        return OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(config), dict(values)))  # type: ignore[return-value]
    except OmegaConfBaseException as error:
        reason = "unknown key" if isinstance(error, KeyError | AttributeError) else str(error).splitlines()[0]
        raise ValueError(f"{group}.{error.full_key}: {reason}; --cfg job prints the keys and their values") from None
