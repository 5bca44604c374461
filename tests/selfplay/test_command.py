"""``python -m selfplay`` and ``python -m selfplay.generate`` as a user meets them."""

import json
import re
from pathlib import Path

import pytest
import torch

from cluster.errors import UserError
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.shards import find_shards, read_shard, shard_info
from learner.model.architecture import architecture
from learner.model.checkpoint import checkpoint_id, save_weights
from learner.model.network import PolicyValueNet, initialise
from search.roster.registry import resolve
from selfplay.checks import check
from selfplay.config import TrainConfig
from tests.learner.material import shard_of
from tests.learner.test_golden import NO_PASS
from tests.selfplay.commands import TINY, Command, actors, call, descendants, gone
from tests.selfplay.material import tiny_config
from tests.test_repository import CONF, build_command

GAME = HeartsGame()
KINDS = "transformer, q_network, skat_policies"
NO_LABELS = ("selfplay.labels=''", "learner.policy.kind=played")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "run.dir must be given"),
        (["selfplay.games=3"], "unknown key 'selfplay.games'"),
        (["+selfplay.games=3"], "unknown key 'selfplay.games'"),
        (["selfplay.iterations=many"], "selfplay.iterations: Value 'many'"),
        (["selfplay.iterations=-1"], "selfplay.iterations=-1: must be at least 0"),
        (["evaluation.final=[{players: [argmax_val, deep_blue], deals: 1}]"], "no player 'deep_blue'"),
        (["evaluation.final=[{players: [pimc, random], deals: 1}]", "search.pimc.utility=fun"], "no utility 'fun'"),
        (["selfplay.initial.players=[argmax_val]"], "player 'argmax_val' needs a network"),
        (["selfplay.initial.players=[ann]"], "no player 'ann'"),
        (["selfplay.initial.players=[random,random]"], "must be names of players, once each"),
        (["selfplay.initial.players=[]"], "must be names of players; or [] with shards=DIR beside it"),
        (["selfplay.initial.weights=[1,2]"], "must be empty, or a number above 0 for each of the players"),
        (["selfplay.initial.weights=[0]"], "must be empty, or a number above 0 for each of the players"),
        (["model.kind=q_network"], "model.kind=q_network: a kind comes with its preset; give model=PRESET"),
        (["selfplay.initial.players=[random]", "selfplay.initial.keep=[hearts_rules]"], "but only random play"),
        (["experiment=skat_demo", "selfplay.gate.seating=pairs"], "seating=pairs"),
        (["selfplay.gate.deals=-1"], "selfplay.gate.deals=-1: must be at least 0"),
        (["selfplay.gate=null"], "selfplay.gate=null: selfplay.gate has keys of its own"),
        (["experiment=TYPO"], "experiment=TYPO: no such choice; there are alphahearts, alphahearts_demo"),
        (
            ["learner=TYPO"],
            "learner=TYPO: no such choice; there are board, default, paper, policy_first, policy_gradient, q_network, "
            "skat_policies, small",
        ),
        (["tracker=TYPO"], "tracker=TYPO: must be one of none, tensorboard, mlflow, wandb"),
        (["game.options.moon=full"], "moon='full'"),
        (["+game.options.speed=3"], "speed"),
        (["search.go_mcts.utility=fun"], "fun"),
        (["model.n_positions=10"], "n_positions=10"),
        (["engine.device=cuda"], "engine.device=cuda: cluster.generator_gpus=0 lends it no GPU"),
        (
            ["learner.loss.branch_weight=0.5", "selfplay.branches=0"],
            "learner.loss.branch_weight=0.5: selfplay.branches=0 makes none",
        ),
        (
            ["learner.loss.branch_weight=0", "learner.policy.kind=values", "selfplay.branches=0"],
            "learner.policy.kind=values: selfplay.branches=0 makes none; give it, or set learner.policy.kind=played",
        ),
        (
            ["learner.loss.branch_weight=0", "initial_learner.policy.kind=values", "selfplay.branches=0"],
            "initial_learner.policy.kind=values: selfplay.branches=0 makes none; give it, or set initial_learner."
            "policy.kind=played",
        ),
        (["learner.policy.kind=TYPO"], "learner.policy.kind=TYPO: must be one of played, labels, values, gradient"),
        (["learner.policy.temperature=0"], "learner.policy.temperature=0.0: must be above 0"),
        (["learner.policy.weight=0"], "learner.policy.weight=0.0: must be above 0"),
        (["selfplay.teacher_games=-1"], "selfplay.teacher_games=-1: must be at least 0"),
        (
            ["learner.loss.branch_weight=0", "initial_learner.loss.branch_weight=0", "selfplay.branches=2"],
            "selfplay.branches=2: no network learns from them",
        ),
        (["selfplay.branches=1", "selfplay.branch_player=imitation"], "branch_player=imitation: deals are played out"),
        (["selfplay.branch_steps=1"], "selfplay.branch_steps=1: must be 0 without newest_branch_player, whose network"),
        (
            ["model=fc", *NO_LABELS, "learner.optimizer=adamw", "selfplay.population=true"],
            "model.kind=q_network: a Q-network learns from deals of which every seat's sequence is kept",
        ),
        (
            ["model=fc", *NO_LABELS, "learner.optimizer=adamw"],
            "read states; give selfplay.newest_player=PLAYER, one of alphahearts, q_values",
        ),
        (
            ["model=fc", *NO_LABELS, "learner.optimizer=adamw", "selfplay.newest_player=q_values"],
            "give the player as argmax_val@DIR, or alphahearts, q_values, which read states as the networks here do",
        ),
        (
            ["experiment=alphahearts_demo", "model=demo"],
            "model=demo: model.kind=transformer has no model.target_every_steps, which experiment=alphahearts_demo "
            "sets; leave model=demo out, or choose",
        ),
        (["model.n_leyer=2", "--cfg", "job"], "unknown key 'model.n_leyer'"),
        (
            ["model=fc", "selfplay.population=false", "cluster.learners=2"],
            "cluster.learners=2: a Q-network is trained by one learner",
        ),
        (
            ["model=fc", "selfplay.population=false", "learner.optimizer=muon"],
            "learner.optimizer=muon: a Q-network is trained with AdamW; give adamw",
        ),
        (["learner.optimizer=sgd"], "learner.optimizer=sgd: must be one of adamw, muon"),
        (
            ["learner.policy.kind=values", "learner.loss.observation_weight=0"],
            "learner.policy.kind=values: must be played where loss.observation_weight is 0",
        ),
        (["model=rnn"], "model=rnn: no such choice; there are board, demo, fc, paper, pv16, pv24, skat_policies"),
        (["model.kind=q_network"], "model.kind=q_network: a kind comes with its preset; give model=PRESET"),
        (["model=fc", "model.n_layer=2"], "unknown key 'model.n_layer'"),
        (["run.dir="], "run.dir must be given"),
        (["selfplay=default"], "selfplay=default: selfplay has keys of its own and no presets; give"),
        (["initial_learner=like_learner"], "initial_learner has keys of its own and no presets"),
        (["run.dir=s3:/bucket/run"], "s3:/bucket/run: a URI has two slashes"),
        (["learner.device=cuda"], "learner.device=cuda: cluster.learner_gpus=0 lends it no GPU"),
    ],
)
def test_bad_settings_end_in_one_line_before_anything_is_made(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    given = not arguments or any(argument.startswith("run.dir=") for argument in arguments)
    where = [] if given else [f"run.dir={tmp_path}/run"]
    preset = any(argument.startswith("experiment=") for argument in arguments)
    experiment = [] if preset else ["experiment=hearts_teacher"]
    assert call(monkeypatch, "selfplay", *experiment, *where, *arguments) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("error: ") and printed.err.count("\n") == 1 and printed.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("preset", "message"),
    [
        ("n_layer: 1", "the preset says no kind; write 'kind: NAME' into it, a name of " + KINDS),
        ("kind: ???", "the preset says no kind; write 'kind: NAME' into it, a name of " + KINDS),
        ("kind: q_network\nwidht: 1", "model.kind=q_network has no model.widht; take it out of the preset"),
    ],
)
def test_a_preset_of_a_network_of_the_users_own_says_its_kind_and_keys_of_it(
    preset: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model/mine.yaml").write_text(preset)
    line = ["--config-dir", str(tmp_path), "experiment=hearts_teacher", "model=mine", f"run.dir={tmp_path}/run"]
    assert call(monkeypatch, "selfplay", *line) == 2
    assert capsys.readouterr().err == f"error: model=mine: {message}\n"
    (tmp_path / "model/mine.yaml").write_text("kind: q_network\nwidth: 17")
    assert call(monkeypatch, "selfplay", *line, "--cfg", "job") == 0
    assert "  kind: q_network\n  architecture: fc\n  width: 17\n" in capsys.readouterr().out


def test_a_sweep_over_kinds_of_network_takes_keys_of_the_kind_and_checks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shard_of(make_game("hearts", NO_PASS), tmp_path / "shards", 40)
    line = ["game=hearts_no_pass", "model=fc,pv16", f"data={tmp_path}/shards", "learner.max_steps=2", "--multirun"]
    assert call(monkeypatch, "learner", *line, "model.width=8", f"out={tmp_path}/out") == 0
    widths = {path.parent.name: json.loads(path.read_text())["width"] for path in tmp_path.glob("out/*/config.json")}
    assert widths == {"model=fc": 8, "model=pv16": 8}
    capsys.readouterr()
    assert call(monkeypatch, "learner", *line, "model.widht=8", f"out={tmp_path}/other") == 2
    assert capsys.readouterr().err.count("error: unknown key 'model.widht'") == 2


def test_without_an_experiment_nothing_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "selfplay", f"run.dir={tmp_path}/run") == 2
    assert "for example experiment=hearts_demo; there are alphahearts, alphahearts_demo" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_settings_of_the_learner_hold_for_iteration_0_too_but_for_what_the_experiment_sets() -> None:
    config: TrainConfig = build_command("train", "experiment=hearts_teacher", "learner=paper", "learner.batch_size=7")
    first = config.first_learner
    assert (first.batch_size, first.num_epochs, first.loss.outcome_weight) == (7, 3, 0.1)
    assert (first.learning_rate, first.warmup_steps) == (2e-4, 100)
    assert (config.learner.learning_rate, config.learner.warmup_steps) == (1e-4, 0)
    assert config.initial_learner == {"learning_rate": 2e-4, "warmup_steps": 100, "policy": {"kind": "played"}}
    said = "iteration 0 trains with initial_learner: learning_rate=0.0002, warmup_steps=100, policy.kind=played"
    assert check(config)[-1] == said
    for same in ("rate_factor=1", "learning_rate=2e-3"):  # the learner's
        config = build_command("train", "experiment=hearts_teacher", f"initial_learner.{same}")
        assert config.initial_learner == {"warmup_steps": 100, "policy": {"kind": "played"}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("initial_learner.rate_factor=few", "initial_learner.rate_factor=few: must be a number above 0"),
        ("initial_learner.learning_rat=1", "initial_learner.learning_rat: unknown key; --cfg job prints the keys"),
        ("initial_learner.max_steps=few", "initial_learner.max_steps: Value 'few' of type 'str' could not be"),
        ("initial_learner={max_steps: -1}", "learner.max_steps=-1: must be at least 0"),
    ],
)
def test_settings_for_iteration_0_that_make_no_sense_are_named(given: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        build_command("train", "experiment=hearts_teacher", given)


def test_more_gpus_than_there_are_end_in_a_table_and_nothing_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = (*TINY, "cluster.num_gpus=0", "cluster.learner_gpus=1", f"run.dir={tmp_path}/run")
    assert call(monkeypatch, "selfplay", *arguments) == 2
    said = "".join(capfd.readouterr())
    assert "error: the cluster has no room for 1 learner" in said
    assert "available" in said and "Traceback" not in said
    assert {path.name for path in (tmp_path / "run").iterdir()} <= {".lock"}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_ray_lends_and_torch_cannot_find_ends_in_one_line_and_nothing_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = (*TINY, "cluster.num_gpus=1", "cluster.learner_gpus=1", f"run.dir={tmp_path}/run")
    code, said = call(monkeypatch, "selfplay", *arguments), "".join(capfd.readouterr())
    assert code == 2, said
    assert said.splitlines()[-1].startswith("error: Ray lends a GPU to who asks for one, but torch finds no")
    assert "Traceback" not in said
    assert {path.name for path in (tmp_path / "run").iterdir()} <= {".lock"}


def test_shards_are_made_once_and_not_mixed_with_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("games=50", "games_per_shard=20", "branches=1", "cluster.generators=1", f"out={tmp_path}/shards")
    assert call(monkeypatch, "selfplay.generate", *arguments) == 0, capsys.readouterr()
    made = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "shards").iterdir()}
    assert sorted(made) == ["00000.parquet", "00001.parquet", "00002.parquet", "config.yaml"]
    shards = [read_shard(path, GAME) for path in find_shards(tmp_path / "shards")]
    assert [len(shard) for shard in shards] == [80, 80, 40] and all(shard.branches for shard in shards)
    assert call(monkeypatch, "selfplay.generate", *arguments) == 0
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "shards").iterdir()} == made
    for change, message in (
        ("seed=1", "made with seed=0, the command says 1"),
        ("games=20", "there are games=50, the command says 20"),
        ("games=80", "there are games=50, the command says 80"),
        ("search.argmax_val.threshold=0.5", "made with search.argmax_val.threshold=0.05, the command says 0.5"),
        ("search.argmax_val.threshold=0.05", "made with search.given=[], the command says ['argmax_val.threshold']"),
    ):
        given = [each for each in arguments if each.partition("=")[0] != change.partition("=")[0]]
        assert call(monkeypatch, "selfplay.generate", *given, change) == 2
        assert message in capsys.readouterr().err
    (tmp_path / "shards/config.yaml").rename(tmp_path / "config.yaml")
    assert call(monkeypatch, "selfplay.generate", *arguments) == 2
    assert "shards: holds shards, and no config.yaml that says how" in capsys.readouterr().err
    (tmp_path / "config.yaml").rename(tmp_path / "shards/config.yaml")
    (tmp_path / "shards/00001.parquet").rename(tmp_path / "shards/00000.parquet")
    assert call(monkeypatch, "selfplay.generate", *arguments) == 2
    assert "00000.parquet: its shard is 1, and 0 belongs there; remove" in capsys.readouterr().err


