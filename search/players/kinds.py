"""The kinds of players there are, each declared once: self-play, tournaments and the docs read these records.

A package of your own offers a kind as an entry point of the group ``kibitz.players`` (``games.plugins``); without one,
``module:attribute`` stands wherever a kind's name may.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

from games import plugins
from games.game import Game
from search.config import (
    AlphaHeartsConfig,
    ArgmaxValConfig,
    GoMctsConfig,
    HeartsComplexConfig,
    ImitationConfig,
    IsMctsConfig,
    OpenSpielConfig,
    PimcConfig,
    QValuesConfig,
    SkatRulesConfig,
)
from search.go_mcts.player import GoMcts
from search.players.alphahearts import AlphaHearts, QValues
from search.players.argmax_val import ArgmaxVal
from search.players.imitation import Imitation
from search.players.is_mcts import IsMctsPlayer, check_is_mcts
from search.players.memory import tree_bytes, worlds_bytes
from search.players.pimc import Pimc, check_pimc
from search.players.player import Player
from search.players.random_player import RandomPlayer

Told = Literal["histories", "states"]
"""What a network is told: what one seat has seen (``learner.observation_model.ObservationModel``), or a whole deal
(``learner.state_model.StateModel``). A checkpoint is of one or the other."""


@dataclass(frozen=True)
class PlayerKind:
    """What everybody needs to know of a kind of player."""

    name: str
    """What it is called on the command line."""
    factory: Callable[..., Player]
    """(game, model, settings, *more models) -> a player. ``model`` is what ``told`` says, None where no network is
    asked; ``settings`` is an instance of the dataclass below, None without one; there are more models where ``further``
    names some. A setting called ``utility`` names the utility of the outcomes that the values of an
    ``ObservationModel`` are made of."""
    summary: str
    """One sentence."""
    games: tuple[str, ...] | None = None
    """Names of the games it plays, ``*`` for any characters; None for all."""
    settings: type | None = None
    """Dataclass of its settings: defaults for all, a docstring under each, checks in ``__post_init__``."""
    needs_model: bool | None = False
    """Whether it asks a network; None where its settings decide, by a property ``needs_model``."""
    told: Told = "histories"
    """What its network is told."""
    further: Callable[[Any], tuple[str, ...]] = lambda settings: ()
    """Settings -> checkpoints of the networks that it asks beside its own; they are told histories."""
    check: Callable[[Game, Any], None] = lambda game, settings: None
    """(game, settings): ``ValueError``, one line, for a game that it does not play with these settings."""
    decision_bytes: Callable[[Game, Any], int] = lambda game, settings: 0
    """(game, settings): memory that one decision may take; 0 for next to nothing."""
    baseline: bool = False
    """Whether it is the scripted player of its games: who plays deals out where nobody else is named."""

    def plays(self, game: Game) -> bool:
        """Whether it plays this game."""
        return self.games is None or any(fnmatchcase(game.name, pattern) for pattern in self.games)


def _hearts_rules(game: Game, model: None, settings: None) -> Player:
    from search.players.hearts_rules import HeartsRules

    return HeartsRules()


def _hearts_simple(game: Game, model: None, settings: None) -> Player:
    from search.players.hearts_simple import HeartsSimple

    return HeartsSimple()


def _hearts_complex(game: Game, model: None, settings: HeartsComplexConfig) -> Player:
    from search.players.hearts_complex import HeartsComplex

    return HeartsComplex(settings)


def _skat_rules(game: Game, model: None, settings: SkatRulesConfig) -> Player:
    from search.players.skat_rules.player import SkatRules

    return SkatRules(settings)


def _xskat(game: Game, model: None, settings: None) -> Player:
    from search.players.xskat import XSkat

    return XSkat()


def _crew_rules(game: Game, model: None, settings: None) -> Player:
    from search.players.crew_rules.player import CrewRules

    return CrewRules()


def _openspiel(game: Game, model: None, settings: OpenSpielConfig) -> Player:
    from search.players.openspiel import OpenSpielBot

    return OpenSpielBot(game, settings)


def _beliefs(settings: AlphaHeartsConfig | QValuesConfig) -> tuple[str, ...]:
    return (settings.beliefs,) if settings.beliefs else ()


def _check_openspiel(game: Game, settings: OpenSpielConfig) -> None:
    _openspiel(game, None, settings)


BUILT_IN = (
    PlayerKind(
        name="random",
        summary="Chooses uniformly among its legal actions.",
        factory=lambda game, model, settings: RandomPlayer(),
    ),
    PlayerKind(
        name="hearts_rules",
        summary="Plays Hearts by rules of thumb.",
        games=("hearts",),
        factory=_hearts_rules,
        baseline=True,
    ),
    PlayerKind(
        name="hearts_simple",
        summary="Plays Hearts greedily, one trick at a time (paper 002).",
        games=("hearts",),
        factory=_hearts_simple,
    ),
    PlayerKind(
        name="hearts_complex",
        summary="Plays Hearts by rules that look at the table, with `cheat=true` also at hidden cards (paper 002).",
        games=("hearts",),
        settings=HeartsComplexConfig,
        factory=_hearts_complex,
    ),
    PlayerKind(
        name="skat_rules",
        summary="Bids and plays Skat by rules of thumb.",
        games=("skat",),
        settings=SkatRulesConfig,
        factory=_skat_rules,
        baseline=True,
    ),
    PlayerKind(
        name="crew_rules",
        summary="Plays The Crew by rules of thumb.",
        games=("crew",),
        factory=_crew_rules,
        baseline=True,
    ),
    PlayerKind(
        name="argmax_val",
        summary="ArgmaxVal*: the action of the highest value among the likely ones (paper 001, equations 2 and 3).",
        settings=ArgmaxValConfig,
        needs_model=True,
        factory=lambda game, model, settings: ArgmaxVal(model, settings),
    ),
    PlayerKind(
        name="imitation",
        summary="Samples the network's policy over the legal actions (paper 001, section 6.1).",
        settings=ImitationConfig,
        needs_model=True,
        factory=lambda game, model, settings: Imitation(model, settings),
    ),
    PlayerKind(
        name="go_mcts",
        summary="GO-MCTS: a search of observation histories, which the network continues (paper 001, Algorithm 3).",
        settings=GoMctsConfig,
        needs_model=True,
        decision_bytes=tree_bytes,
        factory=lambda game, model, settings: GoMcts(model, settings),
    ),
    PlayerKind(
        name="pimc",
        summary="PIMC: sampled deals, each judged as if everybody saw all cards (paper 001, Algorithm 2).",
        settings=PimcConfig,
        needs_model=None,
        check=check_pimc,
        decision_bytes=worlds_bytes,
        factory=lambda game, model, settings: Pimc(model, settings),
    ),
    PlayerKind(
        name="alphahearts",
        summary="AlphaHearts Zero: sampled deals, each searched with a Q-network's rollouts (paper 002).",
        games=("hearts",),
        settings=AlphaHeartsConfig,
        needs_model=True,
        told="states",
        further=_beliefs,
        decision_bytes=worlds_bytes,
        factory=lambda game, model, settings, *beliefs: AlphaHearts(model, settings, *beliefs),
    ),
    PlayerKind(
        name="q_values",
        summary="The action of the highest q in sampled deals, without a search (paper 002).",
        games=("hearts",),
        settings=QValuesConfig,
        needs_model=True,
        told="states",
        further=_beliefs,
        decision_bytes=worlds_bytes,
        factory=lambda game, model, settings, *beliefs: QValues(model, settings, *beliefs),
    ),
    PlayerKind(
        name="is_mcts",
        summary="Information Set MCTS with random playouts, single or multiple observer; needs no network.",
        settings=IsMctsConfig,
        check=check_is_mcts,
        decision_bytes=tree_bytes,
        factory=lambda game, model, settings: IsMctsPlayer(settings),
    ),
    PlayerKind(
        name="xskat",
        summary="Plays Skat as the program XSkat, which must be installed; its process knows the whole deal.",
        games=("skat",),
        factory=_xskat,
    ),
    PlayerKind(
        name="openspiel",
        summary="A bot of OpenSpiel's, `openspiel:is_mcts` or `openspiel:xinxin`, on deals sampled from what it sees.",
        games=("hearts", "openspiel:*"),
        settings=OpenSpielConfig,
        check=_check_openspiel,
        factory=_openspiel,
    ),
)
"""This repository's kinds; their settings are configured under ``search`` by the same names."""


