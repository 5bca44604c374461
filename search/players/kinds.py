"""What is declared of a kind of player, once: self-play, tournaments and the docs read this record.

Every player's module ends with the record of its kind; ``search.roster.kinds`` lists them. A package of your own offers
one as an entry point of the group ``kibitz.players`` (``games.plugins``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pkgutil import resolve_name
from typing import Any

from games.game import Game
from learner.network_kind import ModelInput
from search.players.player import Player


@dataclass(frozen=True)
class PlayerKind:
    """What everybody needs to know of a kind of player."""

    name: str
    """What it is called on the command line."""
    factory: Callable[..., Player]
    """(game, model, settings, *more models) -> a player. ``model`` has the input ``model_input``, or is None where no
    network is asked; ``settings`` is an instance of the dataclass below, None without one; there are more models
    where ``further`` names some. A setting called ``utility`` names the utility of the outcomes that the values of an
    ``ObservationModel`` are made of."""
    summary: str
    """One sentence."""
    games: tuple[str, ...] | None = None
    """Names of the games it plays, ``*`` for any characters; None for all."""
    settings: type | None = None
    """Dataclass of its settings: defaults for all, a docstring under each, checks in ``__post_init__``."""
    needs_model: bool | None = False
    """Whether it asks a network; None where its settings decide, by a property ``needs_model``."""
    model_input: ModelInput = "histories"
    """What its network reads."""
    further: Callable[[Any], tuple[str, ...]] = lambda settings: ()
    """Settings -> checkpoints of the networks that it asks beside its own; these read histories."""
    check: Callable[..., None] = lambda game, settings: None
    """(game, settings): ``ValueError``, one line, for a game that it does not play with these settings."""
    decision_bytes: Callable[[Game, Any], int] = lambda game, settings: 0
    """(game, settings): memory that one decision may take; 0 for next to nothing."""
    baseline: bool = False
    """Whether it is the scripted player of its games, which plays deals out where no other player is named."""
    asks_support: bool = False
    """Whether ``factory`` and ``check`` take what there is for the game too, as the keyword ``support``
    (``search.players.support.Support``)."""

    def plays(self, game: Game) -> bool:
        """Whether it plays this game."""
        return self.games is None or any(fnmatchcase(game.name, pattern) for pattern in self.games)


def player_class(path: str) -> Callable[..., Player]:
    """The factory of players that need no network: the class ``module:class`` is imported when a player is made, and
    takes the settings where the kind has some."""

    def make(game: Game, model: None, settings: Any) -> Player:
        player: Player = resolve_name(path)(*([] if settings is None else [settings]))
        return player

    return make
