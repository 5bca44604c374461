"""All kinds of players: self-play, tournaments and the docs read their records.

A package of your own offers a kind as an entry point of the group ``kibitz.players`` (``games.plugins``); without one,
``module:attribute`` stands wherever a kind's name may.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

from games import plugins
from games.game import Game
from learner import kinds as networks
from learner.network_kind import ModelInput, NetworkKind
from search.alphahearts import player as alphahearts
from search.config import SearchConfig
from search.go_mcts import player as go_mcts
from search.openspiel import kind as openspiel
from search.pimc import player as pimc
from search.players import argmax_val, imitation, random_player
from search.players.kinds import PlayerKind
from search.players.support import Support
from search.scripted.crew import support as crew
from search.scripted.hearts import support as hearts
from search.scripted.skat import support as skat
from search.single_agent import mctransformer, mcts, policy, sp_mcts
from search.single_agent.samegame import support as samegame
from search.skat_policies import player as skat_policies

SUPPORT = {"hearts": hearts.SUPPORT, "skat": skat.SUPPORT, "crew": crew.SUPPORT, "samegame": samegame.SUPPORT}
"""Name of a game of this repository -> its support."""

BUILT_IN: tuple[PlayerKind, ...] = (
    random_player.KIND,
    *hearts.SUPPORT.kinds,
    *skat.SUPPORT.kinds,
    *crew.SUPPORT.kinds,
    *samegame.SUPPORT.kinds,
    argmax_val.KIND,
    imitation.KIND,
    go_mcts.KIND,
    pimc.KIND,
    alphahearts.ALPHAHEARTS,
    alphahearts.Q_VALUES,
    mcts.KIND,
    sp_mcts.KIND,
    policy.KIND,
    mctransformer.KIND,
    openspiel.KIND,
    skat_policies.KIND,
)
"""This repository's kinds; their settings are configured under ``search`` by the same names."""

NETWORK_PLAYER = argmax_val.KIND.name
"""How a network plays without a search, with the settings that it brings."""


def find(name: str, game: Game | None = None) -> PlayerKind:
    """The kind called ``name``, a plug-in's entry point or ``module:attribute``; an error lists the kinds that play
    ``game``.

    Raises:
        ValueError: there is none, or it cannot be imported; one line.
    """
    for kind in chain(BUILT_IN, _of_supports()):
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
    kinds = [*BUILT_IN, *_of_supports()]
    for name in plugins.offered(plugins.PLAYERS):
        if all(name != kind.name for kind in BUILT_IN):
            try:
                kinds.append(find(name))
            except ValueError:
                continue
    return kinds


def support_of(game: Game) -> Support:
    """The support of a game, including scripted players that packages offer separately.

    Raises:
        ValueError: a package's support for it cannot be used; one line.
    """
    found = SUPPORT.get(game.name)
    if found is None:
        found = offered_support(game.name) if game.name in plugins.offered(plugins.SUPPORT) else Support()
    scripted = [kind for kind in every() if kind.baseline and kind.plays(game) and kind not in found.kinds]
    return replace(found, kinds=(*found.kinds, *scripted))


def offered_support(name: str) -> Support:
    """A package's support for the game called ``name``; ``ValueError``, one line, where it cannot be used."""
    found = plugins.load(plugins.SUPPORT, name)
    if not isinstance(found, Support):
        what = f"{plugins.SUPPORT} {name!r} is a {type(found).__name__}"
        raise ValueError(f"{what}; it must be a search.players.support.Support")
    return found


def _of_supports() -> Iterator[PlayerKind]:
    """Kinds that packages offer with their own games; a package that cannot be imported is left out."""
    for name in plugins.offered(plugins.SUPPORT):
        with suppress(ValueError):
            yield from offered_support(name).kinds if name not in SUPPORT else ()


def baseline(game: Game) -> str | None:
    """The scripted player of ``game``; None where there is none. ``ValueError`` as ``support_of``."""
    kind = support_of(game).baseline
    return kind.name if kind else None


def brought(search: SearchConfig, model_input: ModelInput) -> dict[str, dict[str, Any]]:
    """What a network with this input that is measured with these settings brings (``PlayerKind.of_network``)."""
    asking = [kind for kind in BUILT_IN if kind.of_network and kind.model_input == model_input]
    return {kind.name: {key: getattr(getattr(search, kind.name), key) for key in kind.of_network} for kind in asking}


def playout_player(name: str, game: Game) -> str:
    """The player of playouts: ``name``, or if empty the game's scripted player, ``random`` without one."""
    return name or baseline(game) or "random"


def names(game: Game) -> tuple[str, ...]:
    """Every kind that plays ``game``."""
    return tuple(kind.name for kind in every() if kind.plays(game))


def readers(model_input: ModelInput, game: Game) -> str:
    """The kinds that play ``game`` and ask networks with this input, for messages."""
    asking = [kind for kind in every() if kind.needs_model is not False and kind.plays(game)]
    return ", ".join(kind.name for kind in asking if kind.model_input == model_input) or f"none for {game.name}"


def network_of(checkpoint: str, wanted: ModelInput, game: Game) -> NetworkKind:
    """The kind of a checkpoint's network; ``ValueError`` where its input is another than ``wanted``, naming the players
    that it is for."""
    kind = networks.of_checkpoint(checkpoint)
    if kind.input != wanted:
        raise ValueError(
            f"{checkpoint}/config.json: model_type is {kind.model_type!r}; a {kind.title} is for players whose network "
            f"reads {kind.input}: {readers(kind.input, game)}"
        )
    return kind
