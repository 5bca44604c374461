"""Checks before a run starts, so that bad settings fail at once."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import numpy as np

from cluster.errors import UserError, blaming_input
from cluster.fields import flat
from cluster.preflight import check_actors, check_directory
from cluster.watching.trackers import check_tracker
from games.game import Game
from games.registry import make_game
from games.rng import derive_many
from learner import kinds as networks
from learner.config import LearnerConfig
from learner.devices import check_devices, on_lent_device
from learner.network_kind import ModelInput, NetworkKind
from learner.task import check_size
from learner.training.policies.utility import in_temperatures
from search.arena.tournament.deals import Deals
from search.arena.tournament.seatings import seatings
from search.config import SearchConfig
from search.players.choices import choice_places
from search.players.memory import check_deals, check_shard
from search.roster import kinds
from search.roster.engines import check_cache
from search.roster.registry import Entrant, check_decisions, check_networks, resolve
from selfplay.config import GamesConfig, MatchConfig, SelfplayConfig, TrainConfig
from selfplay.existing_shards import check_existing
from selfplay.first_network import check_first_network
from selfplay.generator import GeneratorSettings
from selfplay.labels import labeller

_ROW_BYTES, _BRANCH_BYTES = 120, 60
"""Upper estimates of the disk space of a sequence in a shard, and of one of its decisions with branches."""
_READ_BY = {
    "branches": "give learner.loss.branch_weight or learner.policy.kind=values",
    "labels": "give learner.policy.kind=labels",
    "probabilities": "give learner.policy.kind=gradient",
}
"""What ``selfplay`` adds to shards -> the settings that read it."""
_DEALS = 400
"""Random deals that are looked through for decisions of a type."""


def check(config: TrainConfig) -> list[str]:
    """Run all checks; returns notes for the user."""
    check_tracker(config.tracker)
    check_actors(config.cluster.place)
    for learner in (config.first_learner, config.learner):
        check_devices(config.cluster, generator=config.engine, evaluator=config.engine, learner=learner)
    with blaming_input():
        game = make_game(config.game.name, config.game.options)
        kind = networks.find(config.model.kind)
        _check_network(config, kind, game)
        _check_targets(config, kind, game)
        players = check_players(generator_settings(config), game, kind.input, group="selfplay.")
        memory = _check_memory(config, kind, game) + players + check_first_network(config, game)
        memory += check_existing(config, game)
        if config.selfplay.gate.deals:
            seatings(2, game.num_players, game.cooperative, config.selfplay.gate.seating)
        for match in (*config.evaluation.curve, *config.evaluation.final):
            played = _game_of(match, config, game)
            entrants = resolve(match.players, played, config.search, given=[kind.input])
            seatings(len(match.players), played.num_players, played.cooperative, match.seating)
            Deals(0, match.deals).check(played)
            check_networks(entrants, played)
            if config.cluster.here:
                check_decisions(entrants, played)
        for utility in (config.search.argmax_val.utility, config.search.go_mcts.utility):
            game.outcomes.utility(utility)
    selfplay = config.selfplay
    games = selfplay.first_games + selfplay.iterations * (selfplay.games_per_iteration + selfplay.teacher_games)
    row_bytes = _ROW_BYTES + _BRANCH_BYTES * selfplay.branches * _outcomes(selfplay)
    free_mb = 100 + games * game.num_players * row_bytes // 2**20
    check_directory(config.run.dir, in_job=config.cluster.place == "job", free_mb=free_mb)
    return memory + _first_learner(config) + _replay(selfplay)


def _replay(selfplay: SelfplayConfig) -> list[str]:
    """A note where ``replay_from`` leaves nothing to learn from again."""
    if not 0 < selfplay.iterations <= selfplay.replay_from:
        return []
    last = f"selfplay.iterations={selfplay.iterations}"
    return [f"selfplay.replay_from={selfplay.replay_from}: with {last} no network learns from earlier deals"]


def _game_of(match: MatchConfig, config: TrainConfig, game: Game) -> Game:
    """The game of a tournament of the run; ``ValueError`` for options that the run's networks do not play with."""
    for name in match.game_options:
        if name not in game.dealing_options:
            these = ", ".join(game.dealing_options) or "none"
            raise ValueError(
                f"evaluation game_options: {name} may not differ from the run's; of {game.name} may {these}"
            )
    return make_game(config.game.name, match.game(config.game).options) if match.game_options else game


