"""The presets: all of them compose and could be run, those of papers have the papers' numbers, some are played from the
first game to the last tournament with a tiny network."""

from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster import cli
from cluster.errors import UserError
from cluster.files import storage
from games.config import GameConfig
from games.registry import make_game
from games.shards import Sequences, read_shard
from learner import kinds
from learner.model.architecture import architecture
from learner.model.runs import newest
from learner.q_network.kind import KIND as Q_KIND
from search.roster.registry import resolve
from selfplay.checks import _tracker, check
from selfplay.config import DoctorConfig, GateConfig, TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.report.contents import read_run
from selfplay.report.page import sample
from selfplay.run_directory import RunDirectory
from selfplay.targets import read_by
from selfplay.verify import main as verify
from tests.games import own_game
from tests.selfplay.material import over, run
from tests.test_repository import CONF, build_command

# ---- all of them


@cache
def preset(experiment: str, *more: str) -> TrainConfig:
    """The configuration of a preset on one machine; not to be changed."""
    config: TrainConfig = build_command("train", f"experiment={experiment}", "cluster=local", *more)
    return config


WIDE = ("crew_paper", "hearts_paper", "skat_paper")
"""Presets whose tables are for GPUs."""


@pytest.mark.parametrize("experiment", sorted(path.stem for path in CONF.glob("experiment/*.yaml")))
def test_every_preset_could_be_run_on_one_machine(experiment, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    narrower = ["selfplay.games_per_table=256"] if experiment in WIDE else []  # as its first lines say
    config = preset(experiment, *narrower)
    assert (config.cluster.mode, config.cluster.learner_gpus, config.cluster.generators) == ("auto", 0, 2)
    if config.selfplay.initial.shards:  # which a user has to make first
        return
    check(config)
    if config.model.kind == "transformer" and experiment.startswith(("hearts", "skat", "crew")):
        players = {player.split(":")[0] for match in config.evaluation.final for player in match.players}
        assert players >= {"go_mcts", "argmax_val"}


@pytest.mark.parametrize("iterations", [0, 1])
def test_a_preset_whose_later_iterations_learn_from_branches_may_end_with_the_first(iterations: int) -> None:
    config = over(preset("crew_demo"), f"selfplay.iterations={iterations}")
    check(config)
    assert read_by(config, "branches") == (False, iterations > 0)


@pytest.mark.parametrize("given", [".initial.players=[skat_rules]", "={initial: {players: [skat_rules]}}"])
def test_players_on_the_command_line_are_all_that_play(given: str) -> None:
    selfplay = preset("skat_paper", f"selfplay{given}").selfplay
    assert selfplay.initial.players == ["skat_rules"]
    assert selfplay.iterations == 20  # a group that is given in part keeps its other keys


def test_one_key_loses_a_gate_and_one_gives_a_gate() -> None:
    assert preset("alphahearts_paper", "selfplay.gate.deals=0").selfplay.gate.deals == 0
    assert preset("hearts_paper", "selfplay.gate={deals: 7}").selfplay.gate == GateConfig(7)
    assert preset("alphahearts_paper", "selfplay.gate.deals=7").selfplay.gate == GateConfig(7, 0.5, "pairs")


def test_settings_of_the_learner_hold_for_iteration_0_too_but_for_what_the_experiment_sets() -> None:
    config = preset("hearts_teacher", "learner=paper", "learner.batch_size=7")
    first = config.first_learner
    assert (first.batch_size, first.num_epochs, first.loss.outcome_weight) == (7, 3, 0.1)
    assert (first.learning_rate, first.warmup_steps) == (2e-4, 100)
    assert (config.learner.learning_rate, config.learner.warmup_steps) == (1e-4, 0)
    assert config.initial_learner == {"learning_rate": 2e-4, "warmup_steps": 100, "policy": {"kind": "played"}}
    said = "iteration 0 trains with initial_learner: learning_rate=0.0002, warmup_steps=100, policy.kind=played"
    assert check(config)[-1] == said
    for same in ("rate_factor=1", "learning_rate=2e-3"):  # the learner's
        config = preset("hearts_teacher", f"initial_learner.{same}")
        assert config.initial_learner == {"warmup_steps": 100, "policy": {"kind": "played"}}


def test_generators_without_a_shard_and_a_tracker_that_writes_nothing_are_noted() -> None:
    said = (
        "cluster.generators=9: 7 of them have no shard to play in an iteration of 3,000 games and "
        "selfplay.games_per_shard=1500; with 0 shards are cut for all"
    )
    assert said in check(preset("hearts_demo", "cluster.generators=9"))
    for none in ("cluster.generators=2", "selfplay.games_per_shard=0", "selfplay.iterations=0"):
        assert not [note for note in check(preset("hearts_demo", none)) if "no shard to play" in note]
    far = preset("hearts_demo", "run.dir=s3://bucket/run")
    game, kind = make_game("hearts"), kinds.find("transformer")
    assert ["tracker=tensorboard writes nothing" in note for note in _tracker(far, game, kind)] == [True]
    assert _tracker(preset("hearts_demo"), game, kind) == []


# ---- numbers of papers

GO_MCTS = {"threshold": 0.05, "illegal_penalty": 0.01}
BOTH = {"initial_games": 4_000_000, "games_per_iteration": 500_000}
PAPERS: dict[tuple[str, ...], list[tuple[str, dict[str, Any]]]] = {
    ("hearts_paper",): [
        # Paper 001, section 6.1.
        ("selfplay.initial", {"players": ["random"]}),
        ("selfplay", {**BOTH, "iterations": 10, "pool_size": 0}),
        # Tables 4 and 5, with GELU and no attention dropout in the code.
        ("model", {"n_layer": 8, "n_head": 8, "n_embd": 256, "n_inner": 1024, "embd_pdrop": 0.05, "resid_pdrop": 0.05}),
        ("model", {"initializer_range": 0.02, "layer_norm_epsilon": 1e-5, "outcome_init": "normal"}),
        # Table 6 and section 9.1; it names no weight decay.
        ("learner", {"learning_rate": 1e-4, "schedule": "linear", "num_epochs": 3, "weight_decay": 0.0}),
        ("learner.loss", {"observation_weight": 0.9, "outcome_weight": 0.1, "outcome_positions": 0}),
        # Section 9.3.
        ("search.go_mcts", {**GO_MCTS, "num_runs": 100, "num_steps": 2, "exploration": 0.4}),
        ("search.argmax_val", {"threshold": 0.05}),
    ],
    ("skat_paper",): [
        # Section 6.2: all permutations of two players.
        ("selfplay.initial", {"players": ["random", "skat_rules"], "keep": []}),
        ("selfplay", {**BOTH, "iterations": 20, "pool_size": 10}),
        ("search.go_mcts", {**GO_MCTS, "num_runs": 100, "num_steps": 5, "exploration": 0.3}),
        ("search.argmax_val", {"threshold": 0.05}),
    ],
    ("hearts_teacher", "search=crew"): [
        ("search.go_mcts", {**GO_MCTS, "num_runs": 50, "num_steps": 5, "exploration": 0.1, "threshold": 0.01}),
        ("search.argmax_val", {"threshold": 0.05}),
    ],
    ("alphahearts_paper",): [
        # Paper 002, "Multi-agent Reinforcement Learning": four copies play 64 games an epoch, data stay for 3 rounds.
        ("selfplay", {"population": False, "games_per_iteration": 64, "replay_games": 3 * 64, "branches": 0}),
        ("learner", {"learning_rate": 1e-3, "betas": [0.3, 0.999], "weight_decay": 0.0}),
        # "Further Work": the cutoff for swapping to a new network, batch size and frequency, gamma.
        ("selfplay.gate", {"margin": 0.5}),
        ("learner", {"batch_size": 32}),
        ("model", {"states_per_step": 4, "discount": 0.99}),
        ("learner.loss", {"branch_weight": 0.0}),
        ("first_learner.loss", {"branch_weight": 0.0}),
        # "Huber loss", linear from 1 as everywhere, of "the total proportion of points avoided": from 26 points.
        ("model", {"huber_delta": 26.0}),
    ],
}
"""Preset, and what is given beside it -> its numbers in the papers, by group."""


@pytest.mark.parametrize("given", PAPERS)
def test_presets_of_papers_have_the_numbers_of_the_papers(given: tuple[str, ...]) -> None:
    for name, numbers in PAPERS[given]:
        group = attrgetter(name)(preset(*given))
        found = {key: getattr(group, key) for key in numbers}
        assert {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()} == numbers


def test_papers_share_learners_and_games_but_for_what_they_say() -> None:
    hearts, skat, alphahearts = (preset(f"{name}_paper") for name in ("hearts", "skat", "alphahearts"))
    assert hearts.first_learner == hearts.learner == skat.learner == skat.first_learner and hearts.model == skat.model
    assert hearts.game.options == {**preset("hearts_demo").game.options, "moon": "shooter_minus_26"}
    assert architecture(make_game("hearts"), hearts.model).n_positions == 75
    # Paper 002 has no passing, and "no player may lead with hearts" is out of its scope.
    game = make_game(alphahearts.game.name, alphahearts.game.options)
    assert not game.options["pass_cards"] and not game.options["must_break_hearts"]
    for match in (*alphahearts.evaluation.curve, *alphahearts.evaluation.final):
        resolve(match.players, game, given=["states"])
        assert match.seating == "pairs"
    assert alphahearts.evaluation.final[0].deals == 200
    for name in ("alphahearts", "alphahearts_demo"):
        config = preset(name)
        assert config.learner.loss.branch_weight == config.first_learner.loss.branch_weight == 1.0
        assert config.selfplay.branches and not config.selfplay.population
        assert config.selfplay.replay_games == 3 * config.selfplay.games_per_iteration


# ---- played

CPU = ("cluster=local", "engine.device=cpu", "learner.device=cpu", "learner.num_threads=1")
TINY = (
    *CPU,
    "engine={precision: fp32, cuda_graphs: false}",
    "learner={precision: fp32, batch_size: 16}",
    "model={n_layer: 1, n_head: 2, n_embd: 16, n_inner: 32}",
    "selfplay={initial_games: 40, iterations: 2, games_per_iteration: 12, games_per_shard: 8}",
    "search.go_mcts.num_runs=3",
    "evaluation={curve: [{players: [argmax_val, random], deals: 2}], curve_every: 1}",
)
WHOLE_DEALS = (
    *CPU[1:],
    "engine.precision=fp32",
    "selfplay={initial_games: 20, initial_games_per_shard: 8, iterations: 2, games_per_iteration: 8}",
    "selfplay={games_per_shard: 4, gate: {deals: 2, margin: 0.5, seating: pairs}}",
    "initial_learner.max_steps=10",
    "evaluation.curve=[{players: ['q_values:cheat=true', hearts_simple], deals: 2, seating: pairs}]",
    "evaluation.final=[{players: ['alphahearts:worlds=2:iterations=4', hearts_complex], deals: 1, seating: pairs}]",
)
SAMEGAME = (
    *CPU,
    "game.options={rows: 5, columns: 4, colours: 3}",
    "learner={precision: fp32, batch_size: 16, warmup_steps: 1, num_epochs: 1, augment: true}",
    "model={n_layer: 1, n_embd: 16, n_inner: 32, board_channels: [4]}",
    "selfplay={initial: {players: [mcts]}, initial_games: 60, games_per_iteration: 12, games_per_shard: 20}",
    "selfplay={iterations: 1, newest_player: 'mctransformer:simulations=3'}",
    "evaluation.curve=[{players: [policy], deals: 4}]",
    "evaluation.final=[{players: [policy, random], deals: 6}, {players: [policy, random], deals: 4, "
    "game_options: {boards: dominant, dominant_tiles: 9}}]",
)
POLICIES = (
    *CPU,
    "learner={batch_size: 16, max_steps: 10}",
    "model.hidden=[16,16,16,16,16]",
    "selfplay={initial_games: 12000, initial_games_per_shard: 6000}",  # fewer hold out no null discards
    "selfplay={games_per_iteration: 40, games_per_shard: 40, replay_games: 13000, iterations: 1}",
    "evaluation.final=[{players: [skat_policies, skat_rules], deals: 2}]",
)


class Played:
    """A run of a preset that is through."""

    def __init__(self, config: TrainConfig) -> None:
        check(config)
        run(config)
        self.config, self.directory = config, RunDirectory(config.run.dir)
        self.evaluation = Evaluation(config, self.directory)
        self.game = make_game(config.game.name, config.game.options)
        assert self.evaluation.complete()

    def shard(self, iteration: int) -> Sequences:
        """The first of an iteration."""
        return read_shard(self.directory.shard(iteration, "00000.parquet"), self.game)


def small(experiment: str, tmp_path: Path, *settings: str) -> TrainConfig:
    config: TrainConfig = build_command("train", f"experiment={experiment}", f"run.dir={tmp_path}/run", *settings)
    return config


@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "initial"),
    [
        ("hearts_demo", "random"),
        ("skat_demo", "skat_rules:noise=0.7:explore=0.02"),
        ("crew_demo", "crew_rules:explore=0.08"),
    ],
)
def test_a_tiny_run_of_the_preset_goes_through_every_stage(experiment: str, initial: str, tmp_path: Path) -> None:
    name, cooperative = experiment.partition("_")[0], experiment.startswith("crew")
    finals = f"{{players:[argmax_val,{name}_rules],deals:2}},{{players:[go_mcts,argmax_val],deals:1}}"
    config = small(experiment, tmp_path, *TINY, f"evaluation.final=[{finals}]")
    config.selfplay.gate.deals = min(config.selfplay.gate.deals, 5)
    config.selfplay.initial.more_games = min(config.selfplay.initial.more_games, 500)
    through, player = Played(config), config.selfplay.newest_player
    seatings = 2 if cooperative else 2**through.game.num_players - 2
    assert [result.matches for result in through.evaluation.final() if result] == [2 * seatings, seatings]
    assert all(result for iteration in range(3) for result in through.evaluation.curve(iteration))
    assert set(through.shard(0).player) == {initial}
    later = [set(through.shard(iteration).player) for iteration in (1, 2)]
    assert all(who.startswith(f"{player}@") for each in later for who in each)
    if cooperative:  # everybody is the newest network
        assert later == [{f"{player}@{iteration:03d}"} for iteration in range(2)]
        counted = storage.read_json(through.directory.successes(2))["successes"]
        assert sum(games for games, _ in counted.values()) == 12 and set(counted) == set(through.game.scenarios)


