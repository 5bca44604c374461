"""What presets come to, and what versions before have recorded."""

from pathlib import Path

import pytest

from cluster.errors import UserError
from selfplay.checks import check
from selfplay.config import GateConfig, TrainConfig
from selfplay.recorded import typed
from selfplay.report.contents import read_run
from selfplay.run_directory import RunDirectory
from selfplay.targets import branched
from tests.selfplay.material import tiny_config
from tests.test_repository import build_command


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
    assert build_command("train", "experiment=alphahearts_paper", "selfplay.gate.deals=0").selfplay.gate.deals == 0
    given = build_command("train", "experiment=hearts_paper", "selfplay.gate={deals: 7}").selfplay.gate
    assert given == GateConfig(7)
    changed = build_command("train", "experiment=alphahearts_paper", "selfplay.gate.deals=7").selfplay.gate
    assert changed == GateConfig(7, 0.5, "pairs")


@pytest.mark.parametrize(
    "given",
    [
        "selfplay.initial.players=[skat_rules]",
        "selfplay.initial={players: [skat_rules]}",
        "selfplay={initial: {players: [skat_rules]}}",
    ],
)
def test_players_on_the_command_line_are_all_that_play(given: str) -> None:
    selfplay = build_command("train", "experiment=skat_paper", given).selfplay
    assert selfplay.initial.players == ["skat_rules"]
    assert selfplay.iterations == 20  # a group that is given in part keeps its other keys


def test_a_run_of_another_format_or_with_other_keys_is_refused_in_a_line(tmp_path: Path) -> None:
    config, file = tiny_config(str(tmp_path)), tmp_path / "config.yaml"
    run = RunDirectory(config.run.dir)
    run.begin(config)
    text = file.read_text()
    assert text.startswith("format: 2\n") and typed(read_run(str(tmp_path)).settings, TrainConfig) == config
    for format_, said in (("1", "format 1"), ("true", "format True"), ("null", "no format number")):
        file.write_text(text.replace("format: 2", f"format: {format_}", 1))
        with pytest.raises(UserError, match=rf"config\.yaml: {said}: this program reads format 2; take another dir"):
            run.check(config)
    file.write_text(text.replace("  go_mcts:\n", "  go_mcts:\n    keep_subtree: true\n"))
    with pytest.raises(UserError, match=r"search\.go_mcts\.keep_subtree=True, the command says None; use the same"):
        run.check(config)
    run.write_state(1, "train")
    state = tmp_path / "state.json"
    state.write_text(state.read_text().replace('"format": 2', '"format": 1'))
    with pytest.raises(UserError, match=r"state\.json: is damaged \(format 1: this program reads format 2\)"):
        run.state()
