"""What a Q-network thinks of first actions: whom it is asked for, what is gathered, and the command."""

import json
from pathlib import Path

import numpy as np
import pytest

from games.hearts.game import HeartsGame
from games.rng import derive, derive_many
from learner.config import EngineConfig
from learner.q_network.engine import QEngine
from search.arena.openings import measure, report
from search.arena.openings.measure import by_action, first_values, suit_place
from search.arena.openings.report import OpeningsResult
from tests.search.state_models import NO_PASS
from tests.search.toy import ToyGame
from tests.selfplay.commands import here


class Tokens:
    """q is minus the token's id, less 2 in every other row; remembers who was asked."""

    def __init__(self, tokens: int) -> None:
        self.tokens, self.seats = tokens, list[int]()

    def values(self, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
        odd = (len(self.seats) + np.arange(len(seats))) % 2
        self.seats += seats.tolist()
        return -(np.arange(self.tokens)[None] + 2.0 * odd[:, None]).astype(np.float32)


def result_of(game: HeartsGame | ToyGame, points: np.ndarray, legal: np.ndarray) -> OpeningsResult:
    actions = tuple(by_action(game.vocabulary.names, points, legal))
    return OpeningsResult(game.name, dict(game.options), len(points), 1, actions, {})


def test_seat_0_leads_any_of_its_13_cards_and_points_are_minus_q(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Tokens(NO_PASS.vocabulary.size)
    points, legal = first_values(NO_PASS, model, 40, seed=3)
    assert model.seats == [0] * 40 and (legal.sum(axis=1) == 13).all() and not legal[:, 52:].any()
    values = {value.action: value for value in by_action(NO_PASS.vocabulary.names, points, legal)}
    assert sum(value.deals for value in values.values()) == 40 * 13
    queen = NO_PASS.vocabulary.names.index("QS")
    hands = NO_PASS.deal(derive_many(derive(3, "openings", "deals"), 40))
    held = np.flatnonzero(NO_PASS.legal(hands)[:, queen])
    odd = held % 2
    assert values["QS"].deals == len(held)
    assert values["QS"].mean == pytest.approx(queen + 2 * odd.mean())
    assert values["QS"].variance == pytest.approx(np.var(2 * odd, ddof=1))
    monkeypatch.setattr(measure, "_BATCH", 7)
    again, legal_again = first_values(NO_PASS, Tokens(NO_PASS.vocabulary.size), 40, seed=3)
    assert (again == points).all() and (legal_again == legal).all(), "deals do not depend on how they are batched"
    assert (first_values(NO_PASS, model, 40, seed=4)[1] != legal).any()


def test_figures_of_one_card_by_hand() -> None:
    legal = np.ones((6, 1), bool)
    legal[5] = False
    (value,) = by_action(["AS"], np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [99.0]]), legal)
    half = 2.7764451 * np.sqrt(2.5 / 5)  # Student's t of 4 degrees of freedom
    assert (value.action, value.deals, value.mean, value.variance) == ("AS", 5, 3.0, 2.5)
    assert (value.low, value.high) == (pytest.approx(3 - half), pytest.approx(3 + half))
    (alone,) = by_action(["AS"], np.array([[7.0]]), np.ones((1, 1), bool))
    assert (alone.mean, alone.low, alone.high, alone.variance) == (7.0, None, None, None)


def test_cards_are_ordered_by_suit_and_rank_and_others_as_the_vocabulary_has_them() -> None:
    names = NO_PASS.vocabulary.names
    ordered = [value.action for value in by_action(names, np.zeros((1, 52)), np.ones((1, 52), bool))]
    assert ordered[:3] == ["2C", "3C", "4C"] and ordered[12:14] == ["AC", "2D"] and ordered[-2:] == ["KS", "AS"]
    assert suit_place(["S7", "S8", "S9", "H7"]) == 0 and suit_place(["pass", "7S"]) is None
    toy = ToyGame()
    points, legal = first_values(toy, Tokens(toy.vocabulary.size), 30, seed=1)
    result = result_of(toy, points, legal)
    assert [value.action for value in result.actions] == list(toy.vocabulary.names[:5])
    assert sum(value.deals for value in result.actions) == 60  # two cards a hand
    assert report.charts(result).startswith(b"\x89PNG")


# ---- the command


def test_the_command_writes_what_the_network_says(q_network: str, tmp_path: Path) -> None:
    out, picture = tmp_path / "new/openings.json", tmp_path / "new/openings.png"
    given = ["search.arena.openings", f"checkpoint={q_network}", "deals=30", f"out={out.parent}"]
    given.append("engine.precision=fp32")
    done = here(*given)
    assert "first decisions in hearts: 30 deals" in done.stdout and "openings.json, openings.png" in done.stdout
    record = json.loads(out.read_text())
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert record["format"] == 1 and record["settings"]["checkpoint"]["path"] == q_network
    states = NO_PASS.deal(derive_many(derive(1, "openings", "deals"), 30))
    q = QEngine(q_network, NO_PASS, EngineConfig(precision="fp32")).values(states, np.zeros(30, np.int64))
    ace = NO_PASS.vocabulary.names.index("AH")
    held = NO_PASS.legal(states)[:, ace]
    (found,) = (action for action in record["actions"] if action["action"] == "AH")
    assert found["deals"] == held.sum() and found["mean"] == pytest.approx(-q[held, ace].mean(), abs=1e-4)
    stamp = out.stat().st_mtime_ns
    picture.unlink()
    again = here(*given).stdout
    assert "first decisions in hearts: 30 deals" in again and "openings.json: asked before" in again
    assert out.stat().st_mtime_ns == stamp and picture.exists()
    for other in ("deals=31", "engine.precision=bf16"):
        refused = here(*given, other)
        assert refused.returncode == 2 and "openings.json: holds openings with " in refused.stderr
        assert f", and this one has {other}" in refused.stderr
    assert json.loads(out.read_text()) == record
    out.write_text("{}")
    refused = here(*given)
    assert refused.returncode == 2 and "holds no openings (no format number: this program" in refused.stderr
