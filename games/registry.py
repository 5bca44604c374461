"""Games by name. Compiled games are imported when they are asked for, and OpenSpiel only for its own games."""

from collections.abc import Mapping
from typing import Any

from games.game import Game

NAMES = ("hearts", "openspiel", "openspiel:<game>")
"""What ``make_game`` understands."""


def make_game(name: str, options: Mapping[str, Any] | None = None) -> Game:
    """The game called ``name`` with the given rule options.

    Args:
        name: ``"hearts"``; ``"openspiel:leduc_poker"`` for any sequential OpenSpiel game, parameters in brackets after
            it or as options; or ``"openspiel"`` with an option ``load``, the whole string ``pyspiel.load_game`` takes.
        options: rule options by name; an unknown one is a ``ValueError`` that lists what the game has.
    """
    given = dict(options or {})
    if name == "hearts":
        from games.hearts.game import HeartsGame

        return HeartsGame(**given)
    if name == "openspiel" or name.startswith("openspiel:"):
        return _open_spiel(name, given)
    raise ValueError(f"no game {name!r}; the games are {', '.join(NAMES)}")


def _open_spiel(name: str, options: dict[str, Any]) -> Game:
    from games.openspiel import OpenSpielGame

    load = name.partition(":")[2] or options.pop("load", "")
    if not load:
        raise ValueError("game 'openspiel' needs an option load, e.g. load=leduc_poker")
    return OpenSpielGame(str(load), **options)
