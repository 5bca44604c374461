"""The kinds of network there are: ours and those of installed packages (entry points ``kibitz.models``).

A checkpoint says its kind in ``config.json``, so a kind is found there in any process, and a package must be installed:
``module:attribute`` will not do.
"""

from contextlib import suppress
from dataclasses import is_dataclass
from importlib.resources import files
from pathlib import Path

from games import plugins
from learner.config import NetworkConfig
from learner.network_kind import NetworkKind
from learner.q_network.kind import KIND as Q_NETWORK
from learner.skat_policies.kind import KIND as SKAT_POLICIES
from learner.transformer import KIND as TRANSFORMER

BUILT_IN = {kind.name: kind for kind in (TRANSFORMER, Q_NETWORK, SKAT_POLICIES)}


class UnusableKindError(ValueError):
    """A kind of network that is not installed, or whose package is broken."""


def names() -> tuple[str, ...]:
    """Values of ``model.kind``."""
    return tuple(dict.fromkeys([*BUILT_IN, *plugins.offered(plugins.MODELS)]))


def find(name: str) -> NetworkKind:
    """The kind of this name; ``UnusableKindError``, one line, where there is none or its package is broken."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    if name not in plugins.offered(plugins.MODELS):
        raise UnusableKindError(
            f"model.kind={name}: there is no such kind of network; there are {', '.join(names())}; install the package "
            f"that brings {name!r}, or name another"
        )
    try:
        kind = plugins.load(plugins.MODELS, name)
    except ValueError as error:
        raise UnusableKindError(str(error)) from error
    if wrong := _wrong(name, kind):
        raise UnusableKindError(f"{plugins.MODELS}: {name!r} {wrong}")
    found: NetworkKind = kind
    return found


def _wrong(name: str, kind: object) -> str:
    """Why what a package offers under this name cannot be used; empty where it can."""
    if not isinstance(kind, NetworkKind) or kind.name != name:
        called = f" of the name {kind.name!r}" if isinstance(kind, NetworkKind) else ""
        return f"is a {type(kind).__name__}{called}; it must be a NetworkKind of that name"
    config = kind.config
    if not (isinstance(config, type) and issubclass(config, NetworkConfig) and is_dataclass(config)):
        return f"has the config {config}; it must be a NetworkConfig dataclass"
    if (files("conf") / "model" / f"{name}.yaml").is_file():
        return f"has the name of Kibitz's own preset model={name}; rename it"
    if kind.model_type in (own.model_type for own in BUILT_IN.values()):
        return f"has Kibitz's own model_type {kind.model_type!r}; rename it"
    for other in set(plugins.offered(plugins.MODELS)) - {name, *BUILT_IN}:
        with suppress(ValueError):
            found = plugins.load(plugins.MODELS, other)
            if isinstance(found, NetworkKind) and (found.name, found.model_type) == (other, kind.model_type):
                return f"has the model_type {kind.model_type!r}, as {other!r} has; uninstall one of their packages"
    return ""


def config_of(name: str) -> type[NetworkConfig]:
    """The configuration of a kind, which the group ``model`` holds (``cluster.composing``)."""
    return find(name).config


def of_checkpoint(checkpoint: str | Path) -> NetworkKind:
    """The kind of a checkpoint's network, by the ``model_type`` of its ``config.json``. ``ValueError`` naming the file
    where it is not there or of no kind that is installed."""
    from learner.model.checkpoint import CONFIG_FILE, model_type_of

    found, known, broken = model_type_of(checkpoint), list[str](), ""
    for name in names():
        try:
            kind = find(name)
        except ValueError as error:
            broken += f"; {error}"
            continue
        known.append(repr(kind.model_type))
        if kind.model_type == found:
            return kind
    raise ValueError(
        f"{checkpoint}/{CONFIG_FILE}: model_type is {found!r}, and networks are {', '.join(known)}; install the "
        f"package that it is from{broken}"
    )