@pytest.mark.slow
def test_a_game_of_ones_own_goes_through_the_preset_for_any_game(tmp_path: Path) -> None:
    own_game.module()
    final = "evaluation.final=[{players:[go_mcts,random],deals:1}]"
    config = small("own", tmp_path, *TINY, "selfplay.iterations=1", "selfplay.gate.deals=2", final)
    config.game = GameConfig("own_game:ToyTricks", {"trump": True})
    through = Played(config)
    assert set(through.shard(0).player) == {"random"}
    assert newest(config.run.dir) in (through.directory.checkpoint(0), through.directory.checkpoint(1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "player"),
    [("alphahearts_long", "q_values:worlds=2"), ("alphahearts", "alphahearts:worlds=2:iterations=3")],
)
def test_cheating_search_comes_first_and_then_a_q_network_in_every_seat(experiment, player, tmp_path) -> None:
    config = small(experiment, tmp_path, *WHOLE_DEALS)
    config.selfplay.newest_player, config.learner.max_steps = player, 10
    assert any("trains a Q-network (model.kind=q_network); learner.loss.observ" in note for note in check(config))
    through = Played(config)
    assert "Its network reads whole deals" in sample(read_run(config.run.dir), 1, 0).reason
    assert [result.matches for result in through.evaluation.final() if result] == [2]
    for iteration, num_shards in enumerate((3, 2, 2)):
        Q_KIND.load(through.directory.checkpoint(iteration), through.game)
        shards = sorted(Path(through.directory.iteration(iteration), "shards").glob("*.parquet"))
        sequences = [read_shard(str(shard), through.game) for shard in shards]
        (who,) = {player for part in sequences for player in part.player}
        assert len(shards) == num_shards and who.startswith(f"{player}@" if iteration else "pimc:")
        # Every network learns from branches.
        assert all(len(part.branches.place) > 0 for part in sequences)
    gate = through.evaluation.gate(2)
    assert gate.matches == 4  # two deals in pairs


