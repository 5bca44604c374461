"""Games by name. Compiled games are imported when they are asked for, and OpenSpiel only for its own games."""

import importlib
import inspect
import re
from collections.abc import Mapping
from typing import Any

from games import plugins
from games.game import Game

_OURS = {
    "hearts": ("games.hearts.game", "HeartsGame"),
    "skat": ("games.skat.game", "SkatGame"),
    "crew": ("games.crew.game", "CrewGame"),
    "samegame": ("games.samegame.game", "SameGame"),
}
"""Module and class of each game."""
_MAX_NUMBER = 10_000
"""Largest number, and characters, of an option of OpenSpiel's that a file may have: products of larger sizes of boards
overflow there."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
BUILT_IN = (*_OURS, "openspiel:<game>")
"""What ``make_game`` understands without plug-ins."""


def names() -> tuple[str, ...]:
    """What ``make_game`` understands, the plug-ins' games included."""
    return tuple(dict.fromkeys([*BUILT_IN, *plugins.offered(plugins.GAMES)]))


def class_of(name: str) -> type[Game] | None:
    """The class of a game of Kibitz's own; None for any other name."""
    if name.startswith("openspiel:"):
        from games.openspiel import OpenSpielGame

        return OpenSpielGame
    module, game = _OURS.get(name, ("", ""))
    found: type[Game] | None = getattr(importlib.import_module(module), game) if module else None
    return found


def make_game(name: str, options: Mapping[str, Any] | None = None) -> Game:
    """The game called ``name`` with the given rule options.

    Args:
        name: ``"hearts"``, ``"skat"``, ``"crew"`` or ``"samegame"``; ``"openspiel:leduc_poker"`` for any sequential
            OpenSpiel game, parameters in brackets after it or as options; a game that another package offers
            (``games.plugins``); or ``"module:attribute"``, a ``Game`` class or a function that makes one.
        options: rule options by name; an unknown one is a ``ValueError`` that lists what the game has.
    """
    given = dict(options or {})
    if (ours := class_of(name)) is None:
        return _plug_in(name, given)
    parameters = [name.removeprefix("openspiel:")] if name.startswith("openspiel:") else []
    return ours(*parameters, **given)


def recorded_game(file: str, name: Any, options: Any, own: str = "") -> Game:
    """The game that a file names (a shard, a checkpoint, the settings of a run).

    Files come from anywhere, and ``module:attribute`` would let the author of one run code here. So files name games of
    Kibitz, of installed packages, and of OpenSpiel by their short names. The user must name any other game.

    Args:
        file: what errors begin with.
        name: as the file has it, and so ``options``, of whatever type.
        own: the user's name for the game, as ``make_game`` has it, in place of the file's; empty for none.

    Raises ``ValueError`` as ``make_game``, and for a game that a file may not name.
    """
    if not isinstance(options, Mapping):
        raise ValueError(f"{file}: its options of the game are {options!r}, no mapping")
    if not own and name not in names():
        _check_openspiel(file, str(name), options)
    if name == "samegame":
        from games.samegame.files import check_recorded

        check_recorded(file, options)
    try:
        return make_game(own or name, options)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{file}: {error}") from error


def _check_openspiel(file: str, name: str, options: Mapping[str, Any]) -> None:
    """``ValueError`` unless this is a game of OpenSpiel's, and no options by which it would read another file or play
    one game inside of another."""
    if not re.fullmatch(r"openspiel:\w+", name):
        raise ValueError(
            f"{file}: names the game {name!r}, and files may name only {', '.join(names())}; name a game of your own "
            "yourself, as module:attribute (--game; kibitz play: game=)"
        )
    for key, value in options.items():
        large = any(float(number) > _MAX_NUMBER for number in _NUMBER.findall(str(value)[:_MAX_NUMBER]))
        if large or "file" in key or "root" in key or "(" in f"{key}{value}" or len(str(value)) > _MAX_NUMBER:
            shown = repr(value)[:80]
            raise ValueError(f"{file}: {key}={shown} is no option of {name} that may stand in a file")


def recordable(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a file may have them for ``recorded_game``: with the digest of a file that they name."""
    if name != "samegame":
        return dict(options)
    from games.samegame.files import with_digest

    return with_digest(options)


def _plug_in(name: str, options: dict[str, Any]) -> Game:
    make = plugins.load(plugins.GAMES, name)
    if make is None:
        raise plugins.unknown("game", name, names())
    if not callable(make):
        raise ValueError(f"game {name!r} is {make!r}; it must be a class or function that makes a games.game.Game")
    try:
        inspect.signature(make).bind(**options)
    except TypeError as error:
        raise ValueError(f"game {name!r}: {error}; it has {inspect.signature(make)}") from error
    game = make(**options)
    if not isinstance(game, Game):
        raise ValueError(f"game {name!r} makes a {type(game).__name__}; it must make a games.game.Game")
    return game
