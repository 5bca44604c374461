"""The presets, run from the first game to the last tournament with a tiny network."""

from pathlib import Path

import pytest

from cluster.files import storage
from cluster.watching.metrics import MetricsLogger
from games.config import GameConfig
from games.registry import make_game
from games.shards import read_shard
from learner.model.runs import newest
from selfplay.checks import check
from selfplay.config import TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.loop import Loop
from selfplay.run_directory import RunDirectory
from tests.games import own_game
from tests.selfplay.material import InProcess
from tests.test_repository import build_command

pytestmark = pytest.mark.slow

TINY = (
    "cluster=local",
    "engine.device=cpu",
    "engine.precision=fp32",
    "engine.cuda_graphs=false",
    "learner.device=cpu",
    "learner.precision=fp32",
    "learner.batch_size=16",
    "learner.num_threads=1",
    "model.n_layer=1",
    "model.n_head=2",
    "model.n_embd=16",
    "model.n_inner=32",
    "selfplay.initial_games=40",
    "selfplay.iterations=2",
    "selfplay.games_per_iteration=12",
    "selfplay.games_per_shard=8",
    "search.go_mcts.num_runs=3",
    "evaluation.curve=[{players:[argmax_val,random],deals:2}]",
    "evaluation.curve_every=1",
)


def test_a_game_of_ones_own_goes_through_the_preset_for_any_game(tmp_path: Path) -> None:
    game = own_game.module().ToyTricks(trump=True)
    config: TrainConfig = build_command(
        "train",
        "experiment=own",
        f"run.dir={tmp_path}/run",
        *TINY,
        "selfplay.iterations=1",
        "selfplay.gate.deals=2",
        "evaluation.final=[{players:[go_mcts,random],deals:1}]",
    )
    config.game = GameConfig("own_game:ToyTricks", {"trump": True})
    check(config)
    run = RunDirectory(config.run.dir)
    run.begin(config)
    with MetricsLogger(run.root, config.game.name) as metrics:
        Loop(config, run, InProcess(config), metrics).run()
    assert Evaluation(config, run).complete()
    assert set(read_shard(f"{run.root}/iterations/000/shards/00000.parquet", game).player) == {"random"}
    assert newest(run.root) in (run.checkpoint(0), run.checkpoint(1))


INITIAL = {
    "hearts_demo": {"random"},
    "skat_paper": {"random", "skat_rules"},
    "skat_demo": {"skat_rules:noise=0.7:explore=0.02"},
    "crew_paper": {"random"},
    "crew_demo": {"crew_rules:explore=0.08"},
    "crew_strong": {"crew_rules:explore=0.08"},
    "skat_strong": {"skat_rules:noise=0.7:explore=0.02"},
}
"""Preset -> who plays iteration 0."""


@pytest.mark.parametrize("experiment", INITIAL)
def test_a_tiny_run_of_the_preset_goes_through_every_stage(experiment: str, tmp_path: Path) -> None:
    name, cooperative = experiment.partition("_")[0], experiment.startswith("crew")
    finals = f"{{players:[argmax_val,{name}_rules],deals:2}},{{players:[go_mcts,argmax_val],deals:1}}"
    config: TrainConfig = build_command(
        "train", f"experiment={experiment}", f"run.dir={tmp_path}/run", *TINY, f"evaluation.final=[{finals}]"
    )
    config.selfplay.pool_size = min(config.selfplay.pool_size, 2)
    if config.selfplay.gate.deals:
        config.selfplay.gate.deals = 5
    config.selfplay.initial.more_games = min(config.selfplay.initial.more_games, 500)
    config.selfplay.teacher_games = min(config.selfplay.teacher_games, 2)
    newest = config.selfplay.newest_player
    check(config)
    run = RunDirectory(config.run.dir)
    run.begin(config)
    with MetricsLogger(run.root, config.game.name) as metrics:
        Loop(config, run, InProcess(config), metrics).run()
    game, evaluation = make_game(name), Evaluation(config, run)
    final, curve = evaluation.final(), [evaluation.curve(iteration) for iteration in range(3)]
    assert evaluation.complete() and all(result for results in curve for result in results)
    seatings = 2 if cooperative else 2**game.num_players - 2
    assert [result.matches for result in final if result] == [2 * seatings, seatings]
    shards = [read_shard(f"{run.root}/iterations/{i:03d}/shards/00000.parquet", game) for i in range(3)]
    assert set(shards[0].player) == INITIAL[experiment]
    assert all(name.startswith(f"{newest}@") for later in shards[1:] for name in later.player)
    if cooperative:  # everybody is the newest network
        assert [set(later.player) for later in shards[1:]] == [{f"{newest}@{i:03d}"} for i in range(2)]
        counted = storage.read_json(run.successes(2))["successes"]
        assert sum(games for games, _ in counted.values()) == 12 and set(counted) == set(game.scenarios)
