"""Mappings replace: a key of a schema that is a ``dict`` holds names of the user's own, such as players and weights.

OmegaConf would merge what is given into what there was. Here it takes its place, so that nobody has to take anything
out again.
"""

import functools
from collections.abc import Mapping
from typing import Any, TypeVar

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from cluster.fields import keys

T = TypeVar("T")


@functools.cache
def mappings(schema: type) -> frozenset[str]:
    """The keys of a schema that are mappings."""
    return frozenset(key.name for key in keys(schema) if key.type.startswith("dict["))


def selected(config: Any, key: str) -> Any:
    """The value of a key; None where there is none, or where it is an interpolation that leads nowhere."""
    return OmegaConf.select(config, key, throw_on_missing=False, throw_on_resolution_failure=False)


def over_defaults(schema: type, values: Any) -> DictConfig:
    """Values over the defaults of a schema. ``OmegaConfBaseException`` where they do not fit."""
    given = OmegaConf.create(values)
    merged = OmegaConf.merge(OmegaConf.structured(schema), given)
    assert isinstance(merged, DictConfig)
    for key in mappings(schema):
        if (mapping := selected(given, key)) is not None:
            OmegaConf.update(merged, key, mapping, merge=False)
    return merged


def overridden(config: T, values: Mapping[str, Any], group: str) -> T:
    """A copy of a group of settings with other values for some keys. ``ValueError`` naming the key, as ``group.KEY``,
    that there is none of or whose value does not fit."""
    try:
        return OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(config), dict(values)))  # type: ignore[return-value]
    except OmegaConfBaseException as error:
        reason = "unknown key" if isinstance(error, KeyError | AttributeError) else str(error).splitlines()[0]
        raise ValueError(f"{group}.{error.full_key}: {reason}; --cfg job prints the keys and their values") from None
