"""Sweeps (``--multirun``): names of the points, and which of them are run together."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from cluster.files import uris

T = TypeVar("T")


@dataclass(frozen=True)
class Point(Generic[T]):
    """One point of a sweep."""

    config: T
    overrides: dict[str, str] = field(default_factory=dict)
    """Swept key -> value, as written; empty outside a sweep."""


class PointFailed(Exception):  # noqa: N818
    """A command, or one point of a sweep, has failed; the message is already on the standard error of its process."""

    def __init__(self, code: int, message: str, process: int = 0) -> None:
        super().__init__(code, message, process or os.getpid())  # pickle rebuilds it from these
        self.code, self.message, self.process = self.args


Work = Callable[[Sequence[Point[T]]], Sequence[float | Exception | None]]
"""Runs points together; returns for each its objective (None without one) or its exception."""


def in_sweep() -> bool:
    """Whether this process runs a point of a sweep."""
    return HydraConfig.get().mode == RunMode.MULTIRUN


def may_wait() -> bool:
    """Whether a point's work may wait until Hydra has come to the last one: Hydra's own sweeper does not read what a
    point returns, and its own launcher stays in this process."""
    choices = HydraConfig.get().runtime.choices
    return in_sweep() and choices["hydra/sweeper"] == choices["hydra/launcher"] == "basic"


def unswept_keys(arguments: Sequence[str]) -> list[str]:
    """Keys with a single value on the command line; empty where it sweeps nothing, as they then name the point."""
    last = {one.key_or_group: one for one in _overrides(arguments) or ()}
    if not any(one.is_sweep_override() or key.startswith("hydra") for key, one in last.items()):
        return []
    return [key for key, override in last.items() if not override.is_sweep_override()]


def output_of_sweep(arguments: Sequence[str], output_key: str) -> str | None:
    """The output that the command line gives for a sweep, empty without one; None where there is no sweep, or its
    arguments cannot be parsed."""
    if not {"-m", "--multirun"} & set(arguments) or (given := _overrides(arguments)) is None:
        return None
    values = [one.value() for one in given if one.key_or_group == output_key]
    return str(OmegaConf.create({"output": values[-1]}).output or "") if values else ""


def _overrides(arguments: Sequence[str]) -> list[Override] | None:
    """The arguments, parsed; None where one cannot be: Hydra will report it."""
    try:
        return OverridesParser.create().parse_overrides([word for word in arguments if not word.startswith("-")])
    except HydraException:
        return None


def task_overrides() -> list[str]:
    """The command line's overrides of this configuration, as written."""
    given: Any = OmegaConf.to_container(HydraConfig.get().overrides.task, resolve=False)
    return list(given)


def swept() -> dict[str, str]:
    """Swept key -> value, as written; empty outside a sweep. ``hydra.job.config.override_dirname.exclude_keys`` holds
    the excluded keys, so that every launcher's processes know them."""
    if not in_sweep():
        return {}
    hydra = HydraConfig.get()
    fixed = hydra.job.config.override_dirname.exclude_keys
    overrides = OverridesParser.create().parse_overrides(task_overrides())
    return {one.key_or_group: one.get_value_element_as_str() for one in overrides if one.key_or_group not in fixed}


def with_own_output(composed: DictConfig, output_key: str, ending: str) -> DictConfig:
    """The configuration with its own output directory or file, if this is a point of a sweep: named after the swept
    keys, so that the same sweep finds it again.

    Args:
        ending: of a file, ``.json``; empty for a directory. ``out=x.json`` becomes ``x/<point>.json``.
    """
    if not in_sweep():
        return composed
    output = None if OmegaConf.is_missing(composed, output_key) else OmegaConf.select(composed, output_key)
    if not output:
        return composed
    name = ",".join(f"{key}={value}" for key, value in sorted(swept().items()))
    with open_dict(composed):
        path = f"{output.removesuffix(ending or '/')}/{uris.file_name(name) or 'default'}{ending}"
        OmegaConf.update(composed, output_key, path)
    return composed