def test_the_last_checkpoint_given_plays_argmax_val_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(2):
        net = PolicyValueNet(architecture(GAME, tiny_config("unused").model))
        initialise(net, seed)
        save_weights(tmp_path / str(seed), net, GAME)
    checkpoints, out = f"checkpoints=[{tmp_path}/0,{tmp_path}/1]", f"out={tmp_path}/shards"
    assert call(monkeypatch, "selfplay.generate", "games=8", "cluster.generators=1", checkpoints, out) == 0
    rows = read_shard(tmp_path / "shards/00000.parquet", GAME)
    assert len(rows) == 8 and set(rows.player) == {"argmax_val@001"}
    ids = [checkpoint_id(tmp_path / str(seed)) for seed in range(2)]
    assert shard_info(tmp_path / "shards/00000.parquet").provenance["checkpoints"] == f"000:{ids[0]} 001:{ids[1]}"


@pytest.mark.parametrize(
    "argument",
    [
        "games=0",
        "games_per_table=0",
        "branches=-1",
        "checkpoints=[nowhere]",
        "initial.players=[ann]",
        "engine.device=cuda",
    ],
)
def test_bad_settings_of_generate_end_before_anything_is_made(
    argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "selfplay.generate", argument, f"out={tmp_path}/shards") == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "experiment",
    [path.stem for game in ("hearts", "skat", "crew") for path in sorted(CONF.glob(f"experiment/{game}_*.yaml"))],
)
def test_an_experiment_runs_on_one_machine_too(experiment: str) -> None:
    config: TrainConfig = build_command("train", f"experiment={experiment}", "cluster=local")
    game = make_game(config.game.name, config.game.options)
    assert game.name == experiment.partition("_")[0]
    for match in (*config.evaluation.curve, *config.evaluation.final):
        resolve(match.players, game)
    resolve(list(config.selfplay.initial.players), game, given=())
    assert (config.cluster.mode, config.cluster.learner_gpus, config.cluster.generators) == ("auto", 0, 2)
    players = {p.split(":")[0] for match in config.evaluation.final for p in match.players}
    assert players >= ({"skat_policies"} if config.model.kind == "skat_policies" else {"go_mcts", "argmax_val"})


