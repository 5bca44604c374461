"""The kinds of network there are: ours and those of installed packages (entry points ``kibitz.models``).

A checkpoint says its kind in ``config.json``, so a kind is found there in any process, and a package must be installed:
``module:attribute`` will not do.
"""

from dataclasses import is_dataclass
from pathlib import Path

from games import plugins
from learner.config import NetworkConfig
from learner.model.kind import KIND as TRANSFORMER
from learner.network_kind import ModelInput, NetworkKind
from learner.q_network.kind import KIND as Q_NETWORK

BUILT_IN = {kind.name: kind for kind in (TRANSFORMER, Q_NETWORK)}


def names() -> tuple[str, ...]:
    """Values of ``model.kind``."""
    return tuple(dict.fromkeys([*BUILT_IN, *plugins.offered(plugins.MODELS)]))


def find(name: str) -> NetworkKind:
    """The kind of this name; ``ValueError``, one line, where there is none or its package is broken."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    kind = plugins.load(plugins.MODELS, name) if name in plugins.offered(plugins.MODELS) else None
    if kind is None:
        raise ValueError(f"model.kind={name}: there is no such kind of network; there are {', '.join(names())}")
    if not isinstance(kind, NetworkKind) or kind.name != name:
        found = type(kind).__name__
        raise ValueError(f"{plugins.MODELS}: {name!r} is a {found}; it must be a NetworkKind of that name")
    config = kind.config
    if not (isinstance(config, type) and issubclass(config, NetworkConfig) and is_dataclass(config)):
        raise ValueError(f"{plugins.MODELS}: {name!r} has the config {config}; it must be a NetworkConfig dataclass")
    if kind.model_type in (own.model_type for own in BUILT_IN.values()):
        raise ValueError(f"{plugins.MODELS}: {name!r} has Kibitz's own model_type {kind.model_type!r}; rename it")
    return kind


def config_of(name: str) -> type[NetworkConfig]:
    """The configuration of a kind, which the group ``model`` holds (``cluster.merging``)."""
    return find(name).config


def of_checkpoint(checkpoint: str | Path, wanted: ModelInput | None = None) -> NetworkKind:
    """The kind of a checkpoint's network, by the ``model_type`` of its ``config.json``.

    Raises ``ValueError`` naming the file where it is not there or of no kind that is installed, or where its input is
    another than ``wanted``.
    """
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
            if wanted and kind.input != wanted:
                others = " or ".join(repr(other.model_type) for other in BUILT_IN.values() if other.input == wanted)
                raise ValueError(
                    f"{checkpoint}/{CONFIG_FILE}: model_type is {found!r}, not {others}; a {kind.title} is for players "
                    f"whose network reads {kind.input}"
                )
            return kind
    raise ValueError(
        f"{checkpoint}/{CONFIG_FILE}: model_type is {found!r}, and networks are {', '.join(known)}; install the "
        f"package that it is from{broken}"
    )
