"""What cannot be is refused in one line that names it, before any game is played and any file is made."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster.config import ClusterConfig
from cluster.errors import UserError
from games.hearts.game import HeartsGame
from learner.config import QNetworkConfig
from learner.model.checkpoint import save_weights
from selfplay.checks import check
from selfplay.config import (
    EvaluationConfig,
    GenerateConfig,
    InitialConfig,
    LabelConfig,
    MatchConfig,
    SelfplayConfig,
    TeacherConfig,
    TrainConfig,
)
from tests.learner.material import changed, tiny_net
from tests.selfplay.commands import call
from tests.selfplay.material import tiny_config
from tests.selfplay.test_resume import by_gradient, plain

# ---- settings of a run


def with_branches() -> TrainConfig:
    config = plain("OUT", branches=2)
    return replace(config, learner=changed(config.learner, branch_weight=0.5))


def with_values() -> TrainConfig:
    config = plain("OUT", branches=2, branch_values=SEARCH)
    return replace(config, learner=changed(config.learner, kind="values"))


def with_labels() -> TrainConfig:
    config = plain("OUT", labels="hearts_rules")
    return replace(config, learner=changed(config.learner, kind="labels", weight=0.5))


def of_states() -> TrainConfig:
    """A Q-network, which reads whole deals."""
    config = plain("OUT", newest_player="q_values", population=False, initial=InitialConfig())
    return replace(config, model=QNetworkConfig(width=8))


def by_policy_gradient() -> TrainConfig:
    return by_gradient("OUT")


def hearts() -> TrainConfig:
    return tiny_config("OUT")


SEARCH = "pimc:worlds=4:evaluator=playouts"
NETWORK_PLAYER = "selfplay.newest_branch_player"
FIRST = "selfplay.initial"
RANDOM = {f"{FIRST}.keep": [], f"{FIRST}.players": ["random"]}
FINAL = "evaluation.final"
NO_POLICY = "it does not draw from the policy"
ONLY_OWN = "it plays a network of the run"
SETTINGS: list[tuple[Callable[[], TrainConfig], Mapping[str, Any], str]] = [
    # who plays
    (hearts, {FINAL: [MatchConfig(["argmax_val", "deep_blue"], deals=1)]}, "no player 'deep_blue'"),
    (hearts, {FINAL: [MatchConfig(["pimc"], deals=1)], "search.pimc.utility": "fun"}, "no utility 'fun'"),
    (hearts, {"search.go_mcts.utility": "fun"}, "fun"),
    (hearts, {f"{FIRST}.keep": [], f"{FIRST}.players": ["argmax_val"]}, "player 'argmax_val' needs a network"),
    (hearts, {f"{FIRST}.keep": [], f"{FIRST}.players": ["ann"]}, "no player 'ann'"),
    (hearts, {f"{FIRST}.players": ["random"] * 2}, "must be names of players, once each"),
    (
        hearts,
        {f"{FIRST}.keep": [], f"{FIRST}.players": []},
        "must be names of players; or [] with shards=DIR beside it",
    ),
    (hearts, {f"{FIRST}.weights": [1]}, "must be empty, or a number above 0 for each of the players"),
    (hearts, {f"{FIRST}.weights": [1, 0]}, "must be empty, or a number above 0 for each of the players"),
    (hearts, {f"{FIRST}.players": ["random"]}, "keep names hearts_rules, but only random play"),
    (hearts, {f"{FIRST}.more_games": 9}, "initial.more_games=9: must be above 0 together with successes"),
    (hearts, {FIRST: InitialConfig(successes=3, more_games=9)}, "initial.successes=3: hearts is no cooperative game"),
    (hearts, {"selfplay.newest_player": "random"}, f"newest_player=random: {ONLY_OWN}"),
    (hearts, {"selfplay.earlier_player": "imitation@x"}, f"earlier_player=imitation@x: {ONLY_OWN}"),
    (hearts, {"selfplay.newest_player": "alphahearts"}, "newest_player=alphahearts: its network reads states"),
    (hearts, {"selfplay.earlier_player": "nobody"}, "no player 'nobody'; there are random, hearts_rules"),
    (hearts, {"selfplay.gate.deals": -1}, "selfplay.gate.deals=-1: must be at least 0"),
    (
        hearts,
        {**RANDOM, "game.name": "skat", "selfplay.gate.deals": 1, "selfplay.gate.seating": "pairs"},
        "seating=pairs",
    ),
    (hearts, {"selfplay.teacher_games": 9, "selfplay.teacher": TeacherConfig(["crew_rules"])}, "crew_rules"),
    (hearts, {"selfplay.teacher_games": 9, "selfplay.teacher": TeacherConfig(["argmax_val"])}, "argmax_val"),
    # numbers, names and devices
    (hearts, {"selfplay.iterations": -1}, "selfplay.iterations=-1: must be at least 0"),
    (hearts, {"selfplay.initial_games": 0}, "selfplay.initial_games"),
    (hearts, {"selfplay.pool_size": -1}, "selfplay.pool_size"),
    (hearts, {"selfplay.teacher_games": -1}, "selfplay.teacher_games=-1: must be at least 0"),
    (hearts, {"selfplay.past_share": 0.25}, "selfplay.past_share=0.25: must be 0 with selfplay.population=true"),
    (hearts, {"game.options": {"moon": "full"}}, "moon='full'"),
    (hearts, {"game.options": {"speed": 3}}, "speed"),
    (hearts, {"model.n_positions": 10}, "n_positions=10"),
    (hearts, {"tracker": "TYPO"}, "tracker=TYPO: must be one of none, tensorboard, mlflow, wandb"),
    (hearts, {"engine.device": "cuda"}, "engine.device=cuda: cluster.generator_gpus=0 lends it no GPU"),
    (hearts, {"learner.device": "cuda"}, "learner.device=cuda: cluster.learner_gpus=0 lends it no GPU"),
    (hearts, {"learner.optimizer": "sgd"}, "learner.optimizer=sgd: must be one of adamw, muon"),
    (hearts, {"run.dir": "s3:/bucket/run"}, "s3:/bucket/run: a URI has two slashes"),
    (
        hearts,
        {"learner.policy.kind": "TYPO"},
        "learner.policy.kind=TYPO: must be one of played, labels, values, gradient",
    ),
    (hearts, {"learner.policy.temperature": 0.0}, "learner.policy.temperature=0.0: must be above 0"),
    (hearts, {"learner.policy.weight": 0.0}, "learner.policy.weight=0.0: must be above 0"),
    # a network made before
    (hearts, {"selfplay.first_network": "kibitz:heart"}, "kibitz:heart: no such network comes with Kibitz; there is "),
    (hearts, {"selfplay.first_network": "kibitz:skat"}, "kibitz:skat/config.json: game is 'skat', the game in use has"),
    (hearts, {"selfplay.first_network": "kibitz:hearts"}, ", but model.n_layer=1 is asked for"),
    (hearts, {"selfplay.first_network": "kibitz:alphahearts"}, "model_type"),
    (hearts, {"selfplay.first_network": "nowhere"}, "nowhere: no such directory"),
    # branches
    (hearts, {"learner.loss.branch_weight": 0.5}, "learner.loss.branch_weight=0.5: selfplay.branches=0 makes none"),
    (
        hearts,
        {"learner.policy.kind": "values"},
        "learner.policy.kind=values: selfplay.branches=0 makes none; give it, or set",
    ),
    (
        hearts,
        {"initial_learner": {"policy": {"kind": "values"}}},
        "initial_learner.policy.kind=values: selfplay.branches=0 makes none; give it, or set initial_",
    ),
    (hearts, {"selfplay.branches": 2}, "selfplay.branches=2: no network learns from them"),
    (hearts, {"selfplay.branch_steps": 1}, "selfplay.branch_steps=1: must be 0 without newest_branch_player, whose"),
    (hearts, {"selfplay.branch_steps": -1}, "selfplay.branch_steps=-1: must be at least 0"),
    (with_branches, {"selfplay.branch_player": "imitation@x"}, "branch_player=imitation@x: deals are played out"),
    (with_branches, {"selfplay.branch_player": "nobody"}, "no player 'nobody'"),
    (with_branches, {"selfplay.branch_player": "skat_rules"}, "plays skat only"),
    (
        with_branches,
        {"selfplay.branch_player": "argmax_val"},
        "and give selfplay.newest_branch_player=argmax_val for all iterations",
    ),
    (
        with_branches,
        {NETWORK_PLAYER: "hearts_rules"},
        "newest_branch_player=hearts_rules: it plays a network of the run",
    ),
    (with_branches, {NETWORK_PLAYER: "imitation@x"}, "newest_branch_player=imitation@x: it plays a network of the run"),
    (with_branches, {NETWORK_PLAYER: "nobody"}, "no player 'nobody'"),
    (with_branches, {NETWORK_PLAYER: "skat_rules"}, "plays skat only, not hearts"),
    (with_branches, {NETWORK_PLAYER: "q_values"}, "newest_branch_player=q_values: its network reads states"),
    (with_branches, {NETWORK_PLAYER: "imitation:temperature=0"}, "temperature"),
    (
        with_branches,
        {"selfplay.branch_values": SEARCH},
        "learner.loss.branch_weight=0.5: branches of selfplay.branch_values have values",
    ),
    (with_values, {"learner.loss.observation_weight": 0.0}, "must be played where loss.observation_weight is 0"),
    (with_values, {"selfplay.branch_values": "hearts_rules"}, "hearts_rules: it does not say what actions are"),
    (with_values, {"selfplay.branch_values": f"{SEARCH}:explore=0.1"}, ": what actions are worth is not"),
    (with_values, {"selfplay.branch_values": "pimc:cheat=true:worlds=1"}, ": it sees hidden cards"),
    (with_values, {"selfplay.branch_player": "random"}, f"branch_values={SEARCH}: must be empty with branch_player"),
    (
        with_values,
        {"selfplay.branch_types": ["my plays"]},
        "selfplay.branch_types=[my plays]: hearts has no tokens of type 'my plays'; it has my play",
    ),
    (
        with_values,
        {"selfplay.branch_types": ["my play", "left's play"]},
        "in 400 random deals \"left's play\" was no decision of a seat's own; leave it out",
    ),
    # labels
    (
        with_labels,
        {"selfplay.labels": ""},
        "learner.policy.kind=labels: selfplay.labels='' makes none; give it, or set initial_learner.policy.kind=",
    ),
    (
        with_values,
        {"learner.policy.label_weight": 0.5},
        "label_weight=0.5: selfplay.labels='' makes none; give it, or set initial_learner.policy.label_weight=0",
    ),
    (with_labels, {"selfplay.labels": "pimc:cheat=true"}, "selfplay.labels=pimc:cheat=true: it sees hidden cards"),
    (with_labels, {"selfplay.labels": "pimc:worlds=1000000000"}, "player 'pimc:worlds=1000000000': one decision may"),
    (hearts, {"selfplay.labels": "hearts_rules"}, "selfplay.labels=hearts_rules: no network learns from them"),
    (with_labels, {"selfplay.labels": "skat_rules"}, "plays skat only, not hearts"),
    (with_labels, {"selfplay.labels": "nobody"}, "no player 'nobody'"),
    (with_labels, {"selfplay.labels": "argmax_val"}, "needs a network: give the player as argmax_val@DIR"),
    # a policy gradient
    (
        by_policy_gradient,
        {"selfplay.probabilities": False},
        "learner.policy.kind=gradient: selfplay.probabilities=False makes none; give it",
    ),
    *(
        (by_policy_gradient, {"selfplay.newest_player": player}, f"selfplay.newest_player={player}: {NO_POLICY}")
        for player in ("argmax_val", *(f"imitation:{much}" for much in ("greedy=true", "temperature=2", "explore=0.1")))
    ),
    (by_policy_gradient, {"selfplay.past_share": 1.0}, "selfplay.past_share=1.0: must be"),
    (by_policy_gradient, {"learner.policy.temperature": 30.0}, "learner.policy.temperature=30.0: must be at most"),
    (by_policy_gradient, {"initial_learner": {}}, "initial_learner.policy.kind=gradient: the players of iteration 0"),
    (hearts, {"selfplay.probabilities": True}, "selfplay.probabilities=True: no network learns from them"),
    # networks of whole deals
    (
        of_states,
        {"selfplay.population": True},
        "model.kind=q_network: a Q-network learns from deals of which every seat's sequence is kept; give selfplay.",
    ),
    (of_states, {"selfplay.past_share": 0.25}, "seat's sequence is kept; give selfplay.past_share=0"),
    (
        of_states,
        {"selfplay.newest_player": "argmax_val"},
        "newest_player=argmax_val: its network reads histories, and the networks of this run read states; give "
        "selfplay.newest_player=PLAYER, one of alphahearts, q_values",
    ),
    (
        of_states,
        {FINAL: [MatchConfig(["argmax_val", "random"], deals=1)]},
        "give the player as argmax_val@DIR, or alphahearts, q_values, which read states as the networks here do",
    ),
    (of_states, {"cluster.learners": 2}, "cluster.learners=2: a Q-network is trained by one learner"),
    (of_states, {"learner.optimizer": "muon"}, "learner.optimizer=muon: a Q-network is trained with AdamW; give adamw"),
    *(
        (
            of_states,
            {"learner.policy.kind": kind},
            f"policy.kind={kind}: a Q-network learns from none; set initial_learner",
        )
        for kind in ("labels", "values")
    ),
    *(
        (of_states, {"selfplay.branches": 2, "learner.loss.branch_weight": 0.5, **player}, message)
        for player, message in (
            ({NETWORK_PLAYER: "q_values:cheat=true"}, "newest_branch_player=q_values:cheat=true: it sees hidden"),
            ({NETWORK_PLAYER: "imitation"}, "newest_branch_player=imitation: its network reads histories"),
            (
                {NETWORK_PLAYER: "q_values", "selfplay.branch_steps": 1},
                "branch_steps=1: a network that reads states expects",
            ),
        )
    ),
]


def with_value(part: Any, names: list[str], value: object) -> Any:
    """Settings with another value for the key of these names, checked again."""
    name, *below = names
    return replace(part, **{name: with_value(getattr(part, name), below, value) if below else value})


@pytest.mark.parametrize(("base", "changes", "message"), SETTINGS)
def test_a_run_that_cannot_be_is_refused_in_one_line(
    base: Callable[[], TrainConfig],
    changes: Mapping[str, Any],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    config = base()
    with pytest.raises((UserError, ValueError)) as refused:
        for key, value in changes.items():
            config = with_value(config, key.split("."), value)
        check(config)
    assert message in str(refused.value) and "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("base", [hearts, with_branches, with_values, with_labels, of_states, by_policy_gradient])
def test_the_runs_that_these_differ_from_are_not(base: Callable[[], TrainConfig], tmp_path: Path) -> None:
    check(with_value(base(), ["run", "dir"], str(tmp_path)))


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (InitialConfig, {"successes": 3}, "selfplay.initial.more_games=0: must be above 0 together with successes"),
        (InitialConfig, {"successes": -1}, "selfplay.initial.successes=-1"),
        (TeacherConfig, {"successes": 3}, "selfplay.teacher.more_games=0: must be above 0 together with successes"),
        (TeacherConfig, {"players": ["random"], "keep": ["x"]}, "selfplay.teacher.keep names x, but only random play"),
        (TeacherConfig, {"shards": "x"}, "selfplay.teacher.shards=x: "),
        (
            SelfplayConfig,
            {"teacher": TeacherConfig(["random"])},
            "selfplay.teacher_games=0: must be above 0 with players",
        ),
        (SelfplayConfig, {"branches": -1}, "selfplay.branches=-1: must be at least 0"),
        (SelfplayConfig, {"label_share": 0.0}, "selfplay.label_share=0.0: must be above 0"),
        (GenerateConfig, {"branches": -1}, "branches=-1: must be at least 0"),
        (GenerateConfig, {"label_share": 0.0}, "label_share=0.0: must be above 0"),
        (GenerateConfig, {"checkpoints": ["x"], "branch_steps": 1}, "branch_steps=1: must be 0 without newest_branch_"),
        (GenerateConfig, {"initial": InitialConfig(shards="x")}, "initial.shards=x: "),
        (LabelConfig, {"share": 0.0}, "share=0.0: must be above 0"),
        (EvaluationConfig, {"curve_every": 0}, "evaluation.curve_every=0"),
        (
            ClusterConfig,
            {"learners": 2, "learner_gpus": 0.5},
            "learner_gpus=0.5: must be 0 or at least 1 with cluster.lea",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused_by_their_group(
    kind: Callable[..., object], settings: Mapping[str, Any], message: str
) -> None:
    with pytest.raises((UserError, ValueError)) as refused:
        kind(**settings)
    assert message in str(refused.value)


# ---- command lines

GAME = HeartsGame()
HEARTS = ("game=hearts", "engine.device=cpu")
RUN = ("experiment=hearts_teacher", "run.dir=OUT")
PLAYERS = "players=[hearts_rules,random]"
MANY = "pimc:worlds=100000000"
WEIGHED = "pimc:candidates=10000000000@NETWORK"
TOURNAMENT = ("search.arena.tournament", *HEARTS, "out=OUT/x.json")
VALUES = ("search.arena.values", *HEARTS, "checkpoint=NETWORK")
RATING = ("search.arena.rating", *HEARTS, "out=OUT")
COMMANDS: list[tuple[tuple[str, ...], str]] = [
    (("selfplay", "experiment=hearts_teacher"), "run.dir must be given"),
    (("selfplay", "run.dir=OUT"), "for example experiment=hearts_demo; there are alphahearts, alphahearts_demo"),
    (("selfplay", *RUN, "+selfplay.games=3"), "unknown key 'selfplay.games'"),
    (("selfplay", *RUN, "model.n_leyer=2", "--cfg", "job"), "unknown key 'model.n_leyer'"),
    (("selfplay", *RUN, "selfplay.iterations=many"), "selfplay.iterations: Value 'many'"),
    (("selfplay", "experiment=TYPO", "run.dir=OUT"), "experiment=TYPO: no such choice; there are alphahearts, "),
    (("selfplay", *RUN, "model.kind=q_network"), "q_network: a kind comes with its preset; give model=PRESET"),
    (("selfplay", *RUN, "selfplay=default"), "selfplay=default: selfplay has keys of its own and no presets; give"),
    (
        ("selfplay", "experiment=alphahearts_demo", "run.dir=OUT", "model=demo"),
        "experiment/alphahearts: this preset is for another kind of network than model=demo (unknown key "
        "'model.target_every_steps'); leave out model=demo",
    ),
    (("selfplay", *RUN, "initial_learner.rate_factor=few"), "initial_learner.rate_factor=few: must be a number above"),
    (
        ("selfplay", "experiment=skat_policies_records", "run.dir=OUT"),
        "selfplay.initial.players=[]: must be names of players; or [] with shards=DIR beside it",
    ),
    (("selfplay", "--multirun", *RUN, "cluster=process", "run.seed=1,2"), "cluster.mode=process"),
    (("selfplay.generate", "out=OUT", "games=3", "branches=1", "branch_player=imitation"), "branch_player=imitation"),
    (("selfplay.generate", "out=OUT", "games=0"), "games=0"),
    (("selfplay.generate", "out=OUT", "initial.players=[ann]"), "no player 'ann'"),
    (("selfplay.curves", "EMPTY", "--out", "OUT/x.png"), "EMPTY"),
    (("selfplay.report", "EMPTY", "--out", "OUT/x.html"), "EMPTY"),
    (("learner", "data=EMPTY", "out=OUT"), "EMPTY"),
    (("learner.export", "EMPTY", "OUT"), "EMPTY"),
    (("cluster.submit", "--address", "nowhere", "--", "kibitz", "generate", "out=OUT"), "--address nowhere"),
    ((*TOURNAMENT, PLAYERS, "seating=triples"), "seating=triples"),
    (("search.arena.tournament", "--multirun", *HEARTS, PLAYERS, "out=OUT", "seating=triples,pears"), "seating=pears"),
    ((*RATING, PLAYERS, "anchor=nobody"), "anchor=nobody"),
    ((*VALUES, "out=OUT/x.json", "player=nobody"), "nobody"),
    (("search.arena.openings", "checkpoint=NETWORK", "out=OUT"), "NETWORK"),
    (("search.apps.play", *HEARTS, "checkpoint=NETWORK", "out=OUT"), "needs a terminal"),
    ((*TOURNAMENT, f"players=['{MANY}',random]"), MANY),
    ((*VALUES, "decisions=100000000", "out=OUT/x.json"), "decisions=100000000"),
    (("selfplay", *RUN, *(f"selfplay.games_per_{key}={10**9}" for key in ("shard", "table"))), "games_per_table=1"),
    (("selfplay", *RUN, "model.n_embd=1000000"), "n_embd"),
    (("selfplay.generate", "out=OUT", f'initial.players=["{MANY}"]'), MANY),
]
MORE: list[tuple[tuple[str, ...], str]] = [
    (("selfplay", *RUN, "run.dir="), "run.dir must be given"),
    (("selfplay", *RUN, "model=fc", "model.n_layer=2"), "unknown key 'model.n_layer'"),
    (("selfplay", *RUN, "selfplay.gate=null"), "selfplay.gate: field 'selfplay.gate' is not Optional"),
    (("selfplay", *RUN, "learner=TYPO"), "learner=TYPO: no such choice; there are board, default, paper, policy_first"),
    (("selfplay", *RUN, "model=rnn"), "model=rnn: no such choice; there are board, demo, fc, paper, pv16, pv24, skat_"),
    (("selfplay", *RUN, "initial_learner=like_learner"), "initial_learner has keys of its own and no presets"),
    (("selfplay", *RUN, "initial_learner.learning_rat=1"), "initial_learner.learning_rat: unknown key; --cfg job"),
    (("selfplay", *RUN, "initial_learner.max_steps=few"), "initial_learner.max_steps: Value 'few' of type 'str'"),
    (("selfplay", *RUN, "initial_learner={max_steps: -1}"), "learner.max_steps=-1: must be at least 0"),
    (("selfplay", *RUN, "cluster=process"), "cluster.mode=process"),
    (("selfplay", *RUN, "selfplay.gate.seating=triples"), "selfplay.gate.seating=triples"),
    (("selfplay.generate", "out=OUT", "games=3", "cluster=process"), "cluster.mode=process"),
    (("selfplay.generate", "out=OUT", "checkpoints=[nowhere]"), "nowhere"),
    (("selfplay.generate", "out=OUT", "engine.device=cuda"), "engine.device=cuda"),
    (("learner", "data=EMPTY", "out=OUT", "model=fc", "game=skat"), "EMPTY"),
    ((*TOURNAMENT, "players=[hearts_rules,argmax_val]"), "argmax_val"),
    ((*RATING, "players=[hearts_rules,argmax_val]"), "argmax_val"),
    (("search.arena.values", "game=skat", "checkpoint=NETWORK", "out=OUT/x.json"), "NETWORK"),
    ((*TOURNAMENT, "players=[pimc,random]", "search.pimc.runs=2000000000"), "player 'pimc': one decision"),
    ((*TOURNAMENT, f"players=['{WEIGHED}',random]"), WEIGHED),
    ((*TOURNAMENT, PLAYERS, "deals=100000000", f"table_size={10**9}"), "table_size=1"),
    ((*RATING, "players=['is_mcts:runs=100000000000',random]"), "is_mcts:runs=1"),
    ((*VALUES, "player='go_mcts:num_runs=100000000000'"), "go_mcts:num_runs=1"),
    ((*VALUES, "worlds=1000000", f"table_size={10**9}"), "table_size=1"),
    (("selfplay", *RUN, f"evaluation.final=[{{players: ['{MANY}', random]}}]"), MANY),
    (("selfplay", *RUN, f"selfplay.games_per_shard={10**9}", f"selfplay.initial_games={10**9}"), "games_per_shard=1"),
    (("selfplay", *RUN, f"selfplay.branches={10**9}"), f"branches={10**9}: no sequence of hearts has more than 75"),
    (("selfplay", "experiment=alphahearts", "run.dir=OUT", "model.width=1000000"), "model.width"),
    (("selfplay.generate", "out=OUT", *(f"games{key}={10**9}" for key in ("", "_per_shard", "_per_table"))), "table=1"),
    (("selfplay.generate", "out=OUT", f"games={10**9}", f"games_per_shard={10**9}"), "games_per_shard=1"),
    (("selfplay.generate", "out=OUT", f"branches={10**9}"), f"branches={10**9}: no sequence of hearts has more than"),
]
"""What is refused where the commands above are, or by checks that ``SETTINGS`` meets."""


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize(
    ("command", "message"), [*COMMANDS, *(pytest.param(*row, marks=pytest.mark.slow) for row in MORE)]
)
def test_a_refused_command_says_why_in_one_line_and_leaves_nothing_behind(
    command: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "EMPTY").mkdir()
    save_weights(tmp_path / "NETWORK", tiny_net(GAME), GAME)
    before = set(tmp_path.rglob("*"))
    assert call(monkeypatch, *command) == 2
    refused = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(refused) == (2 if "--multirun" in command else 1) and message in refused[-1]
    assert set(tmp_path.rglob("*")) == before


BEGINS = "defaults: [/kinds/model@_here_: q_network, _self_]\n"


@pytest.mark.parametrize(
    ("preset", "message"),
    [
        ("n_layer: 1", "model: the preset says no kind; begin it with defaults: [/kinds/model@_here_: NAME, _self_]"),
        ("kind: q_network\nwidht: 1", "unknown key 'model.widht'; --cfg job prints the keys and their values"),
        (f"{BEGINS}widht: 1", "model/mine: unknown key 'model.widht'; --cfg job prints the keys and their values"),
    ],
)
def test_a_preset_of_a_network_of_the_users_own_says_its_kind_and_keys_of_it(
    preset: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model/mine.yaml").write_text(preset)
    line = ["--config-dir", str(tmp_path), "experiment=hearts_teacher", "model=mine", f"run.dir={tmp_path}/run"]
    assert call(monkeypatch, "selfplay", *line) == 2
    assert capsys.readouterr().err == f"error: {message}\n"
    (tmp_path / "model/mine.yaml").write_text(f"{BEGINS}width: 17")
    assert call(monkeypatch, "selfplay", *line, "--cfg", "job") == 0
    assert "  kind: q_network\n  architecture: fc\n  width: 17\n" in capsys.readouterr().out