@pytest.mark.parametrize(("iterations", "noted"), [(1, True), (2, False)])
def test_a_replay_that_no_iteration_has_is_said(iterations: int, noted: bool) -> None:
    config = over(preset("alphahearts_long"), f"selfplay.iterations={iterations}")
    note = f"selfplay.replay_from=1: with selfplay.iterations={iterations} no network learns from earlier deals"
    assert (note in check(config)) == noted


@pytest.mark.slow
def test_samegame_is_learned_from_mcts_and_then_from_its_own_search(tmp_path: Path) -> None:
    through = Played(small("samegame_demo", tmp_path, *SAMEGAME))
    plain, dominant = through.evaluation.final()
    assert plain.game_options["boards"] == "random" and plain.deals == 6
    assert dominant.dealt == "boards=dominant, dominant_tiles=9"
    for iteration, player in enumerate(("mcts", "mctransformer:simulations=3@000")):
        shard, game = through.shard(iteration), through.game
        views = game.views(shard.tokens, (shard.tokens != game.vocabulary.eos).sum(axis=1))
        assert set(shard.player) == {player} and np.array_equal(game.view_points(views)[:, 0], shard.points)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("evaluation.final=[{players: [policy], game_options: {penalty: excess}}]", "penalty may not differ"),
        ("evaluation.final=[{players: [policy], game_options: {boards: even}}]", "boards=even: no such file"),
        ("evaluation.final=[{players: [policy], game_options: {dominant_tiles: 9}}]", "boards=dominant alone"),
        ("game.options={rows: 15, columns: 15, boards: standard_20}", "a list of 20 deals here, which is for tourna"),
    ],
)
def test_boards_that_do_not_fit_are_refused_in_one_line(given: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as refused:
        check(over(preset("samegame_demo"), given))
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_networks_of_decisions_learn_from_a_population_and_go_on_with_their_own_games(tmp_path: Path) -> None:
    through = Played(small("skat_policies_demo", tmp_path, *POLICIES))
    first = through.shard(0)
    assert set(first.player) == set(through.config.selfplay.initial.players) and len(first) == 3 * 6000
    assert set(through.shard(1).player) == {"skat_policies:method=di_s@000"}
    figures = storage.read_json(through.directory.metrics(1))
    assert figures["train/bid.decisions"] > 11_000 and 0 < figures["train/card_suit_soloist.test_accuracy"] < 1
    (final,) = through.evaluation.final()
    assert final and final.matches == 12 and verify([through.config.run.dir]) == 0


def test_the_doctor_takes_the_arguments_of_every_run(tmp_path: Path) -> None:
    for name in sorted(path.stem for path in (CONF / "experiment").glob("*.yaml")):
        more = {"own": ["game=hearts"], "skat_policies_records": ["selfplay.initial.shards=DIR"]}.get(name, [])
        given = [f"experiment={name}", f"run.dir={tmp_path}", *more]
        run = cli.configured("train", TrainConfig, given)
        assert cli.configured("doctor", DoctorConfig, given).selfplay == run.selfplay
