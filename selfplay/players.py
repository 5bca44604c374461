"""The players of a run's games, checked before any work: those of the seats, of branches, of labels."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import numpy as np

from games.game import Game
from games.rng import derive_many
from learner.network_kind import ModelInput
from search.config import SearchConfig
from search.players.choices import choice_places
from search.players.memory import check_deals, check_shard
from search.roster import kinds
from search.roster.engines import check_cache
from search.roster.registry import Entrant, check_decisions, check_lasting, check_networks, resolve
from selfplay.branches import DRAWS
from selfplay.config import GamesConfig
from selfplay.generator import GeneratorSettings
from selfplay.labels import labeller

_DEALS = 400
"""Random deals that are looked through for decisions of a type."""


def check_players(
    settings: GeneratorSettings,
    game: Game,
    given: ModelInput = "histories",
    networks: Sequence[str] = (),
    group: str = "",
) -> list[str]:
    """Check all players before any work.

    Args:
        given: input of the run's networks. Networks of whole deals play in every seat: ``earlier_player`` is unused.
        networks: checkpoints that play, besides the own ones of iteration 0's players.
        group: that ``settings`` are of, with a dot behind it.

    Returns:
        Notes on the memory that the tables take with all these networks.

    Raises:
        ValueError: a player that cannot play the game, a missing or unsuitable network; one line.
    """
    games = settings.games
    if game.num_deals:
        raise ValueError(
            f"game.options: {game.name} has a list of {game.num_deals} deals here, which is for tournaments; self-play "
            "wants a game that shuffles"
        )
    check_lasting(games.initial.players, f"{group}initial.players")
    check_lasting([games.labels, games.branch_values], f"{group}labels, {group}branch_values")
    brought, first = resolve(games.initial.players, game, settings.search, given=()), games.initial
    if first.successes and not game.cooperative:
        raise ValueError(f"initial.successes={first.successes}: {game.name} is no cooperative game; give 0")
    newest = _of_the_run("newest_player", settings, game, given, group)
    brought += [newest, *(newest.with_network(path) for path in networks)]
    if given == "histories":
        brought.append(_of_the_run("earlier_player", settings, game, given, group))
    if games.branches:
        brought += _check_branches(settings, game, given, group)
    if games.labels:
        brought.append(labeller(games.labels, f"{group}labels", game, settings.search))
    if given == "states" and len(networks) > 1:
        raise ValueError(f"checkpoints: {games.newest_player} sits at every seat, so give one of {len(networks)}")
    said, key = list[str](), f"games_per_table={games.games_per_table}"
    for kind, arch in check_networks(brought, game):
        said += check_cache(kind, arch, settings.engine, games.games_per_table * game.num_players, key)
    return said


def _of_the_run(key: str, settings: GeneratorSettings, game: Game, given: ModelInput, group: str) -> Entrant:
    """The player that the setting ``key`` names; ``ValueError`` for one that plays no network of the run."""
    name = getattr(settings.games, key)
    (entrant,) = resolve([name], game, settings.search)
    if not entrant.lacks_model:
        raise ValueError(
            f"{group}{key}={name}: it plays a network of the run; name a player that asks one, without @DIR"
        )
    if entrant.kind.model_input != given:
        raise ValueError(
            f"{group}{key}={name}: its network reads {entrant.kind.model_input}, and the networks of this run read "
            f"{given}; give {group}{key}=PLAYER, one of {kinds.readers(given, game)}"
        )
    draws = entrant.samples and not entrant.explore
    if key == "newest_player" and settings.games.probabilities and not draws:
        raise ValueError(
            f"{group}{key}={name}: it does not draw from the policy as it is, and {group}probabilities=true keeps "
            "with which probabilities it did; give imitation"
        )
    return entrant


def _check_branches(settings: GeneratorSettings, game: Game, given: ModelInput, group: str) -> list[Entrant]:
    """The player with the newest network that plays branches out, or the one that values them, if one does;
    ``ValueError`` for branches that cannot be made."""
    games, name = settings.games, kinds.playout_player(settings.games.branch_player, game)
    if games.branches > game.max_length:
        raise ValueError(
            f"branches={games.branches}: no sequence of {game.name} has more than {game.max_length} decisions; "
            "give at most so many"
        )
    _check_types(game, games.branch_types, f"{group}branch_types=[{', '.join(games.branch_types)}]")
    if games.branch_values:
        return [_valuer(games.branch_values, f"{group}branch_values", game, settings.search)]
    (player,) = resolve([name], game, settings.search)
    if player.needs_model:
        raise ValueError(
            f"branch_player={name}: deals are played out without networks; name a player that needs none, and give "
            f"{group}newest_branch_player={name.partition('@')[0]} for all iterations that have one"
        )
    if not games.newest_branch_player:
        return []
    newest = _of_the_run("newest_branch_player", settings, game, given, group)
    if getattr(newest.settings, "cheat", False):
        raise ValueError(
            f"{group}newest_branch_player={games.newest_branch_player}: it sees hidden cards; name another player"
        )
    if games.branch_steps and given != "histories":
        raise ValueError(
            f"{group}branch_steps={games.branch_steps}: a network that reads {given} expects no outcomes; set it to 0"
        )
    return [newest]


def _check_types(game: Game, types: Sequence[str], key: str) -> None:
    """``ValueError`` for types of token that the game does not have, or that are no decision in some random deals."""
    for name in types:
        if name not in game.token_types:
            near = ", ".join(get_close_matches(name, game.token_types, 3, 0.3) or game.token_types)
            raise ValueError(f"{key}: {game.name} has no tokens of type {name!r}; it has {near}")
    if not types:
        return
    states, seeds = game.deal(derive_many(1, _DEALS)), derive_many(2, _DEALS)
    game.playout(states, seeds)
    tokens, lengths = game.histories(states, np.arange(_DEALS) % game.num_players)
    for name in types:
        if not choice_places(game, tokens, lengths, [name]).any():
            raise ValueError(f"{key}: in {_DEALS} random deals {name!r} was no decision of a seat's own; leave it out")


def _valuer(name: str, key: str, game: Game, search: SearchConfig) -> Entrant:
    """The player ``name``, given as ``key``; ``ValueError`` for one that cannot say what actions are worth."""
    valuer = labeller(name, key, game, search)
    if valuer.explore:
        raise ValueError(f"{key}={name}: what actions are worth is not explored; leave out explore")
    if not valuer.kind.values_actions:
        these = ", ".join(kind.name for kind in kinds.every() if kind.values_actions and kind.plays(game))
        raise ValueError(f"{key}={name}: it does not say what actions are worth; give one of these: {these}")
    return valuer


def check_memory(settings: GeneratorSettings, game: Game, shards: Mapping[str, int], group: str = "") -> None:
    """``UserError`` where this machine has too little memory for a player's decision, a table or a shard.

    Args:
        shards: setting with its value -> deals of a shard.
        group: the group of ``settings``, with a dot behind it.
    """
    games = settings.games
    branch = [kinds.playout_player(games.branch_player, game)] if games.branches else []
    branch += [name for name in (games.newest_branch_player, games.branch_values) if name]
    labels = [games.labels] if games.labels else []
    names = [*games.initial.players, games.newest_player, games.earlier_player, *branch, *labels]
    check_decisions(resolve(names, game, settings.search), game)
    at_once, outcomes = min(games.games_per_table, max(shards.values())), outcomes_of_branches(games)
    check_deals(game, at_once, f"{group}games_per_table={games.games_per_table}")
    for key, deals in shards.items():
        check_shard(game, deals, games.branches * outcomes, key)


def outcomes_of_branches(games: GamesConfig) -> int:
    """Outcomes that a shard may hold of each branch."""
    return DRAWS if games.branch_steps else 1
