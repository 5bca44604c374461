"""Players whose choices are judged by the reference that values are measured with."""

import json
from pathlib import Path

import numpy as np
import pytest

from games.hearts.game import HeartsGame
from search.arena.values.decisions import choices_of, draw_decisions
from search.players.random_player import Exploring, RandomPlayer
from search.scripted.hearts.rules import HeartsRules
from tests.selfplay.commands import here

HEARTS = HeartsGame()


def test_players_are_judged_by_their_choices_beside_the_network(network: str, tmp_path: Path) -> None:
    out = tmp_path / "values.json"
    players = ["argmax_val:threshold=0.3", "go_mcts:num_runs=4", "hearts_rules"]
    settings = [f"checkpoint={network}", "decisions=12", "worlds=4", "table_size=5", f"players={json.dumps(players)}"]
    settings += ["thresholds=[0.05,0.3]", "policy_weights=[0]", f"out={out}"]
    assert "less regret than" in here("search.arena.values", *settings).stdout
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


def test_a_measurement_without_a_file_touches_nothing_in_the_working_directory(
    network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    settings = [f"checkpoint={network}", "decisions=3", "worlds=2", "players=[hearts_rules]"]
    assert here("search.arena.values", *settings).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
