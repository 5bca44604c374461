"""Checks before a run starts, so that bad settings fail at once: a list of stages, each beside what it checks."""

from collections.abc import Callable

from cluster.errors import blaming_input
from cluster.fields import flat
from cluster.files.uris import is_remote
from cluster.preflight import check_actors, check_directory
from cluster.watching.trackers import check_tracker
from games.game import Game
from games.registry import make_game
from learner import kinds as networks
from learner.devices import check_devices, on_lent_device
from learner.network_kind import NetworkKind
from learner.task import check_size
from search.roster.engines import check_cache
from selfplay import evaluation, existing_shards, first_network, players, targets
from selfplay.config import TrainConfig
from selfplay.generator import generator_settings
from selfplay.shard_sizes import idle_generators, shard_size

_ROW_BYTES, _BRANCH_BYTES = 120, 60
"""Upper estimates of the disk space of a sequence in a shard, and of one of its decisions with branches."""

Stage = Callable[[TrainConfig, Game, NetworkKind], list[str]]
"""Raises ``ValueError`` or ``UserError``, one line, for settings that cannot work; returns notes for the user."""


def check(config: TrainConfig) -> list[str]:
    """Run all stages; returns notes for the user."""
    check_tracker(config.tracker)
    check_actors(config.cluster.place)
    for learner in (config.first_learner, config.learner):
        check_devices(config.cluster, generator=config.engine, evaluator=config.engine, learner=learner)
    with blaming_input():
        game = make_game(config.game.name, config.game.options)
        kind = networks.find(config.model.kind)
        return [note for stage in STAGES for note in stage(config, game, kind)]


def _network(config: TrainConfig, game: Game, kind: NetworkKind) -> list[str]:
    """``ValueError`` for settings that this kind of network cannot train with."""
    kind.check_training(config.cluster.learners, learner=config.learner, initial_learner=config.first_learner)
    if not kind.whole_deals:
        return []
    whole = f"model.kind={kind.name}: a {kind.title} learns from deals of which every seat's sequence is kept"
    if config.selfplay.population and config.selfplay.iterations > 1:
        raise ValueError(f"{whole}; give selfplay.population=false")
    first = config.selfplay.initial
    if set(first.keep) not in (set(), set(first.players)):
        raise ValueError(f"{whole}; give selfplay.initial.keep=[]")
    return []


def _players(config: TrainConfig, game: Game, kind: NetworkKind) -> list[str]:
    """The players of the run's games; notes on the memory that their networks take."""
    return players.check_players(generator_settings(config), game, kind.input, group="selfplay.")


def _memory(config: TrainConfig, game: Game, kind: NetworkKind) -> list[str]:
    """Notes on the network's size and the memory of tables in every actor; ``ValueError`` if that exceeds
    ``engine.cache_mb``."""
    if config.cluster.here:
        _check_here(config, game)
    arch, said = kind.architecture(game, config.model), [kind.note()] if kind.unused else []
    said += kind.without_effect(config.learner)
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
    larger = selfplay.games_per_iteration
    larger = larger if selfplay.initial_games_per_shard else max(larger, selfplay.first_games)
    generators, table = config.cluster.generators, selfplay.games_per_table
    size = selfplay.games_per_shard or shard_size(larger, generators, table)
    shards = {
        f"selfplay.{key}={size}": min(size, games)
        for key, size, games in (
            ("initial_games_per_shard", selfplay.initial_games_per_shard, selfplay.first_games),
            ("games_per_shard", size, larger),
        )
        if games
    }
    players.check_memory(generator_settings(config), game, shards, "selfplay.")
    check_size(game, config.model)


def _tracker(config: TrainConfig, game: Game, kind: NetworkKind) -> list[str]:
    """A note where a run behind a URI has no TensorBoard files, which grow by appending."""
    if config.tracker != "tensorboard" or not is_remote(config.run.dir):
        return []
    return [
        "tracker=tensorboard writes nothing behind a URI; metrics.jsonl and kibitz report have the values, and "
        "tracker=wandb or mlflow works there"
    ]


def _work(config: TrainConfig, game: Game, kind: NetworkKind) -> list[str]:
    """A note where an iteration has fewer shards than there are generators."""
    selfplay, generators = config.selfplay, config.cluster.generators
    idle = idle_generators(selfplay.games_per_iteration, selfplay.games_per_shard, generators)
    if not idle or not selfplay.iterations:
        return []
    return [
        f"cluster.generators={generators}: {idle} of them have no shard to play in an iteration of "
        f"{selfplay.games_per_iteration:,} games and selfplay.games_per_shard={selfplay.games_per_shard}; with 0 "
        "shards are cut for all"
    ]


def _directory(config: TrainConfig, game: Game, kind: NetworkKind) -> list[str]:
    """The run directory, and the disk space for the shards."""
    selfplay = config.selfplay
    games = selfplay.first_games + selfplay.iterations * selfplay.games_per_iteration
    row_bytes = _ROW_BYTES + _BRANCH_BYTES * selfplay.branches * players.outcomes_of_branches(selfplay)
    free_mb = 100 + games * game.num_players * row_bytes // 2**20
    check_directory(config.run.dir, in_job=config.cluster.place == "job", free_mb=free_mb)
    return []


def _first_learner(config: TrainConfig, game: Game, kind: NetworkKind) -> list[str]:
    """Note on how iteration 0's training differs: ``learner`` on the command line does not change ``initial_learner``
    of a preset."""
    others = [f"{key}={value}" for key, value in flat(config.initial_learner).items()]
    trains = others and not config.selfplay.first_network
    return [f"iteration 0 trains with initial_learner: {', '.join(others)}"] if trains else []


def _replay(config: TrainConfig, game: Game, kind: NetworkKind) -> list[str]:
    """A note where ``replay_from`` leaves nothing to learn from again."""
    selfplay = config.selfplay
    if not 0 < selfplay.iterations <= selfplay.replay_from:
        return []
    last = f"selfplay.iterations={selfplay.iterations}"
    return [f"selfplay.replay_from={selfplay.replay_from}: with {last} no network learns from earlier deals"]


STAGES: tuple[Stage, ...] = (
    _network,
    targets.check,
    _players,
    _memory,
    first_network.check,
    existing_shards.check,
    evaluation.check,
    _tracker,
    _work,
    _directory,
    _first_learner,
    _replay,
)
