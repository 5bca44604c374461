"""Syntax of players' names: ``KIND``, ``KIND@CHECKPOINT``, ``KIND:KEY=VALUE:KEY=VALUE@CHECKPOINT``.

``go_mcts:num_steps=0:num_runs=50`` is GO-MCTS with these settings in place of the configured ones, so that one
tournament can seat two settings of the same search. ``KIND`` may be ``module:attribute``; a setting has an ``=``, an
attribute has none. ``openspiel:BOT`` is short for ``openspiel:bot=BOT``. Any player may ``explore``:
``hearts_rules:explore=0.05`` plays a random legal action one time in twenty.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar, get_type_hints

_Config = TypeVar("_Config")


@dataclass(frozen=True)
class PlayerSpec:
    """A player's name, parsed."""

    name: str
    """As given."""
    kind: str
    """A name among ``search.roster.kinds``, or ``module:attribute``."""
    settings: tuple[tuple[str, str], ...] = ()
    """Keys and values that differ from the configuration."""
    checkpoint: str = ""
    """Directory, path or URI, of its own network."""
    explore: float = 0.0
    """Probability that an action is uniform over the legal ones (``search.players.random_player``)."""

    def configured(self, config: _Config) -> _Config:
        """A copy of its kind's configuration (a dataclass) with its own settings; ``ValueError`` naming player and
        key."""
        declared = get_type_hints(type(config))
        types = {field.name: declared[field.name] for field in fields(config)}  # type: ignore[arg-type]
        values = {}
        for key, value in self.settings:
            if key not in types:
                raise ValueError(f"player {self.name!r}: {self.kind} has no {key!r}; there are {', '.join(types)}")
            values[key] = self._typed(key, value, types[key])
        try:
            return replace(config, **values)  # type: ignore[type-var]
        except ValueError as error:
            raise ValueError(f"player {self.name!r}: {error}") from None

    def _typed(self, key: str, value: str, kind: type) -> bool | int | float | str:
        if kind is bool:
            if value.lower() in ("true", "false"):
                return value.lower() == "true"
            raise ValueError(f"player {self.name!r}: {key} is {value!r}; it must be true or false")
        if kind not in (int, float, str):
            raise ValueError(f"player {self.name!r}: {key} cannot be set here, as it is no number, text or truth value")
        try:
            return kind(value)  # type: ignore[no-any-return]
        except ValueError:
            raise ValueError(f"player {self.name!r}: {key} is {value!r}; it must be of type {kind.__name__}") from None


def parse(name: str) -> PlayerSpec:
    """Parse a name; ``ValueError`` for bad syntax. Does not check that the kind exists."""
    player, at, checkpoint = name.partition("@")
    kind, *settings = player.split(":")
    if kind == "openspiel" and settings and settings[0].isidentifier():
        settings[0] = f"bot={settings[0]}"
    elif settings and settings[0].isidentifier():
        kind = f"{kind}:{settings.pop(0)}"
    pairs = [setting.partition("=") for setting in settings]
    for setting, (key, equals, value) in zip(settings, pairs, strict=True):
        if not (key and equals and value):
            raise ValueError(f"player {name!r}: {setting!r} is no setting; write {kind}:KEY=VALUE")
        if [other for other, _, _ in pairs].count(key) > 1:
            raise ValueError(f"player {name!r}: {key} is given twice")
    if at and not checkpoint:
        raise ValueError(f"player {name!r}: the directory of a checkpoint must follow the @")
    own = tuple((key, value) for key, _, value in pairs if key != "explore")
    explore = [_probability(name, key, value) for key, _, value in pairs if key == "explore"]
    return PlayerSpec(name, kind, own, checkpoint, *explore[-1:])


def _probability(name: str, key: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"player {name!r}: {key} is {text!r}; it must be a probability, 0 to 1")
    return value


def labels(players: Sequence[str]) -> list[str]:
    """Distinct names of the players: repeated names get ``#2`` and so on."""
    seen = [list(players[: i + 1]).count(name) for i, name in enumerate(players)]
    return [name if count == 1 else f"{name}#{count}" for name, count in zip(players, seen, strict=True)]