def test_alphahearts_paper_has_the_numbers_of_paper_002() -> None:
    config: TrainConfig = build_command("train", "experiment=alphahearts_paper", "cluster=local")
    selfplay, learner = config.selfplay, config.learner
    # "Multi-agent Reinforcement Learning": four copies play 64 games an epoch, data stay for 3 rounds.
    assert not selfplay.population and selfplay.games_per_iteration == 64 and selfplay.replay_games == 3 * 64
    assert learner.learning_rate == 1e-3 and tuple(learner.betas) == (0.3, 0.999) and learner.weight_decay == 0.0
    # "Further Work": the cutoff for swapping to a new network, batch size and frequency, gamma.
    assert selfplay.gate and selfplay.gate.margin == 0.5 and learner.batch_size == 32
    assert config.model.states_per_step == 4 and config.model.discount == 0.99
    assert not selfplay.branches and not learner.loss.branch_weight and not config.first_learner.loss.branch_weight
    # "Huber loss", linear from 1 as everywhere, of "the total proportion of points avoided": from 26 points.
    assert config.model.huber_delta == 26.0
    # The text has no passing, and "no player may lead with hearts" is out of its scope.
    game = make_game(config.game.name, config.game.options)
    assert not game.options["pass_cards"] and not game.options["must_break_hearts"]
    for match in (*config.evaluation.curve, *config.evaluation.final):
        resolve(match.players, game, given=["states"])
        assert match.seating == "pairs"
    assert config.evaluation.final[0].deals == 200


