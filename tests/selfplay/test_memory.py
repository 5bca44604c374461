"""Work for which no machine has the memory."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.config import ClusterConfig
from cluster.errors import UserError
from cluster.preflight import Node, Request, preflight
from games.config import GameConfig
from games.hearts.game import HeartsGame
from learner.config import EngineConfig, LearnerConfig, TransformerConfig
from learner.model.checkpoint import save_weights
from learner.task import Learner, TrainingTask
from search.arena.tournament.checks import checked
from search.arena.tournament.config import TournamentConfig
from search.arena.tournament.deals import Deals
from search.arena.tournament.evaluator import DealsTask, Evaluator
from search.arena.values.__main__ import main as values
from search.arena.values.config import ValuesConfig
from selfplay import generate
from selfplay.checks import check
from selfplay.config import GenerateConfig, InitialConfig, TrainConfig
from selfplay.generator import Generator, generator_settings
from selfplay.gpu_memory import gpu_memory
from selfplay.plan import ShardPlan
from selfplay.workers import stages_of
from tests.learner.material import shard_of, tiny_net
from tests.search.material import of_hearts
from tests.selfplay.material import initial, over, settings, tiny_config
from tests.test_repository import build_command

HEARTS = GameConfig("hearts")
ENGINE = EngineConfig(device="cpu")
PAIR = ("random", "hearts_rules")
TOO_MANY = 10**13


def generate_shard(path: Path, plan: ShardPlan) -> None:
    Generator(settings(games_per_table=8)).generate(plan, str(path))


def evaluate(players: Sequence[str], deals: int, table_size: int) -> None:
    Evaluator().play(DealsTask(of_hearts(table_size), tuple(players), "", Deals(1, deals)))


def test_games_and_tournaments_that_do_not_fit_name_what_to_lower(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"^playing games: out of memory \(Unable to allocate .* TiB.*\); lower games_per"
    ):
        generate_shard(tmp_path / "shard", initial(["random"], TOO_MANY))
    with pytest.raises(UserError, match=r"^playing tournaments: out of memory \(Unable to .*\); lower table_size, "):
        evaluate(PAIR, TOO_MANY, 14)


def tournament(asked: str) -> None:
    checked(over(TournamentConfig(HEARTS, list(PAIR)), asked))


def accuracy(asked: str) -> None:
    values(over(ValuesConfig(HEARTS, "kibitz:hearts", engine=ENGINE), asked))


@pytest.mark.parametrize(
    ("measure", "asked", "named"),
    [
        (tournament, "players=['pimc:candidates=10000000000@kibitz:hearts',random]", "pimc:candidates=10000000000@kib"),
        (tournament, "players=[pimc,random]; search.pimc.runs=2000000000", "player 'pimc': one decision"),
        (tournament, "players=['go_mcts:num_runs=100000000000@kibitz:hearts',random]", "go_mcts:num_runs=1"),
        (tournament, f"deals={10**8}; table_size={10**9}", "table_size=1"),
        (tournament, "seating=triples", "seating=triples"),
        (accuracy, "decisions=100000000", "decisions=100000000"),
        (accuracy, "player='go_mcts:num_runs=100000000000'", "go_mcts:num_runs=1"),
        (accuracy, f"worlds=1000000; table_size={10**9}", "table_size=1"),
    ],
)
def test_what_is_too_large_to_be_measured_here_is_refused_by_its_key(measure, asked: str, named: str) -> None:
    with pytest.raises((UserError, ValueError), match=re.escape(named)):
        measure(asked)


def test_a_network_that_does_not_fit_names_what_to_lower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = shard_of(HeartsGame(), tmp_path, 8)
    model = TransformerConfig(n_layer=1, n_head=2, n_embd=2**22)
    task = TrainingTask(HEARTS, model, LearnerConfig(), (shard,), str(tmp_path / "out"), None, 1)
    monkeypatch.setattr("learner.task.check_size", lambda *asked: None)  # one that let it through
    with pytest.raises(UserError, match=r"^training: out of memory \(.*allocate.*\); lower learner\.batch_size, "):
        Learner().train(task)


def test_the_machine_that_does_the_work_says_what_does_not_fit_and_no_other(tmp_path: Path) -> None:
    """A small head node may command machines of any size."""
    many, elsewhere = "pimc:worlds=100000000", ClusterConfig("existing", "10.0.0.1:6379")
    refused = rf"^player '{many}': one decision may take .* GiB, and this machine has .*; ask for fewer worlds"
    run = tiny_config(str(tmp_path / "run"))
    run.selfplay.initial = InitialConfig([many])
    run.learner.batch_size = run.selfplay.games_per_shard = TOO_MANY
    tournament = TournamentConfig(HEARTS, [many, "random"], deals=TOO_MANY, table_size=TOO_MANY)
    for command in (
        lambda where: check(replace(run, cluster=where)),
        lambda where: checked(replace(tournament, cluster=where)),
    ):
        command(elsewhere)
        with pytest.raises(UserError, match=refused):
            command(ClusterConfig("local"))
    with pytest.raises(UserError, match=refused):
        generate_shard(tmp_path / "shard", initial([many], 1))
    with pytest.raises(UserError, match=refused):
        evaluate((many, "random"), 1, 4)


def test_what_actors_may_take_of_a_gpu_is_added_up_before_a_run() -> None:
    """Ten networks of one shape share a cache, so that two generators fit a GPU of 24 GB beside a learner."""
    wide = build_command("train", "experiment=hearts_paper", "cluster=node8")
    taken, node = gpu_memory(wide), Node("a", 40, 8, 64_000, 81_559)
    playing, training, measuring = requests(wide)
    assert (playing.gpu_mb, training.gpu_mb, measuring.gpu_mb) == tuple(
        taken[stage] for stage in ("generators", "learner", "evaluators")
    )
    for players in (playing, measuring):
        preflight([players, training], [node])
    with pytest.raises(UserError, match=r"^GPU memory: 2 generators of about .* engine\.cuda_graphs=false"):
        preflight([playing, training], [replace(node, gpu_mb=10_000)])
    preflight([playing, training], [replace(node, gpu_mb=24_000)])
    named = "selfplay.labels='argmax_val@a'; selfplay.branch_values='argmax_val@b'"  # whose shapes nobody knows
    assert gpu_memory(over(wide, named))["generators"] > taken["generators"] + 2 * wide.engine.cache_mb
    for less in ("selfplay.iterations=1", "selfplay.pool_size=4", "engine.cuda_graphs=false", "engine.cache_mb=2000"):
        assert gpu_memory(over(wide, less))["generators"] < taken["generators"], less
    for none in ("cluster.generator_gpus=0", "engine.device=cpu"):
        assert gpu_memory(over(wide, none))["generators"] == 0
    assert gpu_memory(over(wide, "cluster.learner_gpus=0; cluster.generator_gpus=0; cluster.evaluator_gpus=0")) == {}


def test_what_shards_without_a_run_take_of_a_gpu_is_added_up_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, began = HeartsGame(), list[Request]()
    for seed in (1, 2):
        save_weights(tmp_path / str(seed), tiny_net(game, seed), game)
    networks = f"checkpoints=[{tmp_path}/1,{tmp_path}/2]; engine.cache_mb=2560"
    config = over(GenerateConfig(game=HEARTS, out=str(tmp_path / "out")), f"{networks}; cluster.generator_gpus=0.5")
    monkeypatch.setattr(generate, "_play", lambda config, stage, missing: began.append(stage.request))
    generate.main(config)
    generate.main(over(config, "cluster.generator_gpus=0"))
    assert 2560 < began[0].gpu_mb < 2560 + 1000 and began[1].gpu_mb == 0  # one cache for both


def requests(config: TrainConfig) -> list[Request]:
    """Of generators, learner and evaluators."""
    return [stage.request for stage in stages_of(config.cluster, generator_settings(config), gpu_memory(config))]
