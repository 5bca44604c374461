"""What other packages bring: entry points, and ``module:attribute`` wherever a user may write a name.

A package offers them in its ``pyproject.toml``::

    [project.entry-points."kibitz.games"]
    nim = "my_package.nim:NimGame"

    [project.entry-points."kibitz.players"]
    nim_rules = "my_package.nim:RULES"

    [project.entry-points."kibitz.support"]
    nim = "my_package.nim:SUPPORT"  # what there is for the game beyond its rules: search.players.support

    [project.entry-points."kibitz.models"]
    rnn = "my_package.networks:RNN"  # a kind of network: learner.network_kind

``module:attribute`` runs code, so it is for command lines and configurations alone. What a file names goes through
``games.registry.recorded_game`` and ``search.roster.registry.check_recorded`` first.
"""

import pkgutil
import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

GAMES, PLAYERS, SUPPORT, MODELS = "kibitz.games", "kibitz.players", "kibitz.support", "kibitz.models"
"""Groups of entry points."""


def offered(group: str) -> tuple[str, ...]:
    """Names that installed packages offer, whether or not they can be imported."""
    return tuple(sorted({entry.name for entry in _entries(group)}))


def load(group: str, name: str) -> Any:
    """What ``name`` stands for, an entry point of the group or ``module:attribute``; None if it is neither.

    Raises:
        ValueError: it cannot be imported, for whatever reason, or two packages offer it; one line that names it.
    """
    entries = tuple(entry for entry in _entries(group) if entry.name == name)
    if len(entries) > 1:
        values = ", ".join(f"{entry.value} of {_package(entry)}" for entry in entries)
        mend = "write module:attribute instead" if group in (GAMES, PLAYERS) else "uninstall one of the packages"
        raise ValueError(f"{group}: {name!r} is offered more than once ({values}); {mend}")
    if entries:
        return _attribute(entries[0].value, f"plug-in {name!r} of the package {_package(entries[0])}")
    return _attribute(name, repr(name)) if is_reference(name) else None


def is_reference(name: str) -> bool:
    """Whether a name is a ``module:attribute``."""
    return re.fullmatch(r"(?!openspiel:)[A-Za-z_][\w.]*:[A-Za-z_]\w*", name) is not None


def unknown(kind: str, name: str, names: Sequence[str]) -> ValueError:
    """The error for a name that stands for nothing."""
    return ValueError(f"no {kind} {name!r}; there are {', '.join(names)}, or module:attribute for one of your own")


@cache
def _entries(group: str) -> tuple[EntryPoint, ...]:
    """Read once: it takes a look at every installed package, 10 ms."""
    return tuple(entry_points(group=group))


def _attribute(reference: str, what: str) -> Any:
    try:
        return pkgutil.resolve_name(reference)
    except Exception as error:  # whatever a foreign module raises
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{what} cannot be imported ({type(error).__name__}: {reason}); mend or remove its package, "
            f"or put {reference.partition(':')[0]} where Python finds it (PYTHONPATH)"
        ) from error


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "an unknown package"
