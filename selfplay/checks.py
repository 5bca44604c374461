"""What can be known of a run before any of its work: whatever would fail later fails now."""

from cluster.errors import UserError, blaming_input
from cluster.preflight import check_directory
from cluster.watching.trackers import check_tracker
from games.game import Game
from games.registry import make_game
from learner.devices import check_devices, on_lent_device
from learner.model.architecture import architecture
from learner.model.checkpoint import load_weights
from search.players.engines import check_cache
from search.players.registry import check_names, own_checkpoints
from search.tournament.matches import seatings
from selfplay.config import TrainConfig
from selfplay.generator import GeneratorSettings, check_players

_ROW_BYTES, _BRANCH_BYTES = 120, 60
"""Disk space of a sequence in a shard, and of a decision of it with branches, generously."""


def check(config: TrainConfig) -> list[str]:
    """Whatever can be known to fail later fails now. Returns what the tables will take in memory."""
    check_tracker(config.tracker)
    learners = [learner for learner in (config.initial_learner, config.learner) if learner]
    for learner in learners:
        check_devices(config.cluster, generator=config.engine, evaluator=config.engine, learner=learner)
        if learner.branch_weight and not config.selfplay.branches:
            raise UserError(f"learner.branch_weight={learner.branch_weight}: selfplay.branches=0 makes none; raise it")
    if config.selfplay.branches and not any(learner.branch_weight for learner in learners):
        raise UserError(
            f"selfplay.branches={config.selfplay.branches}: no network learns from them; give them a "
            "learner.branch_weight or initial_learner.branch_weight, or set branches to 0"
        )
    with blaming_input():
        game = make_game(config.game.name, config.game.options)
        _check_rows(config, game)
        memory = _check_memory(config, game) + check_players(generator_settings(config), config.selfplay.initial, game)
        for match in (*config.evaluation.curve, *config.evaluation.final):
            check_names(match.players, game)
            seatings(len(match.players), game.num_players)
            for checkpoint in own_checkpoints(match.players):
                load_weights(checkpoint, game)
        for utility in (config.search.argmax_val.utility, config.search.go_mcts.utility):
            game.outcomes.utility(utility)
    games = config.selfplay.initial_games + config.selfplay.iterations * config.selfplay.games_per_iteration
    row_bytes = _ROW_BYTES + _BRANCH_BYTES * config.selfplay.branches
    free_mb = 100 + games * game.num_players * row_bytes // 2**20
    check_directory(config.run.dir, in_job=config.cluster.place == "job", free_mb=free_mb)
    return memory


def _check_rows(config: TrainConfig, game: Game) -> None:
    """``ValueError`` for more sequences than the games of an iteration can ever give."""
    selfplay, first = config.selfplay, config.initial_learner or config.learner
    later = max(selfplay.games_per_iteration, selfplay.replay_games) if selfplay.iterations else selfplay.initial_games
    for key, learner, games in (("initial_learner", first, selfplay.initial_games), ("learner", config.learner, later)):
        if learner.min_rows > games * game.num_players:
            raise ValueError(
                f"{key}.min_rows={learner.min_rows}: {games} games give at most {games * game.num_players} sequences"
            )


def _check_memory(config: TrainConfig, game: Game) -> list[str]:
    """What tables of games take in every actor; ``ValueError`` if it is more than ``engine.cache_mb``."""
    arch, seats = architecture(game, config.model), game.num_players
    generating = on_lent_device(config.engine, config.cluster.generator_gpus)
    evaluating = on_lent_device(config.engine, config.cluster.evaluator_gpus)
    games, matches = config.selfplay.games_per_table, config.evaluation.table_size
    return [
        check_cache(arch, generating, games * seats, f"selfplay.games_per_table={games}"),
        check_cache(arch, evaluating, matches * seats, f"evaluation.table_size={matches}"),
    ]


def generator_settings(config: TrainConfig) -> GeneratorSettings:
    """What the generators of a run are told."""
    return GeneratorSettings(
        game=config.game,
        search=config.search,
        engine=on_lent_device(config.engine, config.cluster.generator_gpus),
        games_per_table=config.selfplay.games_per_table,
        newest_player=config.selfplay.newest_player,
        earlier_player=config.selfplay.earlier_player,
        branches=config.selfplay.branches,
        branch_player=config.selfplay.branch_player,
    )
