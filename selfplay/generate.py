"""Play shards without a run: ``python -m selfplay.generate out=DIR games=10000 [checkpoints=[DIR,...]]``.

Without checkpoints the model-free players of ``initial`` play. With one, every seat is ArgmaxVal* with it; with
several, one seat is ArgmaxVal* with the last, against imitations of all of them (paper 001, section 6.1). The same
command again plays the shards that are missing.
"""

import sys
from collections.abc import Mapping

from cluster import cli
from cluster.actors.connection import connect
from cluster.actors.stages import Stage, Stages
from cluster.errors import UserError, blaming_input
from cluster.files import storage
from cluster.preflight import check_actors
from cluster.watching.progress import Progress
from games.registry import make_game
from learner.config import FREE_ENGINE_KEYS
from learner.devices import check_devices, on_lent_device
from search.roster.registry import check_networks, resolve, settled
from selfplay.config import GenerateConfig
from selfplay.generator import GeneratorSettings
from selfplay.gpu_memory import playing_mb
from selfplay.plan import Network, Seating, ShardPlan, check_shards, split
from selfplay.players import check_memory, check_players
from selfplay.recorded import SETTINGS_FILE, check_recorded, plain, record_settings, recorded_settings
from selfplay.workers import generators, play_shards

_FREE_TO_CHANGE = frozenset(
    [
        "out",
        "games",
        "games_per_table",
        "cluster",
        "game.options.boards_digest",
        *(f"engine.{key}" for key in FREE_ENGINE_KEYS),
    ]
)
"""Keys in which two commands on one directory may differ: they change the games by rounding errors at most."""


def main(config: GenerateConfig) -> None:
    """Play the missing shards."""
    with blaming_input():
        config = settled(config)
    check_actors(config.cluster.place)
    check_devices(config.cluster, generator=config.engine)
    settings = GeneratorSettings(
        config.game,
        config.search,
        on_lent_device(config.engine, config.cluster.generator_gpus),
        config,
    )
    with blaming_input():
        game = make_game(config.game.name, config.game.options)
        (newest,) = resolve([config.newest_player], game, config.search)
        memory = check_players(settings, game, newest.kind.model_input, config.checkpoints)
        if config.cluster.here:
            key = f"games_per_shard={config.games_per_shard}"
            check_memory(settings, game, {key: min(config.games_per_shard, config.games)})
        networks = check_networks([newest.with_network(path) for path in config.checkpoints], game)
    storage.check_writable(config.out)
    _check_out(config)
    plans = [(plan, f"{config.out}/{plan.name}") for plan in planned(config)]
    there = storage.existing(path for _, path in plans)
    check_shards((plan, path) for plan, path in plans if path in there)
    missing = [(plan, path) for plan, path in plans if path not in there]
    if missing:
        for line in memory:
            print(line, file=sys.stderr)
        shapes = sum(network not in networks[:i] for i, network in enumerate(networks))
        gpu_mb = playing_mb(networks, settings.engine, shapes)
        _play(config, generators(config.cluster, settings, gpu_mb), missing)
    print(f"{config.out}: {config.games:,} games in {len(plans)} shards")


def planned(config: GenerateConfig) -> list[ShardPlan]:
    """The shards of a command."""
    networks = tuple(Network(f"{i:03d}", path) for i, path in enumerate(config.checkpoints))
    seating = (Seating.INITIAL, Seating.EVERYBODY, Seating.POPULATION)[min(len(networks), 2)]
    pattern = ShardPlan(len(networks), 0, 0, seating, config.initial, networks, config.seed)
    return split(config.games, config.games_per_shard, pattern)


def _check_out(config: GenerateConfig) -> None:
    """``UserError`` where ``out`` holds shards that were made with other settings."""
    path = f"{config.out}/{SETTINGS_FILE}"
    theirs = recorded_settings(path)
    if theirs is None:
        if any(name.endswith(".parquet") for name in storage.list_names(config.out)):
            raise UserError(f"{config.out}: holds shards, and no {SETTINGS_FILE} that says how; take another out")
        return
    to = "go on, or another out"
    check_recorded(path, theirs, plain(config), _FREE_TO_CHANGE, "these shards were made", to)
    games, before = config.games, theirs["games"]
    if games < before or (games > before and before % config.games_per_shard):
        raise UserError(
            f"{path}: there are games={before}, the command says {games}; more can be added only behind full shards, "
            "so take another out"
        )


def _play(config: GenerateConfig, stage: Stage, missing: list[tuple[ShardPlan, str]]) -> None:
    total = sum(plan.num_games for plan, _ in missing)
    with (
        connect(config.cluster),
        Stages(config.cluster, [stage]) as stages,
        Progress("playing", total, "games") as progress,
    ):
        stages.check()
        record_settings(f"{config.out}/{SETTINGS_FILE}", config)
        done = 0

        def show(under_way: Mapping[str, float]) -> None:
            progress.update(done, {"decisions": int(under_way.get("decisions", 0))})

        for report in play_shards(stages, missing, show):
            done += report.games
            show({})


if __name__ == "__main__":
    cli.run("generate", GenerateConfig, main, output_key="out")
