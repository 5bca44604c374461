"""What presets come to, and what versions before have recorded."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from cluster.errors import UserError
from search.config import REMOVED
from selfplay import verify
from selfplay.checks import branched, check
from selfplay.config import GateConfig, InitialConfig, TrainConfig
from selfplay.recorded import plain, typed
from selfplay.report.contents import read_run
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import run, tiny_config
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


def as_before(config: TrainConfig) -> dict[str, Any]:
    """The settings as the version before would have recorded them."""
    settings = plain(config)
    selfplay, gate = (
        settings["selfplay"],
        settings["selfplay"].pop("gate") or {"deals": 0, "margin": 0.0, "seating": "all"},
    )
    selfplay |= {f"gate_{key}": value for key, value in gate.items()}
    selfplay["initial"]["players"] = {"random": 0.0, **selfplay["initial"]["players"]}
    settings["search"] = with_removed(settings["search"])
    return settings


def with_removed(search: dict[str, Any]) -> dict[str, Any]:
    """Settings of players with the defaults of those that have been removed since."""
    return {player: settings | REMOVED.get(player, {}) for player, settings in search.items() if player != "given"}


@pytest.mark.parametrize("gate", [None, GateConfig(2, 0.5, "pairs")])
def test_a_run_of_the_version_before_resumes_is_reported_and_verified(tmp_path: Path, gate: GateConfig | None) -> None:
    config = tiny_config(str(tmp_path))
    initial = InitialConfig({"hearts_rules": 1.0})
    config.selfplay = replace(config.selfplay, iterations=1, initial=initial, gate=gate)
    run(config)
    (tmp_path / "config.yaml").write_text(OmegaConf.to_yaml(OmegaConf.create(as_before(config))))
    played = list(tmp_path.rglob("tournament.json"))
    for file in played:
        results = json.loads(file.read_text())
        for result in results:
            result["settings"]["search"] = with_removed(result["settings"]["search"])
        file.write_text(json.dumps(results))
    assert len(played) == 3 and "keep_subtree" in played[0].read_text()
    read = read_run(str(tmp_path))
    assert typed(read.settings, TrainConfig) == config
    assert verify.main([str(tmp_path)]) == 0
    directory = RunDirectory(config.run.dir)
    directory.check(config)
    with pytest.raises(UserError, match=r"selfplay\.gate\.deals"):
        directory.check(replace(config, selfplay=replace(config.selfplay, gate=GateConfig(9))))
    again = run(config)
    assert not again.generated and not again.trained and not again.evaluated
    assert "gate_deals" not in (tmp_path / "config.yaml").read_text()


def test_a_run_that_used_a_removed_setting_is_refused_by_its_name(tmp_path: Path) -> None:
    config = tiny_config(str(tmp_path))
    settings = as_before(config)
    settings["search"]["go_mcts"]["keep_subtree"] = True
    (tmp_path / "config.yaml").write_text(OmegaConf.to_yaml(OmegaConf.create(settings)))
    with pytest.raises(
        UserError, match=r"with search\.go_mcts\.keep_subtree=True, the command says None; use the same"
    ):
        RunDirectory(config.run.dir).check(config)


def test_settings_that_came_later_are_completed_in_groups_that_may_be_null(tmp_path: Path) -> None:
    config = tiny_config(str(tmp_path))
    config.selfplay.gate = GateConfig(2)
    settings = plain(config)
    del settings["learner"]["loss"]["branch_weight"], settings["selfplay"]["gate"]["seating"]
    (tmp_path / "config.yaml").write_text(OmegaConf.to_yaml(OmegaConf.create(settings)))
    RunDirectory(config.run.dir).check(config)


@pytest.mark.parametrize("first", [None, {}, {"max_steps": 7}])
def test_a_record_that_repeats_the_learner_for_iteration_0_is_read_as_what_differs(
    tmp_path: Path, first: dict[str, int] | None
) -> None:
    config = tiny_config(str(tmp_path))
    settings = plain(config)
    settings["initial_learner"] = None if first is None else settings["learner"] | first
    (tmp_path / "config.yaml").write_text(OmegaConf.to_yaml(OmegaConf.create(settings)))
    config.initial_learner = dict(first or {})
    RunDirectory(config.run.dir).check(config)
    with pytest.raises(UserError, match=r"started with initial_learner\.max_steps=(None|7), the command says 9"):
        RunDirectory(config.run.dir).check(replace(config, initial_learner={"max_steps": 9}))