def find(name: str, game: Game | None = None) -> PlayerKind:
    """The kind called ``name``, a plug-in's entry point or ``module:attribute``; an error lists those that play
    ``game``.

    Raises:
        ValueError: there is none, or it cannot be imported; one line.
    """
    for kind in BUILT_IN:
        if kind.name == name:
            return kind
    module, _, attribute = name.partition(":")
    if attribute and any(module == known.name for known in BUILT_IN):
        raise ValueError(f"player {name!r}: {attribute!r} is no setting; write {module}:KEY=VALUE")
    found = plugins.load(plugins.PLAYERS, name)
    if found is None:
        raise plugins.unknown("player", name, [kind.name for kind in every() if game is None or kind.plays(game)])
    if not isinstance(found, PlayerKind):
        raise ValueError(f"player {name!r} is a {type(found).__name__}; it must be a search.players.kinds.PlayerKind")
    return replace(found, name=name)


def every() -> list[PlayerKind]:
    """This repository's kinds and the plug-ins'; a plug-in that cannot be imported is left out."""
    kinds = list(BUILT_IN)
    for name in plugins.offered(plugins.PLAYERS):
        if all(name != kind.name for kind in BUILT_IN):
            try:
                kinds.append(find(name))
            except ValueError:
                continue
    return kinds


def baseline(game: Game) -> str | None:
    """The scripted player of ``game``; None where there is none."""
    return next((kind.name for kind in every() if kind.baseline and kind.plays(game)), None)


def playout_player(name: str, game: Game) -> str:
    """Who plays deals out: ``name``; if it is empty, the game's scripted player, and ``random`` where it has none."""
    return name or baseline(game) or "random"


def names(game: Game) -> tuple[str, ...]:
    """Every kind that plays ``game``."""
    return tuple(kind.name for kind in every() if kind.plays(game))
