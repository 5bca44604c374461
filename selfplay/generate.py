"""Play shards alone: ``python -m selfplay.generate out=DIR games=10000 [checkpoints=[DIR,...]]``.

Without checkpoints the model-free players of ``initial`` play. With one, every seat is ArgmaxVal* with it; with
several, one seat is ArgmaxVal* with the last, against imitations of all of them (paper 001, section 6.1). Shards
that are there already stay.
"""

import sys
from dataclasses import dataclass, field

from omegaconf import MISSING

from cluster import cli, storage
from cluster.config import ClusterConfig
from cluster.connection import connect
from cluster.errors import blaming_input
from cluster.progress import Progress
from cluster.validation import at_least
from games.config import GameConfig
from games.registry import make_game
from learner.config import EngineConfig
from learner.model.checkpoint import load_weights
from search.config import SearchConfig
from search.players.registry import check_cache, check_names
from selfplay.config import InitialConfig
from selfplay.generator import GeneratorSettings
from selfplay.plan import Network, Seating, ShardPlan, split
from selfplay.workers import GENERATE, RayWorkers, check_devices


@dataclass
class GenerateConfig:
    """One set of shards."""

    game: GameConfig = MISSING
    out: str = MISSING
    """Directory of the shards."""
    games: int = 10_000
    games_per_shard: int = 10_000
    games_per_table: int = 512
    seed: int = 0
    initial: InitialConfig = field(default_factory=InitialConfig)
    checkpoints: list[str] = field(default_factory=list)
    """Networks that play, oldest first."""
    search: SearchConfig = field(default_factory=SearchConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    def __post_init__(self) -> None:
        at_least("", self, 1, "games", "games_per_shard", "games_per_table")
        at_least("", self, 0, "seed")


def main(config: GenerateConfig) -> None:
    """Play the shards that are missing."""
    check_devices(config.cluster, config.engine, evaluating=False)
    with blaming_input():
        game = make_game(config.game.name, config.game.options)
        check_names(list(config.initial.players), game, with_model=False)
        memory = []
        for path in config.checkpoints:
            arch = load_weights(storage.local_copy(path), game).arch
            key = f"games_per_table={config.games_per_table}"
            memory.append(check_cache(arch, config.engine, config.games_per_table * game.num_players, key))
    networks = tuple(Network(f"{i:03d}", path) for i, path in enumerate(config.checkpoints))
    seating = (Seating.INITIAL, Seating.EVERYBODY, Seating.POPULATION)[min(len(networks), 2)]
    pattern = ShardPlan(len(networks), 0, 0, seating, config.initial, networks, config.seed)
    plans = [(plan, f"{config.out}/{plan.name}") for plan in split(config.games, config.games_per_shard, pattern)]
    missing = [(plan, path) for plan, path in plans if not storage.exists(path)]
    if missing:
        print(*memory, sep="\n", end="\n" if memory else "", file=sys.stderr)
        _play(config, missing)
    print(f"{config.out}: {config.games:,} games in {len(plans)} shards")


def _play(config: GenerateConfig, missing: list[tuple[ShardPlan, str]]) -> None:
    generator = GeneratorSettings(config.game, config.search, config.engine, config.games_per_table)
    total = sum(plan.num_games for plan, _ in missing)
    with (
        connect(config.cluster),
        RayWorkers(config.cluster, generator) as workers,
        Progress("playing", total, "games") as progress,
    ):
        workers.check(GENERATE)
        done = 0
        for report in workers.generate(missing):
            done += report.games
            progress.update(done)


if __name__ == "__main__":
    cli.run("generate", GenerateConfig, main, output_key="out")
