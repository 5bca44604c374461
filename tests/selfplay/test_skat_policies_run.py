"""A run with the networks of paper 004: games of a population, training, tournaments, and on with its own games."""

from pathlib import Path

from cluster.files import storage
from cluster.watching.metrics import MetricsLogger
from games.registry import make_game
from games.shards import read_shard
from selfplay.checks import check
from selfplay.config import TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.loop import Loop
from selfplay.run_directory import RunDirectory
from selfplay.verify import main as verify
from tests.selfplay.material import InProcess
from tests.test_repository import build_command

SMALL = (
    "cluster=local",
    "engine.device=cpu",
    "learner.device=cpu",
    "learner.batch_size=16",
    "learner.max_steps=10",
    "learner.num_threads=1",
    "model.hidden=[16,16,16,16,16]",
    "selfplay.initial_games=12000",  # fewer hold out no null discards
    "selfplay.initial_games_per_shard=6000",
    "selfplay.games_per_iteration=40",
    "selfplay.games_per_shard=40",
    "selfplay.replay_games=13000",
    "selfplay.iterations=1",
    "evaluation.final=[{players: [skat_policies, skat_rules], deals: 2}]",
)


def test_the_preset_learns_from_a_population_and_goes_on_with_its_own_games(tmp_path: Path) -> None:
    config: TrainConfig = build_command("train", "experiment=skat_policies_demo", f"run.dir={tmp_path}/run", *SMALL)
    check(config)
    run = RunDirectory(config.run.dir)
    run.begin(config)
    with MetricsLogger(run.root, config.game.name) as metrics:
        Loop(config, run, InProcess(config), metrics).run()
    game = make_game("skat")
    shards = [read_shard(f"{run.root}/iterations/{i:03d}/shards/00000.parquet", game) for i in range(2)]
    assert set(shards[0].player) == set(config.selfplay.initial.players) and len(shards[0]) == 3 * 6000
    assert set(shards[1].player) == {"skat_policies:method=di_s@000"}
    figures = storage.read_json(run.metrics(1))
    assert figures["train/bid.decisions"] > 11_000 and 0 < figures["train/card_suit_soloist.test_accuracy"] < 1
    (final,) = Evaluation(config, run).final()
    assert final and final.matches == 12 and verify([run.root]) == 0
