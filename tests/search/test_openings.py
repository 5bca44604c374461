"""What a Q-network thinks of first actions: whom it is asked for, what is gathered, and the command."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from games.hearts.game import HeartsGame
from games.rng import derive, derive_many
from learner.config import EngineConfig, QNetworkConfig
from learner.model.checkpoint import save_weights
from learner.q_network.architecture import q_architecture
from learner.q_network.engine import QEngine
from learner.q_network.network import QNet, initialise
from search.arena.openings import measure, report
from search.arena.openings.config import OpeningsConfig
from search.arena.openings.measure import by_action, first_values, suit_place
from search.arena.openings.report import OpeningsResult, render
from search.arena.tournament.report import wide_console
from tests.learner.material import tiny_net
from tests.search.toy import ToyGame
from tests.selfplay.commands import call

ROOT = Path(__file__).parents[2]
GAME = HeartsGame(pass_cards=False, no_pts_on_first_trick=False, must_break_hearts=False, free_first_lead=True)


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
    model = Tokens(GAME.vocabulary.size)
    points, legal = first_values(GAME, model, 40, seed=3)
    assert model.seats == [0] * 40 and (legal.sum(axis=1) == 13).all() and not legal[:, 52:].any()
    values = {value.action: value for value in by_action(GAME.vocabulary.names, points, legal)}
    assert sum(value.deals for value in values.values()) == 40 * 13
    queen = GAME.vocabulary.names.index("QS")
    hands = GAME.deal(derive_many(derive(3, "openings", "deals"), 40))
    held = np.flatnonzero(GAME.legal(hands)[:, queen])
    odd = held % 2
    assert values["QS"].deals == len(held)
    assert values["QS"].mean == pytest.approx(queen + 2 * odd.mean())
    assert values["QS"].variance == pytest.approx(np.var(2 * odd, ddof=1))
    monkeypatch.setattr(measure, "_BATCH", 7)
    again, legal_again = first_values(GAME, Tokens(GAME.vocabulary.size), 40, seed=3)
    assert (again == points).all() and (legal_again == legal).all(), "deals do not depend on how they are batched"
    assert (first_values(GAME, model, 40, seed=4)[1] != legal).any()


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
    names = GAME.vocabulary.names
    ordered = [value.action for value in by_action(names, np.zeros((1, 52)), np.ones((1, 52), bool))]
    assert ordered[:3] == ["2C", "3C", "4C"] and ordered[12:14] == ["AC", "2D"] and ordered[-2:] == ["KS", "AS"]
    assert suit_place(["S7", "S8", "S9", "H7"]) == 0 and suit_place(["pass", "7S"]) is None
    toy = ToyGame()
    points, legal = first_values(toy, Tokens(toy.vocabulary.size), 30, seed=1)
    result = result_of(toy, points, legal)
    assert [value.action for value in result.actions] == list(toy.vocabulary.names[:5])
    assert sum(value.deals for value in result.actions) == 60  # two cards a hand
    assert report.charts(result).startswith(b"\x89PNG")


@pytest.mark.filterwarnings("error")
def test_the_picture_has_a_bar_for_each_card_and_a_colour_for_each_suit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "png", lambda figure: figure)
    result = result_of(GAME, *first_values(GAME, Tokens(GAME.vocabulary.size), 6, seed=2))
    means, variances = report.charts(result).axes  # type: ignore[attr-defined]
    assert [bar.get_height() for bar in means.patches] == [value.mean for value in result.actions]
    assert [bar.get_height() for bar in variances.patches] == [value.variance or 0.0 for value in result.actions]
    assert [label.get_text() for label in means.get_xticklabels()] == [value.action for value in result.actions]
    colours = {value.action[1]: bar.get_facecolor() for value, bar in zip(result.actions, means.patches, strict=True)}
    assert len(set(colours.values())) == 4


def test_the_table_has_a_row_for_each_action() -> None:
    points, legal = np.array([[-0.001, 2.0]]), np.ones((1, 2), bool)
    console = wide_console()
    with console.capture() as printed:
        console.print(render(result_of(GAME, points, legal)))
    rows = [line.split() for line in printed.get().splitlines() if "│" in line]
    assert [row[1::2] for row in rows] == [["2C", "1", "0.00", "-", "-"], ["2D", "1", "2.00", "-", "-"]]


# ---- the command


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    net = QNet(q_architecture(GAME, QNetworkConfig(width=8)))
    initialise(net, 1)
    save_weights(path := tmp_path_factory.mktemp("networks") / "q", net, GAME)
    return str(path)


def test_the_command_writes_what_the_network_says(
    checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [f"checkpoint={checkpoint}", "deals=30", f"out={tmp_path / 'new'}", "engine.precision=fp32"]
    line = [sys.executable, "-m", "search.arena.openings", *given]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "first decisions in hearts: 30 deals" in done.stdout and "openings.json, openings.png" in done.stdout
    record = json.loads((tmp_path / "new/openings.json").read_text())
    assert (tmp_path / "new/openings.png").read_bytes().startswith(b"\x89PNG")
    assert record["format"] == 1 and record["settings"]["checkpoint"]["path"] == checkpoint
    states = GAME.deal(derive_many(derive(1, "openings", "deals"), 30))
    q = QEngine(checkpoint, GAME, EngineConfig(precision="fp32")).values(states, np.zeros(30, np.int64))
    ace = GAME.vocabulary.names.index("AH")
    held = GAME.legal(states)[:, ace]
    (found,) = (action for action in record["actions"] if action["action"] == "AH")
    assert found["deals"] == held.sum() and found["mean"] == pytest.approx(-q[held, ace].mean(), abs=1e-4)
    stamp = (tmp_path / "new/openings.json").stat().st_mtime_ns
    (tmp_path / "new/openings.png").unlink()
    capsys.readouterr()
    assert call(monkeypatch, "search.arena.openings", *given) == 0, "the same again"
    again = capsys.readouterr().out
    assert "first decisions in hearts: 30 deals" in again and "openings.json: asked before" in again
    assert (tmp_path / "new/openings.json").stat().st_mtime_ns == stamp and (tmp_path / "new/openings.png").exists()
    assert call(monkeypatch, "search.arena.openings", *given, "deals=31") == 2
    assert "openings.json: holds openings with deals=30, and this one has deals=31; remove " in capsys.readouterr().err
    assert call(monkeypatch, "search.arena.openings", *given, "engine.precision=bf16") == 2
    assert "openings.json: holds openings with engine.precision=fp32" in capsys.readouterr().err
    assert json.loads((tmp_path / "new/openings.json").read_text()) == record
    (tmp_path / "new/openings.json").write_text("{}")
    assert call(monkeypatch, "search.arena.openings", *given) == 2
    assert "openings.json: holds no openings (no format number: this program" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("checkpoint=/nowhere/at/all",), "/nowhere/at/all: no such directory"),
        (("checkpoint=TRANSFORMER",), "model_type is 'kibitz_policy_value'; a transformer is for players whose"),
        (("game=hearts",), "use the checkpoint with the game and rule options it was trained on"),
        (("game=samegame",), "samegame has no numbers for a whole deal"),
        (("out=FILE",), "is a file; give a directory"),
    ],
)
def test_bad_input_ends_in_one_line_before_any_work(
    arguments: tuple[str, ...],
    message: str,
    checkpoint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    save_weights(tmp_path / "net", tiny_net(GAME), GAME)
    (tmp_path / "file").write_text("")
    given = [] if arguments[0].startswith("checkpoint") else [f"checkpoint={checkpoint}"]
    paths = {"TRANSFORMER": str(tmp_path / "net"), "FILE": str(tmp_path / "file")}
    named = [argument.replace(key, path) for argument in arguments for key, path in paths.items() if key in argument]
    assert call(monkeypatch, "search.arena.openings", *given, *(named or arguments)) == 2
    printed = capsys.readouterr().err
    assert message in printed and len(printed.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("setting", "message"), [({"deals": 0}, "deals=0: must be at least 1"), ({"seed": -1}, "seed=-1")]
)
def test_a_setting_out_of_range_is_refused(setting: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OpeningsConfig(**setting)  # type: ignore[arg-type]
