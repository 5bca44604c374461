"""Play shards alone: ``python -m selfplay.generate out=DIR games=10000 [checkpoints=[DIR,...]]``.

Without checkpoints the model-free players of ``initial`` play. With one, every seat is ArgmaxVal* with it; with
several, one seat is ArgmaxVal* with the last, against imitations of all of them (paper 001, section 6.1). Shards
that are there already stay.
"""

import sys
from collections.abc import Mapping

from cluster import cli, storage
from cluster.config import ClusterConfig
from cluster.connection import connect
from cluster.errors import blaming_input
from cluster.progress import Progress
from games.registry import make_game
from selfplay.config import GenerateConfig
from selfplay.generator import GeneratorSettings, check_players
from selfplay.plan import Network, Seating, ShardPlan, split
from selfplay.workers import GENERATE, RayWorkers, check_devices, on_lent_device


def main(config: GenerateConfig) -> None:
    """Play the shards that are missing."""
    check_devices(config.cluster, config.engine, evaluating=False)
    settings = GeneratorSettings(
        config.game,
        config.search,
        on_lent_device(config.engine, config.cluster.generator_gpus),
        config.games_per_table,
        config.newest_player,
        config.earlier_player,
        config.branches,
        config.branch_player,
    )
    with blaming_input():
        game = make_game(config.game.name, config.game.options)
        memory = check_players(settings, config.initial, game, config.checkpoints)
    networks = tuple(Network(f"{i:03d}", path) for i, path in enumerate(config.checkpoints))
    seating = (Seating.INITIAL, Seating.EVERYBODY, Seating.POPULATION)[min(len(networks), 2)]
    pattern = ShardPlan(len(networks), 0, 0, seating, config.initial, networks, config.seed)
    plans = [(plan, f"{config.out}/{plan.name}") for plan in split(config.games, config.games_per_shard, pattern)]
    missing = [(plan, path) for plan, path in plans if not storage.exists(path)]
    if missing:
        for line in memory:
            print(line, file=sys.stderr)
        _play(config.cluster, settings, missing)
    print(f"{config.out}: {config.games:,} games in {len(plans)} shards")


def _play(cluster: ClusterConfig, settings: GeneratorSettings, missing: list[tuple[ShardPlan, str]]) -> None:
    total = sum(plan.num_games for plan, _ in missing)
    with (
        connect(cluster),
        RayWorkers(cluster, settings) as workers,
        Progress("playing", total, "games") as progress,
    ):
        workers.check(GENERATE)
        done = 0

        def show(under_way: Mapping[str, float]) -> None:
            progress.update(done, {"decisions": int(under_way.get("decisions", 0))})

        for report in workers.generate(missing, show):
            done += report.games
            show({})


if __name__ == "__main__":
    cli.run("generate", GenerateConfig, main, output_key="out")
