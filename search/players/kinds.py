"""The record of a kind of player, read by self-play, tournaments and the docs.

Every player's module ends with the record of its kind; ``search.roster.kinds`` lists them. A package of your own offers
one as an entry point of the group ``kibitz.players`` (``games.plugins``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from games.game import Game
from learner.network_kind import ModelInput
from search.players.player import Player


@dataclass(frozen=True)
class PlayerKind:
    """Declaration of a kind of player."""

    name: str
    """Its name on the command line."""
    factory: Callable[..., Player]
    """(game, model, settings) -> a player. ``model`` has the input ``model_input``, None without a network;
    ``settings`` is an instance of the dataclass below, None without one. A setting called ``utility`` names the outcome
    utility of an ``ObservationModel``'s values; one called ``history`` is ``EngineConfig.history``."""
    summary: str
    """One sentence."""
    games: tuple[str, ...] | None = None
    """Names of the games it plays, ``*`` for any characters; None for all."""
    seats: int = 0
    """Number of seats of the games it plays; 0 for any."""
    settings: type | None = None
    """Dataclass of its settings: defaults for all, a docstring under each, checks in ``__post_init__``."""
    of_network: tuple[str, ...] = ()
    """Settings that a network may bring (``learner.model.checkpoint.read_players``): of how well it plays, not of how
    long it takes."""
    needs_model: bool | None = False
    """Whether it uses a network; None where its settings decide, by a property ``needs_model``."""
    model_input: ModelInput = "histories"
    """Input of its network."""
    check: Callable[..., None] = lambda game, settings: None
    """(game, settings): ``ValueError``, one line, for a game that it does not play with these settings."""
    decision_bytes: Callable[[Game, Any], int] = lambda game, settings: 0
    """(game, settings): most bytes that one decision takes; 0 for next to nothing."""
    baseline: bool = False
    """Whether it is the scripted player of its games, the default player of playouts."""
    samples: bool | None = False
    """Whether it draws its actions and says their probabilities (``search.players.player.Sampling``); None where its
    settings decide, by a property ``samples``."""
    values_actions: bool = False
    """Whether it says what actions are worth (``search.players.player.Valuing``)."""
    asks_support: bool = False
    """Whether ``factory`` and ``check`` take the keyword ``support`` (``search.players.support.Support``)."""

    def plays(self, game: Game) -> bool:
        """Whether it plays this game."""
        if self.seats and game.num_players != self.seats:
            return False
        return self.games is None or any(fnmatchcase(game.name, pattern) for pattern in self.games)

    @property
    def which(self) -> str:
        """The games it plays, in words."""
        if self.games is not None:
            return ", ".join(self.games)
        return "games of one seat" if self.seats == 1 else f"games of {self.seats} seats" if self.seats else "all"