def _first_learner(config: TrainConfig) -> list[str]:
    """Note on how iteration 0's training differs: ``learner`` on the command line does not change ``initial_learner``
    of a preset."""
    others = [f"{key}={value}" for key, value in flat(config.initial_learner).items()]
    trains = others and not config.selfplay.first_network
    return [f"iteration 0 trains with initial_learner: {', '.join(others)}"] if trains else []


def _check_network(config: TrainConfig, kind: NetworkKind, game: Game) -> None:
    """``ValueError`` for settings that this kind of network cannot train with."""
    kind.check_training(config.cluster.learners, learner=config.learner, initial_learner=config.first_learner)
    if not kind.whole_deals:
        return
    whole = f"model.kind={kind.name}: a {kind.title} learns from deals of which every seat's sequence is kept"
    if config.selfplay.population and config.selfplay.iterations > 1:
        raise ValueError(f"{whole}; give selfplay.population=false")
    if config.selfplay.past_share:
        raise ValueError(f"{whole}; give selfplay.past_share=0")
    for key, first in config.selfplay.without_network.items():
        if set(first.keep) not in (set(), set(first.players)):
            raise ValueError(f"{whole}; give selfplay.{key}.keep=[]")


def _check_memory(config: TrainConfig, kind: NetworkKind, game: Game) -> list[str]:
    """Notes on the network's size and the memory of tables in every actor; ``ValueError`` if that exceeds
    ``engine.cache_mb``."""
    if config.cluster.here:
        _check_here(config, game)
    arch, said = kind.architecture(game, config.model), [kind.note()] if kind.unused else []
    for key, tables, gpus in (
        ("selfplay.games_per_table", config.selfplay.games_per_table, config.cluster.generator_gpus),
        ("evaluation.table_size", config.evaluation.table_size, config.cluster.evaluator_gpus),
    ):
        engine = on_lent_device(config.engine, gpus)
        said += check_cache(kind, arch, engine, tables * game.num_players, f"{key}={tables}")
    return said


def _check_here(config: TrainConfig, game: Game) -> None:
    """``UserError`` where this machine does the work and has too little memory for it."""
    selfplay = config.selfplay
    larger = max(selfplay.games_per_iteration, selfplay.teacher_games)
    larger = larger if selfplay.initial_games_per_shard else max(larger, selfplay.first_games)
    shards = {
        f"selfplay.{key}={size}": min(size, games)
        for key, size, games in (
            ("initial_games_per_shard", selfplay.initial_games_per_shard, selfplay.first_games),
            ("games_per_shard", selfplay.games_per_shard, larger),
        )
        if games
    }
    check_memory(generator_settings(config), game, shards, "selfplay.")
    check_size(game, config.model)


def _check_targets(config: TrainConfig, kind: NetworkKind, game: Game) -> None:
    """``ValueError`` for branches, labels or probabilities that no learner reads, or that a learner reads and no player
    makes, or that it reads by a temperature that suits another game."""
    learners = {"initial_learner": config.first_learner, "learner": config.learner}
    readers = list(learners.values())  # also those of an iteration 0 that a first network takes the place of
    if config.selfplay.first_network:
        learners.pop("initial_learner")
    elif config.first_learner.policy.kind == "gradient":
        raise UserError(
            "initial_learner.policy.kind=gradient: the players of iteration 0 draw from no network's policy; set "
            "initial_learner.policy.kind=played"
        )
    elif config.selfplay.initial.shards:
        learners.pop("initial_learner")  # which checks what its shards hold itself
    for key in ("branches", "labels", "probabilities"):
        made = getattr(config.selfplay, key)
        for name, learner in learners.items():
            for setting, off in _reading(learner, key).items():
                if setting.startswith(kind.unused):
                    raise UserError(f"{name}.{setting}: a {kind.title} learns from none; set {name}.{off}")
                if not made:
                    raise UserError(
                        f"{name}.{setting}: selfplay.{key}={made or repr(made)} makes none; give it, or set "
                        f"{name}.{off}"
                    )
        if made and not any(_reading(learner, key) for learner in readers):
            raise UserError(f"selfplay.{key}={made}: no network learns from them; {_READ_BY[key]}, or leave them out")
    for group, learner in learners.items():
        if learner.policy.kind in ("values", "gradient"):
            in_temperatures(game, learner.policy)
        if config.selfplay.branch_values and learner.loss.branch_weight:
            raise UserError(
                f"{group}.loss.branch_weight={learner.loss.branch_weight}: branches of selfplay.branch_values have "
                "values and no outcomes; set it to 0"
            )


