"""What cannot be is refused in one line that names it, before any game is played and any file is made."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from cluster import cli
from cluster.errors import UserError
from games.config import GameConfig
from learner.config import QNetworkConfig
from selfplay import generate
from selfplay.checks import check
from selfplay.config import GenerateConfig, InitialConfig, LabelConfig, TrainConfig
from tests.selfplay.commands import call
from tests.selfplay.material import over, tiny_config
from tests.selfplay.test_resume import by_gradient, plain

# ---- settings of a run


def hearts() -> TrainConfig:
    return tiny_config("OUT")


def with_branches() -> TrainConfig:
    return over(plain("OUT"), "selfplay.branches=2; learner.loss.branch_weight=0.5")


def with_values() -> TrainConfig:
    return over(plain("OUT"), f"selfplay.branches=2; selfplay.branch_values={SEARCH}; learner.policy.kind=values")


def with_labels() -> TrainConfig:
    return over(plain("OUT"), "selfplay.labels=hearts_rules; learner.policy.kind=labels; learner.policy.weight=0.5")


def of_states() -> TrainConfig:
    """A Q-network, which reads whole deals."""
    config = plain("OUT", newest_player="q_values", population=False, initial=InitialConfig())
    config.model = QNetworkConfig(width=8)
    return config


def of_states_with_branches() -> TrainConfig:
    return over(of_states(), "selfplay.branches=2; learner.loss.branch_weight=0.5")


def by_policy_gradient() -> TrainConfig:
    return by_gradient("OUT")


def shards() -> GenerateConfig:
    return GenerateConfig(game=GameConfig("hearts"), out="OUT")


def labelled() -> LabelConfig:
    return LabelConfig(game=GameConfig("hearts"), data="IN", player="hearts_rules", out="OUT")


SEARCH = "pimc:worlds=4:evaluator=playouts"
MANY = "pimc:worlds=100000000"
RANDOM = "selfplay.initial.keep=[]; selfplay.initial.players"
NO_POLICY = "it does not draw from the policy"
ONLY_OWN = "it plays a network of the run"
MUCH = 10**9
SETTINGS: dict[Callable[[], Any], list[tuple[str, str]]] = {
    hearts: [
        # who plays
        ("evaluation.final=[{players: [argmax_val, deep_blue], deals: 1}]", "no player 'deep_blue'"),
        ("search.go_mcts.utility=fun", "no utility 'fun'"),
        (f"{RANDOM}=[argmax_val]", "player 'argmax_val' needs a network"),
        (f"{RANDOM}=[ann]", "no player 'ann'"),
        (f"{RANDOM}=[random,random]", "must be names of players, once each"),
        (f"{RANDOM}=[]", "must be names of players; or [] with shards=DIR beside it"),
        ("selfplay.initial.weights=[1]", "must be empty, or a number above 0 for each of the players"),
        ("selfplay.initial.weights=[1,0]", "must be empty, or a number above 0 for each of the players"),
        ("selfplay.initial.players=[random]", "keep names hearts_rules, but only random play"),
        ("selfplay.initial.more_games=9", "initial.more_games=9: must be above 0 together with successes"),
        ("selfplay.initial.successes=3", "selfplay.initial.more_games=0: must be above 0 together with successes"),
        ("selfplay.initial.successes=-1", "selfplay.initial.successes=-1"),
        ("selfplay.initial={successes: 3, more_games: 9}", "initial.successes=3: hearts is no cooperative game"),
        ("selfplay.newest_player=random", f"newest_player=random: {ONLY_OWN}"),
        ("selfplay.earlier_player=imitation@x", f"earlier_player=imitation@x: {ONLY_OWN}"),
        ("selfplay.newest_player=alphahearts", "newest_player=alphahearts: its network reads states"),
        ("selfplay.earlier_player=nobody", "no player 'nobody'; there are random, hearts_rules"),
        ("selfplay.gate.deals=-1", "selfplay.gate.deals=-1: must be at least 0"),
        ("selfplay.gate.seating=triples", "selfplay.gate.seating=triples"),
        (f"game.name=skat; {RANDOM}=[random]; selfplay.gate={{deals: 1, seating: pairs}}", "seating=pairs"),
        # numbers, names and devices
        ("selfplay.iterations=-1", "selfplay.iterations=-1: must be at least 0"),
        ("selfplay.initial_games=0", "selfplay.initial_games"),
        ("selfplay.pool_size=-1", "selfplay.pool_size"),
        ("evaluation.curve_every=0", "evaluation.curve_every=0"),
        ("game.options.moon=full", "moon='full'"),
        ("game.options.speed=3", "speed"),
        ("model.n_positions=10", "n_positions=10"),
        ("tracker=TYPO", "tracker=TYPO: must be one of none, tensorboard, mlflow, wandb"),
        ("cluster={learners: 2, learner_gpus: 0.5}", "learner_gpus=0.5: must be 0 or at least 1 with cluster.lea"),
        ("engine.device=cuda", "engine.device=cuda: cluster.generator_gpus=0 lends it no GPU"),
        ("learner.device=cuda", "learner.device=cuda: cluster.learner_gpus=0 lends it no GPU"),
        ("learner.optimizer=sgd", "learner.optimizer=sgd: must be one of adamw, muon"),
        ("initial_learner.max_steps=-1", "learner.max_steps=-1: must be at least 0"),
        ("run.dir='s3:/bucket/run'", "s3:/bucket/run: a URI has two slashes"),
        # more than a machine holds
        (f"evaluation.final=[{{players: ['{MANY}', random]}}]", MANY),
        (f"selfplay.games_per_shard={MUCH}; selfplay.games_per_table={MUCH}", "games_per_table=1"),
        (f"selfplay.games_per_shard={MUCH}; selfplay.initial_games={MUCH}", "games_per_shard=1"),
        ("model.n_embd=1000000", "n_embd"),
        # a network made before
        ("selfplay.first_network=kibitz:heart", "kibitz:heart: no such network comes with Kibitz; there is "),
        ("selfplay.first_network=kibitz:skat", "kibitz:skat/config.json: game is 'skat', the game in use has"),
        ("selfplay.first_network=kibitz:hearts", ", but model.n_layer=1 is asked for"),
        ("selfplay.first_network=kibitz:alphahearts", "model_type"),
        ("selfplay.first_network=nowhere", "nowhere: no such directory"),
        # what no network learns from, and what none makes
        ("learner.loss.branch_weight=0.5", "learner.loss.branch_weight=0.5: selfplay.branches=0 makes none"),
        ("learner.policy.kind=values", "learner.policy.kind=values: selfplay.branches=0 makes none; give it, or set"),
        (
            "initial_learner.policy.kind=values",
            "initial_learner.policy.kind=values: selfplay.branches=0 makes none; give it, or set initial_",
        ),
        ("selfplay.branches=2", "selfplay.branches=2: no network learns from them"),
        ("selfplay.branches=-1", "selfplay.branches=-1: must be at least 0"),
        ("selfplay.branch_steps=1", "selfplay.branch_steps=1: must be 0 without newest_branch_player, whose"),
        ("selfplay.branch_steps=-1", "selfplay.branch_steps=-1: must be at least 0"),
        ("selfplay.labels=hearts_rules", "selfplay.labels=hearts_rules: no network learns from them"),
        ("selfplay.label_share=0.0", "selfplay.label_share=0.0: must be above 0"),
        ("selfplay.probabilities=true", "selfplay.probabilities=True: no network learns from them"),
    ],
    with_branches: [
        (f"selfplay.branches={MUCH}", f"branches={MUCH}: no sequence of hearts has more than 75"),
        ("selfplay.branch_player=imitation@x", "branch_player=imitation@x: deals are played out"),
        ("selfplay.branch_player=nobody", "no player 'nobody'"),
        ("selfplay.branch_player=skat_rules", "plays skat only"),
        ("selfplay.branch_player=argmax_val", "and give selfplay.newest_branch_player=argmax_val for all iterations"),
        ("selfplay.newest_branch_player=hearts_rules", f"newest_branch_player=hearts_rules: {ONLY_OWN}"),
        ("selfplay.newest_branch_player=imitation@x", f"newest_branch_player=imitation@x: {ONLY_OWN}"),
        ("selfplay.newest_branch_player=nobody", "no player 'nobody'"),
        ("selfplay.newest_branch_player=skat_rules", "plays skat only, not hearts"),
        ("selfplay.newest_branch_player=q_values", "newest_branch_player=q_values: its network reads states"),
        ("selfplay.newest_branch_player='imitation:temperature=0'", "temperature"),
        (
            f"selfplay.branch_values={SEARCH}",
            "learner.loss.branch_weight=0.5: ... of selfplay.branch_values have values",
        ),
    ],
    with_values: [
        ("learner.loss.observation_weight=0", "must be played where loss.observation_weight is 0"),
        ("selfplay.branch_values=hearts_rules", "hearts_rules: it does not say what actions are"),
        (f"selfplay.branch_values={SEARCH}:explore=0.1", ": what actions are worth is not"),
        ("selfplay.branch_values=pimc:cheat=true:worlds=1", ": it sees hidden cards"),
        ("selfplay.branch_player=random", f"branch_values={SEARCH}: must be empty with branch_player"),
        (
            "selfplay.branch_types=[my plays]",
            "types=[my plays]: hearts has no tokens of type 'my plays'; it has my play",
        ),
        (
            "selfplay.branch_types=[my play, left's play]",
            "\"left's play\" was no decision of a seat's own; leave it out",
        ),
        (
            "learner.policy.label_weight=0.5",
            "label_weight=0.5: selfplay.labels='' ... or set initial_learner.policy.label",
        ),
    ],
    with_labels: [
        (
            "selfplay.labels=''",
            "learner.policy.kind=labels: selfplay.labels='' ... or set initial_learner.policy.kind=",
        ),
        ("selfplay.labels=pimc:cheat=true", "selfplay.labels=pimc:cheat=true: it sees hidden cards"),
        ("selfplay.labels=pimc:worlds=1000000000", "player 'pimc:worlds=1000000000': one decision may"),
        ("selfplay.labels=skat_rules", "plays skat only, not hearts"),
        ("selfplay.labels=nobody", "no player 'nobody'"),
        ("selfplay.labels=argmax_val", "needs a network: give the player as argmax_val@DIR"),
    ],
    by_policy_gradient: [
        ("selfplay.probabilities=false", "learner.policy.kind=gradient: selfplay.probabilities=False makes none; give"),
        *(
            (f"selfplay.newest_player={player}", f"selfplay.newest_player={player}: {NO_POLICY}")
            for player in ("argmax_val", "imitation:greedy=true", "imitation:temperature=2", "imitation:explore=0.1")
        ),
        ("learner.policy.temperature=30.0", "learner.policy.temperature=30.0: must be at most"),
        (
            "initial_learner={policy: {kind: gradient}, loss: {outcome_positions: 0}}",
            "initial_learner.policy.kind=gradient: the players of iteration 0",
        ),
    ],
    of_states: [
        ("selfplay.population=true", "model.kind=q_network: a Q-network ... seat's sequence is kept; give selfplay."),
        (
            "selfplay.newest_player=argmax_val",
            "newest_player=argmax_val: its network reads histories, and the networks of this run read states; give "
            "selfplay.newest_player=PLAYER, one of alphahearts, q_values",
        ),
        (
            "evaluation.final=[{players: [argmax_val, random]}]",
            "give the player as argmax_val@DIR, or alphahearts, q_values, which read states as the networks here do",
        ),
        ("cluster.learners=2", "cluster.learners=2: a Q-network is trained by one learner"),
        ("learner.optimizer=muon", "learner.optimizer=muon: a Q-network is trained with AdamW; give adamw"),
        ("learner.policy.kind=labels", "policy.kind=labels: a Q-network learns from none; set initial_learner"),
        ("learner.policy.kind=values", "policy.kind=values: a Q-network learns from none; set initial_learner"),
        ("model.width=1000000", "model.width"),
    ],
    of_states_with_branches: [
        ("selfplay.newest_branch_player=q_values:cheat=true", "newest_branch_player=q_values:cheat=true: it sees hid"),
        ("selfplay.newest_branch_player=imitation", "newest_branch_player=imitation: its network reads histories"),
        ("selfplay={newest_branch_player: q_values, branch_steps: 1}", "branch_steps=1: a network that reads states"),
    ],
    shards: [
        ("branches=-1", "branches=-1: must be at least 0"),
        ("label_share=0.0", "label_share=0.0: must be above 0"),
        ("checkpoints=[x]; branch_steps=1", "branch_steps=1: must be 0 without newest_branch_"),
        ("initial.shards=x", "initial.shards=x: "),
        ("games=0", "games=0"),
        ("branches=1; branch_player=imitation", "branch_player=imitation"),
        ("initial.players=[ann]", "no player 'ann'"),
        (f"initial.players=['{MANY}']", MANY),
        ("checkpoints=[nowhere]", "nowhere"),
        ("engine.device=cuda", "engine.device=cuda"),
        (f"games={MUCH}; games_per_shard={MUCH}; games_per_table={MUCH}", "table=1"),
        (f"games={MUCH}; games_per_shard={MUCH}", "games_per_shard=1"),
        (f"branches={MUCH}", f"branches={MUCH}: no sequence of hearts has more than"),
    ],
    labelled: [("share=0.0", "share=0.0: must be above 0")],
}


@pytest.mark.parametrize(
    ("base", "settings", "message"), [(base, *row) for base, rows in SETTINGS.items() for row in rows]
)
def test_a_run_that_cannot_be_is_refused_in_one_line(base, settings, message, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = base()
    with pytest.raises((UserError, ValueError)) as refused:
        config = over(config, settings)
        generate.main(config) if base is shards else check(config)
    said = str(refused.value)
    assert all(part in said for part in message.split(" ... ")) and "\n" not in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("base", [*SETTINGS][:-2])
def test_the_runs_that_these_differ_from_are_not(base: Callable[[], TrainConfig], tmp_path: Path) -> None:
    check(over(base(), f"run.dir={tmp_path}"))


# ---- command lines

RUN = ("experiment=hearts_teacher", "run.dir=OUT")
COMPOSED: list[tuple[Sequence[str], str]] = [
    (["run.dir=OUT"], "for example experiment=hearts_demo; there are alphahearts, alphahearts_demo"),
    (["experiment=hearts_teacher", "run.dir="], "run.dir must be given"),
    ([*RUN, "+selfplay.games=3"], "unknown key 'selfplay.games'"),
    ([*RUN, "model=fc", "model.n_layer=2"], "unknown key 'model.n_layer'"),
    ([*RUN, "selfplay.iterations=many"], "selfplay.iterations: Value 'many'"),
    ([*RUN, "selfplay.gate=null"], "selfplay.gate: field 'selfplay.gate' is not Optional"),
    (["experiment=TYPO", "run.dir=OUT"], "experiment=TYPO: no such choice; there are alphahearts, "),
    ([*RUN, "model=rnn"], "model=rnn: no such choice; there are board, demo, fc, paper, pv16, pv24, skat_"),
    ([*RUN, "model.kind=q_network"], "q_network: a kind comes with its preset; give model=PRESET"),
    ([*RUN, "selfplay=default"], "selfplay=default: selfplay has keys of its own and no presets; give"),
    (
        ["experiment=alphahearts_demo", "model=demo"],
        "experiment/alphahearts: this preset is for another kind of network than model=demo (unknown key "
        "'model.target_every_steps'); leave out model=demo",
    ),
    ([*RUN, "initial_learner=like_learner"], "initial_learner has keys of its own and no presets"),
    ([*RUN, "initial_learner.learning_rat=1"], "initial_learner.learning_rat: unknown key; --cfg job"),
    ([*RUN, "initial_learner.rate_factor=few"], "initial_learner.rate_factor=few: must be a number above"),
    ([*RUN, "initial_learner.max_steps=few"], "initial_learner.max_steps: Value 'few' of type 'str'"),
    (
        ["experiment=skat_policies_records", *RUN[1:]],
        "selfplay.initial.players=[]: ... or [] with shards=DIR beside it",
    ),
    ([*RUN, "cluster=process"], "cluster.mode=process"),
]


@pytest.mark.parametrize(("given", "message"), COMPOSED)
def test_settings_that_do_not_compose_are_explained(given, message, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["selfplay", *given])
    with pytest.raises((UserError, HydraException, OmegaConfBaseException, ValueError)) as refused:
        check(cli.configured("train", TrainConfig, given))
    said = cli.explain(refused.value)
    assert all(part in said for part in message.split(" ... ")) and "\n" not in said


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("selfplay", *RUN, "model.n_leyer=2", "--cfg", "job"), "unknown key 'model.n_leyer'"),
        (("selfplay", "--multirun", *RUN, "cluster=process", "run.seed=1,2"), "cluster.mode=process"),
        (("selfplay.generate", "game=hearts", "out=OUT", "games=3", "cluster=process"), "cluster.mode=process"),
    ],
)
def test_a_refused_command_says_why_in_one_line_and_leaves_nothing(command, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, *command) == 2
    refused = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(refused) == (2 if "--multirun" in command else 1) and message in refused[-1]
    assert list(tmp_path.iterdir()) == []


BEGINS = "defaults: [/kinds/model@_here_: q_network, _self_]\n"


@pytest.mark.parametrize(
    ("preset", "message"),
    [
        ("n_layer: 1", "model: the preset says no kind; begin it with defaults: [/kinds/model@_here_: NAME, _self_]"),
        ("kind: q_network\nwidht: 1", "unknown key 'model.widht'; --cfg job prints the keys and their values"),
        (f"{BEGINS}widht: 1", "model/mine: unknown key 'model.widht'; --cfg job prints the keys and their values"),
    ],
)
def test_a_preset_of_the_users_own_says_its_kind_and_keys_of_it(preset, message, tmp_path, monkeypatch, capsys):
    (tmp_path / "model").mkdir()
    (tmp_path / "model/mine.yaml").write_text(preset)
    line = ["--config-dir", str(tmp_path), "experiment=hearts_teacher", "model=mine", f"run.dir={tmp_path}/run"]
    assert call(monkeypatch, "selfplay", *line) == 2
    assert capsys.readouterr().err == f"error: {message}\n"
    if preset.startswith(BEGINS):
        (tmp_path / "model/mine.yaml").write_text(f"{BEGINS}width: 17")
        assert call(monkeypatch, "selfplay", *line, "--cfg", "job") == 0
        assert "  kind: q_network\n  architecture: fc\n  width: 17\n" in capsys.readouterr().out