@pytest.mark.parametrize("experiment", ["alphahearts", "alphahearts_demo"])
def test_iterations_of_alphahearts_have_the_objective_of_the_first(experiment: str) -> None:
    config: TrainConfig = build_command("train", f"experiment={experiment}", "cluster=local")
    assert config.selfplay.branches
    assert config.learner.loss.branch_weight == config.first_learner.loss.branch_weight == 1.0
    assert not config.selfplay.population and config.selfplay.replay_games == 3 * config.selfplay.games_per_iteration


def test_hearts_paper_has_the_numbers_of_the_paper() -> None:
    config: TrainConfig = build_command("train", "experiment=hearts_paper")
    selfplay, model, learner = config.selfplay, config.model, config.learner
    # Section 6.1.
    assert selfplay.initial.players == ["random"]
    assert (selfplay.initial_games, selfplay.iterations, selfplay.games_per_iteration) == (4_000_000, 10, 500_000)
    assert selfplay.pool_size == 0
    assert config.game.options["moon"] == "shooter_minus_26"
    # Tables 4 and 5, with GELU and no attention dropout in the code.
    assert (model.n_layer, model.n_head, model.n_embd, model.n_inner) == (8, 8, 256, 1024)
    assert (model.embd_pdrop, model.resid_pdrop) == (0.05, 0.05)
    assert (model.initializer_range, model.layer_norm_epsilon, model.outcome_init) == (0.02, 1e-5, "normal")
    assert architecture(GAME, model).n_positions == 75
    # Table 6 and section 9.1; the first network is trained as all others.
    assert (learner.learning_rate, learner.schedule, learner.num_epochs) == (1e-4, "linear", 3)
    assert learner.weight_decay == 0.0  # the paper names none
    assert (learner.loss.observation_weight, learner.loss.outcome_weight) == (0.9, 0.1)
    assert config.first_learner == learner and learner.loss.outcome_positions == 0
    # Section 9.3.
    search = config.search.go_mcts
    assert (search.num_runs, search.num_steps, search.exploration) == (100, 2, 0.4)
    assert (search.threshold, search.illegal_penalty, config.search.argmax_val.threshold) == (0.05, 0.01, 0.05)


