"""What presets come to, and what versions before have recorded."""

from pathlib import Path

import pytest

from cluster.errors import UserError
from selfplay.checks import branched, check
from selfplay.config import GateConfig, InitialConfig, TrainConfig
from selfplay.recorded import typed
from selfplay.report.contents import read_run
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import tiny_config
from tests.test_repository import CONF, build_command

POPULATION = {**{f"skat_rules:aggression=0.{n}:noise=0.05": 0.14 for n in range(2, 9)}, "random": 0.02}
EXPERIMENTS: dict[str, tuple[dict[str, float], GateConfig | None]] = {
    "alphahearts": (
        {"pimc:worlds=1:runs=50:cheat=true:exploration=1:utility=own:explore=0.1": 1.0},
        None,
    ),
    "alphahearts_demo": (
        {"pimc:worlds=1:runs=50:cheat=true:exploration=1:utility=own:explore=0.1": 1.0},
        None,
    ),
    "alphahearts_long": (
        {"pimc:worlds=1:runs=50:cheat=true:exploration=1:utility=own:explore=0.1": 1.0},
        None,
    ),
    "alphahearts_paper": (
        {"pimc:worlds=1:runs=50:cheat=true:exploration=1:utility=own:explore=0.1": 1.0},
        GateConfig(500, 0.5, "pairs"),
    ),
    "crew_demo": ({"crew_rules:explore=0.08": 1.0}, None),
    "crew_paper": ({"random": 1.0}, None),
    "crew_strong": ({"crew_rules:explore=0.08": 1.0}, None),
    "skat_strong": ({"skat_rules:noise=0.7:explore=0.02": 1.0}, None),
    "skat_policies_demo": (POPULATION, None),
    "skat_policies": (POPULATION, None),
    "skat_policies_records": ({}, None),
    "hearts_demo": ({"random": 1.0}, None),
    "hearts_paper": ({"random": 1.0}, None),
    "hearts_teacher": ({"hearts_rules:explore=0.08": 1.0}, GateConfig(50)),
    "hearts_strong": ({"hearts_rules:explore=0.08": 1.0}, GateConfig(100)),
    "own": ({"random": 1.0}, GateConfig(50)),
    "samegame_demo": ({"mcts:simulations=16": 1.0}, None),
    "samegame_paper": ({"mcts:simulations=16": 1.0}, None),
    "skat_demo": ({"skat_rules:noise=0.7:explore=0.02": 1.0}, None),
    "skat_paper": ({"random": 1.0, "skat_rules": 1.0}, None),
}
"""Experiment -> who plays iteration 0, and the gate."""


def test_every_experiment_is_listed() -> None:
    assert set(EXPERIMENTS) == {path.stem for path in CONF.glob("experiment/*.yaml")}


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_experiments_have_the_players_and_gates_of_the_list(experiment: str) -> None:
    config: TrainConfig = build_command("train", f"experiment={experiment}")
    players, gate = EXPERIMENTS[experiment]
    assert config.selfplay.initial.players == players and list(config.selfplay.initial.players) == list(players)
    assert config.selfplay.gate == gate


@pytest.mark.parametrize("iterations", [0, 1])
def test_a_preset_whose_later_iterations_learn_from_branches_may_end_with_the_first(
    iterations: int, tmp_path: Path
) -> None:
    run = f"run.dir={tmp_path}/run", f"selfplay.iterations={iterations}"
    config = build_command("train", "experiment=crew_demo", "cluster=local", *run)
    check(config)
    assert branched(config) == (False, iterations > 0)


def test_hearts_paper_still_has_every_rule_of_hearts_but_for_the_moon() -> None:
    paper, hearts = (build_command("train", f"experiment={name}").game for name in ("hearts_paper", "hearts_demo"))
    assert paper.name == hearts.name and paper.options == {**hearts.options, "moon": "shooter_minus_26"}


def test_one_key_loses_a_gate_and_one_gives_a_gate() -> None:
    assert build_command("train", "experiment=alphahearts_paper", "selfplay.gate=null").selfplay.gate is None
    given = build_command("train", "experiment=hearts_paper", "selfplay.gate={deals: 7}").selfplay.gate
    assert given == GateConfig(7)
    changed = build_command("train", "experiment=alphahearts_paper", "selfplay.gate.deals=7").selfplay.gate
    assert changed == GateConfig(7, 0.5, "pairs")


@pytest.mark.parametrize(
    "given",
    [
        "selfplay.initial.players={skat_rules: 2}",
        "selfplay.initial={players: {skat_rules: 2}}",
        "selfplay={initial: {players: {skat_rules: 2}}}",
    ],
)
def test_players_on_the_command_line_are_all_that_play(given: str) -> None:
    selfplay = build_command("train", "experiment=skat_paper", given).selfplay
    assert selfplay.initial.players == {"skat_rules": 2.0}
    assert selfplay.iterations == 20  # a group that is given in part keeps its other keys


def test_a_player_of_weight_0_is_left_out() -> None:
    assert InitialConfig({"hearts_rules": 1.0, "random": 0.0}).players == {"hearts_rules": 1.0}
    with pytest.raises(ValueError, match="one of them above 0"):
        InitialConfig({"random": 0.0})


def test_a_run_of_another_format_or_with_other_keys_is_refused_in_a_line(tmp_path: Path) -> None:
    config, file = tiny_config(str(tmp_path)), tmp_path / "config.yaml"
    run = RunDirectory(config.run.dir)
    run.begin(config)
    text = file.read_text()
    assert text.startswith("format: 1\n") and typed(read_run(str(tmp_path)).settings, TrainConfig) == config
    for format_, said in (("2", "format 2"), ("true", "format True"), ("null", "no format number")):
        file.write_text(text.replace("format: 1", f"format: {format_}", 1))
        with pytest.raises(UserError, match=rf"config\.yaml: {said}: this program reads format 1; take another dir"):
            run.check(config)
    file.write_text(text.replace("  go_mcts:\n", "  go_mcts:\n    keep_subtree: true\n"))
    with pytest.raises(UserError, match=r"search\.go_mcts\.keep_subtree=True, the command says None; use the same"):
        run.check(config)
    run.write_state(1, "train")
    state = tmp_path / "state.json"
    state.write_text(state.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(UserError, match=r"state\.json: is damaged \(format 2: this program reads format 1\)"):
        run.state()
