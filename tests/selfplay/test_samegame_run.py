"""SameGame through the whole loop: the presets' stages, MCTransformer's own games, tournaments on other boards."""

from pathlib import Path

import numpy as np
import pytest

from cluster.errors import UserError
from cluster.watching.metrics import MetricsLogger
from games.registry import make_game
from games.shards import read_shard
from selfplay.checks import check
from selfplay.config import TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.loop import Loop
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import InProcess
from tests.test_repository import build_command

SMALL = (
    "experiment=samegame_demo",
    "cluster=local",
    "game.options.rows=5",
    "game.options.columns=4",
    "game.options.colours=3",
    "engine.device=cpu",
    "learner.device=cpu",
    "learner.precision=fp32",
    "learner.num_threads=1",
    "learner.batch_size=16",
    "learner.warmup_steps=1",
    "learner.num_epochs=1",
    "model.n_layer=1",
    "model.n_embd=16",
    "model.n_inner=32",
    "model.board_channels=[4]",
    "selfplay.initial.players=[mcts]",
    "selfplay.initial_games=60",
    "selfplay.games_per_iteration=12",
    "selfplay.games_per_shard=20",
)


def config_of(tmp_path: Path, *more: str) -> TrainConfig:
    config: TrainConfig = build_command("train", f"run.dir={tmp_path}/run", *SMALL, *more)
    return config


def test_a_run_learns_from_mcts_and_then_from_its_own_search(tmp_path: Path) -> None:
    finals = "[{players: [policy, random], deals: 6}, {players: [policy, random], deals: 4, game_options: {boards: X}}]"
    config = config_of(
        tmp_path,
        "selfplay.iterations=1",
        'selfplay.newest_player="mctransformer:simulations=3"',
        "learner.augment=true",
        "evaluation.curve=[{players: [policy], deals: 4}]",
        f"evaluation.final={finals.replace('X', 'dominant, dominant_tiles: 9')}",
    )
    check(config)
    run = RunDirectory(config.run.dir)
    run.begin(config)
    with MetricsLogger(run.root, config.game.name) as metrics:
        Loop(config, run, InProcess(config), metrics).run()
    game, evaluation = make_game("samegame", config.game.options), Evaluation(config, run)
    assert evaluation.complete()
    plain, dominant = evaluation.final()
    assert plain is not None and plain.game_options["boards"] == "random" and plain.deals == 6
    assert dominant is not None and dominant.dealt == "boards=dominant, dominant_tiles=9"
    shards = [read_shard(f"{run.root}/iterations/{i:03d}/shards/00000.parquet", game) for i in range(2)]
    assert set(shards[0].player) == {"mcts"} and set(shards[1].player) == {"mctransformer:simulations=3@000"}
    for shard in shards:
        views = game.views(shard.tokens, (shard.tokens != game.vocabulary.eos).sum(axis=1))
        assert np.array_equal(game.view_points(views)[:, 0], shard.points)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluation.final=[{players: [policy], game_options: {penalty: excess}}]"], "penalty may not differ"),
        (["evaluation.final=[{players: [policy], game_options: {boards: even}}]"], "boards=even: no such file"),
        (["evaluation.final=[{players: [policy], game_options: {dominant_tiles: 9}}]"], "boards=dominant alone"),
        (["game=samegame_20"], "a list of 20 deals here, which is for tournaments"),
        (["model.board_channels=[0]"], "model.board_channels=\\[0\\]: must be numbers above 0"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    options = [line for line in SMALL if not (arguments == ["game=samegame_20"] and line.startswith("game."))]
    with pytest.raises(UserError, match=message) as refused:
        config: TrainConfig = build_command("train", f"run.dir={tmp_path}/run", *options, *arguments)
        check(config)
    assert "\n" not in str(refused.value)