def branched(config: TrainConfig) -> tuple[bool, bool]:
    """Whether a learner reads the branches of iteration 0 (also by replay), and the branches of later iterations."""
    return _read_by(config, "branches")


def _read_by(config: TrainConfig, key: str) -> tuple[bool, bool]:
    """Whether a learner reads what ``selfplay.<key>`` makes in iteration 0 (also by replay), and in later ones."""
    selfplay = config.selfplay
    later = selfplay.iterations > 0 and bool(_reading(config.learner, key))
    if selfplay.first_network:
        return False, later
    again = selfplay.replay_games > 0 and not selfplay.replay_from
    return bool(_reading(config.first_learner, key)) or (later and again), later


def _reading(learner: LearnerConfig, key: str) -> dict[str, str]:
    """The settings by which a learner reads what ``selfplay.<key>`` makes -> what reads none."""
    loss, policy = learner.loss, learner.policy
    found = {f"policy.kind={policy.kind}": "policy.kind=played"} if key in policy.reads else {}
    if key == "labels" and policy.kind == "values" and found:
        found = {f"policy.label_weight={policy.label_weight}": "policy.label_weight=0"}
    if key == "branches" and loss.branch_weight:
        found[f"loss.branch_weight={loss.branch_weight}"] = "loss.branch_weight=0"
    return found


def generator_settings(config: TrainConfig) -> GeneratorSettings:
    """The generators' settings."""
    return GeneratorSettings(
        game=config.game,
        search=config.search,
        engine=on_lent_device(config.engine, config.cluster.generator_gpus),
        games=config.selfplay,
        branched=branched(config),
        labelled=_read_by(config, "labels"),
    )


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
    brought = list[Entrant]()
    for key, first in games.without_network.items():
        brought += resolve(first.players, game, settings.search, given=())
        if first.successes and not game.cooperative:
            raise ValueError(f"{key}.successes={first.successes}: {game.name} is no cooperative game; give 0")
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
    judges = kinds.support_of(game).solvers
    if games.branch_judge and games.branch_judge not in judges:
        these = ", ".join(judges) or "none"
        raise ValueError(f"{group}branch_judge={games.branch_judge}: of {game.name} there is {these}; or leave it out")
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
    key = f"{group}newest_branch_player={games.newest_branch_player}"
    (newest,) = resolve([games.newest_branch_player], game, settings.search)
    if not newest.lacks_model:
        raise ValueError(f"{key}: it plays the newest network; name a player that asks one, without @DIR")
    if newest.kind.model_input != given:
        raise ValueError(
            f"{key}: its network reads {newest.kind.model_input}, and the networks of this run read {given}; name one "
            f"of {kinds.readers(given, game)}"
        )
    if getattr(newest.settings, "cheat", False):
        raise ValueError(f"{key}: it sees hidden cards; name another player")
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
    first = [name for each in games.without_network.values() for name in each.players]
    names = [*first, games.newest_player, games.earlier_player, *branch, *labels]
    check_decisions(resolve(names, game, settings.search), game)
    at_once, outcomes = min(games.games_per_table, max(shards.values())), _outcomes(games)
    check_deals(game, at_once, f"{group}games_per_table={games.games_per_table}")
    for key, deals in shards.items():
        check_shard(game, deals, games.branches * outcomes, key)


def _outcomes(games: GamesConfig) -> int:
    """Outcomes that a shard may hold of each branch."""
    return games.branch_samples if games.branch_steps else 1