def test_skat_paper_has_the_numbers_of_the_paper() -> None:
    config: TrainConfig = build_command("train", "experiment=skat_paper")
    hearts: TrainConfig = build_command("train", "experiment=hearts_paper")
    selfplay, search = config.selfplay, config.search.go_mcts
    # Section 6.2: all permutations of two players; the learner's settings are those for Hearts.
    assert selfplay.initial.players == ["random", "skat_rules"] and selfplay.initial.keep == []
    assert (selfplay.initial_games, selfplay.iterations, selfplay.games_per_iteration) == (4_000_000, 20, 500_000)
    assert selfplay.pool_size == 10
    assert (config.model, config.learner, config.first_learner) == (hearts.model, hearts.learner, config.learner)
    # Section 9.3.
    assert (search.num_runs, search.num_steps, search.exploration) == (100, 5, 0.3)
    assert (search.threshold, search.illegal_penalty, config.search.argmax_val.threshold) == (0.05, 0.01, 0.05)


def test_search_settings_of_the_crew_are_the_papers() -> None:
    config: TrainConfig = build_command("train", "experiment=hearts_teacher", "search=crew")
    search = config.search.go_mcts
    assert (search.num_runs, search.num_steps, search.exploration) == (50, 5, 0.1)
    assert (search.threshold, search.illegal_penalty, config.search.argmax_val.threshold) == (0.01, 0.01, 0.05)


@pytest.mark.parametrize(
    ("settings", "busy"),
    [
        (["selfplay.initial_games=2000000"], "Generator.generate"),
        (
            ["selfplay.initial_games=60", "initial_learner.num_epochs=9999", "initial_learner.max_steps=99999"],
            "Learner",
        ),
    ],
)
def test_a_request_to_terminate_ends_the_command_and_its_actors_in_order(
    settings: list[str], busy: str, tmp_path: Path
) -> None:
    command = Command("selfplay", *TINY, *settings, f"run.dir={tmp_path}/run", log=tmp_path / "log")
    try:
        command.until(lambda: actors(command.pid, busy))
        below = descendants(command.pid)
        (ray_files, *_) = map(Path, re.findall(r"/tmp/kibitz-\w+", " ".join(process.title for process in below)))
        assert ray_files.exists() and list(tmp_path.glob("kibitz-*"))
        assert command.terminate(240) == 143, command.output
        assert gone(below)
    finally:
        command.clean_up()
    assert "Traceback" not in command.output and "PC: @" not in command.output
    assert not ray_files.exists() and not list(tmp_path.glob("kibitz-*")), "temporary directories that stay"
