"""Players whose choices are judged by the reference that values are measured with."""

import json
from pathlib import Path

import numpy as np
import pytest

from games.hearts.game import HeartsGame
from learner.model.checkpoint import save_weights
from search.arena.values.decisions import choices_of, draw_decisions
from search.players.random_player import Exploring, RandomPlayer
from search.scripted.hearts.rules import HeartsRules
from tests.learner.material import tiny_net
from tests.search.killing import kill_after
from tests.selfplay.commands import call

HEARTS = HeartsGame()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("networks") / "tiny"
    save_weights(path, tiny_net(HEARTS), HEARTS)
    return str(path)


def test_players_are_judged_by_their_choices_beside_the_network(
    checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "values.json"
    players = ["argmax_val:threshold=0.3", "go_mcts:num_runs=4", "hearts_rules"]
    settings = [
        f"checkpoint={checkpoint}",
        "decisions=12",
        "worlds=4",
        "table_size=5",
        f"players={json.dumps(players)}",
    ]
    assert (
        call(monkeypatch, "search.arena.values", *settings, "thresholds=[0.05,0.3]", "policy_weights=[0]", f"out={out}")
        == 0
    )
    assert "less regret than" in capsys.readouterr().out
    last = json.loads(out.read_text())["parts"][-1]
    assert list(last["gains"]) == players
    regrets = {name: estimate["value"] for name, estimate in last["regrets"].items()}
    for name in players:
        gain = regrets["argmax_val:threshold=0.05:policy_weight=0"] - regrets[name]
        assert last["gains"][name]["value"] == pytest.approx(gain)
    assert regrets["argmax_val:threshold=0.3"] == pytest.approx(regrets["argmax_val:threshold=0.3:policy_weight=0"])


def test_a_players_choices_are_those_at_a_table_whatever_is_decided_beside_them() -> None:
    decisions = draw_decisions(HEARTS, Exploring(HeartsRules(), 0.1), 30, seed=2)
    views = HEARTS.views(decisions.tokens, decisions.lengths)
    chosen = np.empty(30, np.int64)
    HeartsRules().decide(None, views, chosen)
    every, few = np.arange(30), np.array([3, 17, 29])
    assert np.array_equal(choices_of(HeartsRules(), HEARTS, decisions, every, 3), chosen)
    drawn = choices_of(RandomPlayer(), HEARTS, decisions, every, 3)
    assert np.array_equal(drawn[few], choices_of(RandomPlayer(), HEARTS, decisions, few, 3))


def test_a_measurement_killed_amid_choices_goes_on_and_names_that_have_rows_are_refused(
    checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = [f"checkpoint={checkpoint}", "decisions=12", "worlds=2", "table_size=3", "players=[go_mcts]"]
    settings.append("search.go_mcts.num_runs=3")
    out, parts = tmp_path / "killed.json", tmp_path / "killed.json.parts"
    kill_after(["search.arena.values", *settings, f"out={out}"], parts, 3)
    kept = {path.name for path in parts.glob("choices-0-*")}
    assert kept and not out.exists()
    assert call(monkeypatch, "search.arena.values", *settings, f"out={out}") == 0
    assert call(monkeypatch, "search.arena.values", *settings, f"out={tmp_path / 'calm.json'}") == 0
    assert out.read_bytes() == (tmp_path / "calm.json").read_bytes()
    capsys.readouterr()
    for name in ("random", "argmax_val"):
        assert call(monkeypatch, "search.arena.values", *settings[:-2], f"players=[{name}]") == 2
        assert f"players={name}: has a row of its own in any case; leave it out" in capsys.readouterr().err


def test_a_measurement_without_a_file_touches_nothing_in_the_working_directory(
    checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    settings = [f"checkpoint={checkpoint}", "decisions=3", "worlds=2", "players=[hearts_rules]"]
    assert call(monkeypatch, "search.arena.values", *settings) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
