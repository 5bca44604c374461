"""How presets and the command line are put together: as Hydra does it, but for three things.

**Mappings replace** (``cluster.merging``): those of a preset the ones of presets before it, those of the command line
the presets'. ``+key={...}`` on the command line still adds.

**Groups of several kinds** (``cluster.merging``) get the keys of the kind that presets choose, before the command line.
What that says of them is checked behind it, in sweeps for each point: they are composed once without their kinds.

**Below a group that is null there is nothing** to override, which Hydra would answer with an assertion.
"""

import copy
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.types import Override
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigKeyError

from cluster.errors import UserError
from cluster.merging import fill_kinds, groups_of_kinds, keep_given, mappings, open_defaults, selected

_SCHEMA = "_schema"
_merge_presets = ConfigLoaderImpl._compose_config_from_defaults_list
_apply_overrides = ConfigLoaderImpl._apply_overrides_to_config


def register(config_name: str, schema: type) -> None:
    """Make a schema known to Hydra as ``<config_name>_schema``; ``cluster.cli.run`` does it, and tests that compose
    do."""
    node = open_defaults(schema)
    ConfigStore.instance().store(name=f"{config_name}{_SCHEMA}", node=node, provider="kibitz")


def _schemas() -> list[Any]:
    """The schemas that Hydra knows; in other processes of a sweep it knows them too."""
    stored = ConfigStore.instance().repo
    nodes = [one.node for name, one in stored.items() if name.endswith(f"{_SCHEMA}.yaml")]
    return [schema for node in nodes if (schema := OmegaConf.get_type(node))]


def _mappings() -> frozenset[str]:
    return frozenset[str]().union(*map(mappings, _schemas()))


def _presets(loader: ConfigLoaderImpl, defaults: list[Any], repo: Any) -> DictConfig:
    """In the place of Hydra's method: all presets together."""
    composed = _merge_presets(loader, defaults, repo)
    presets = [loader._load_single_config(default, repo).config for default in defaults]
    replaced = _mappings()
    for preset in presets:
        _replace(composed, preset, replaced)
    for key in replaced:  # the command line may add names of its own
        if isinstance(mapping := selected(composed, key), DictConfig):
            OmegaConf.set_struct(mapping, False)
    schema: Any = OmegaConf.get_type(composed)
    for default, preset in zip(defaults, presets, strict=True):
        if not str(default.config_path).endswith(_SCHEMA):
            keep_given(composed, schema, preset)
    _fill(composed, schema, defaults, presets)
    for key in groups_of_kinds(schema):  # any key, as in a sweep over kinds these are not the kind's yet
        OmegaConf.update(composed, key, OmegaConf.to_container(composed[key]), merge=False)
        OmegaConf.set_struct(composed[key], False)
    return composed


def _fill(composed: DictConfig, schema: Any, defaults: list[Any], presets: list[Any]) -> None:
    """Give groups of several kinds their keys. ``UserError`` for a preset of theirs that says no kind, and for a preset
    that sets a key which the kind does not have."""
    choices = [_choice(default, defaults) for default in defaults]
    chosen = {choice.partition("=")[0]: choice for choice in choices}
    for group, field in groups_of_kinds(schema).items():
        if group in chosen and selected(composed, f"{group}.kind") is None:
            names = ", ".join(import_module(field.metadata["kinds"]).names())
            raise UserError(f"{chosen[group]}: the preset says no kind; write 'kind: NAME' into it, a name of {names}")
    try:
        fill_kinds(composed, schema)
    except ConfigKeyError as error:
        key = str(error.full_key)
        group = key.partition(".")[0]
        setters = [choice for choice, preset in zip(choices, presets, strict=True) if selected(preset, key) is not None]
        if group not in chosen or not setters:
            raise
        lacks = f"{chosen[group]}: {group}.kind={selected(composed, f'{group}.kind')} has no {key}"
        if setters[-1] == chosen[group]:
            raise UserError(f"{lacks}; take it out of the preset") from error
        mend = f"leave {chosen[group]} out, or choose a preset of {group} that has it"
        raise UserError(f"{lacks}, which {setters[-1]} sets; {mend}") from error


def _choice(default: Any, defaults: list[Any]) -> str:
    """``GROUP=NAME`` of the preset that was chosen, for one that it is based on too."""
    folder, above = default.config_path.rpartition("/")[0], {one.config_path: one for one in defaults}
    while folder and (parent := above.get(default.parent)) and parent.config_path.startswith(f"{folder}/"):
        default = parent
    return f"{folder}={default.config_path.rpartition('/')[2]}"


def _replace(composed: DictConfig, given: Any, keys: Iterable[str]) -> None:
    """Put the mappings that are given, alone or in the groups around them, in the place of those there are."""
    for key in keys:
        if (mapping := selected(given, key)) is not None:
            OmegaConf.update(composed, key, mapping, merge=False, force_add=True)


def _overridden(overrides: list[Override], composed: DictConfig) -> None:
    """In the place of Hydra's function: the command line over the presets."""
    replaced = _mappings()
    schema: Any = OmegaConf.get_type(composed)
    fixed = {f"{key}.kind" for key in groups_of_kinds(schema)}
    for override in overrides:
        key, value = override.key_or_group, override.value()
        if key in fixed:
            raise UserError(f"{key}={value}: a kind comes with its preset; give {key.removesuffix('.kind')}=PRESET")
        parent, last = _parent(override, composed), key.rpartition(".")[2]
        group = isinstance(value, dict) and not override.is_add()
        if group and isinstance(parent, DictConfig) and last in parent and parent[last] is None:
            parent.merge_with({last: value})
            continue
        if group:
            given = OmegaConf.create()
            OmegaConf.update(given, key, value)
            _replace(composed, given, replaced)
        _apply_overrides([override], composed)
        if not override.is_delete() and not override.is_sweep_override():
            given = OmegaConf.create()
            OmegaConf.update(given, key, value)
            keep_given(composed, schema, given)
    if composed.hydra.mode != RunMode.MULTIRUN:
        fill_kinds(copy.deepcopy(composed), schema)


def _parent(override: Override, composed: DictConfig) -> Any:
    """The group around a key, None where there is none. ``UserError`` where it is null."""
    group: Any = composed
    names = override.key_or_group.split(".")
    for end in range(1, len(names)):
        above, name = group, ".".join(names[:end])
        group = selected(composed, name)
        if group is None and isinstance(above, DictConfig) and names[end - 1] in above:
            given = override.get_value_element_as_str()
            raise UserError(
                f"{override.key_or_group}={given}: {name} is null and has no keys; give the group itself, for example "
                f"'{name}={{{'.'.join(names[end:])}: {given}}}'"
            )
    return group


setattr(ConfigLoaderImpl, _merge_presets.__name__, _presets)
setattr(ConfigLoaderImpl, _apply_overrides.__name__, staticmethod(_overridden))
