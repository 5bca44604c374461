"""Questions of other programs: answers, mistakes, batches, and the lines of ``kibitz engine``."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games.registry import make_game
from games.rng import derive_many
from learner.config import EngineConfig
from search.apps.engine.engine import MoveEngine
from search.apps.play.hints import Hints
from search.arena.judges import load_judge
from search.go_mcts.config import GoMctsConfig
from search.roster.engines import Engines
from search.scripted.skat.records.sequences import read_records
from tests.search.serve.material import EACH_GAME
from tests.selfplay.commands import here

RECORDS = Path(__file__).parents[2] / "games" / "skat" / "iss_records.sgf"


def questions_of(name: str, count: int) -> list[dict[str, Any]]:
    """Every turn of some random deals: the seat's history."""
    game, found = make_game(name), list[dict[str, Any]]()
    states, names = game.deal(derive_many(2, count)), game.vocabulary.names
    while len(going := np.flatnonzero(game.to_move(states) >= 0)):
        states = states[going]
        seats = game.to_move(states).astype(np.int64)
        for seat, row, length in zip(seats, *game.histories(states, seats), strict=True):
            found.append({"id": len(found), "seat": int(seat), "history": [names[t] for t in row[:length]]})
        legal = game.legal(states)
        game.play(states, (legal * np.random.default_rng(len(found)).random(legal.shape)).argmax(axis=1))
    return found


@pytest.fixture(scope="module", params=EACH_GAME)
def engine(request: pytest.FixtureRequest) -> MoveEngine:
    game = make_game(request.param)
    return MoveEngine(game, load_judge("", game), 1)


def test_answers_are_what_the_hints_of_the_table_say(engine: MoveEngine) -> None:
    game = engine.game
    model = Engines(game, EngineConfig()).get(f"kibitz:{game.name}")
    hints = Hints(game, model, GoMctsConfig(), 1)
    asked = questions_of(game.name, 2)[::9]
    tokens = {name: token for token, name in enumerate(game.vocabulary.names)}
    for question, answer in zip(asked, engine.answers(asked), strict=True):
        expected = hints.expect(np.array([tokens[name] for name in question["history"]]))
        assert expected is not None and answer["id"] == question["id"]
        assert answer["expected"] == pytest.approx(expected.value * engine.setup.scale, abs=2e-3 * engine.setup.scale)
        found = {one["action"]: one for one in answer["actions"]}
        assert set(found) == {game.vocabulary.names[hint.token] for hint in expected.actions}
        for hint in expected.actions:
            one = found[game.vocabulary.names[hint.token]]
            assert one["probability"] == pytest.approx(hint.probability, abs=2e-3)
            assert one["value"] == pytest.approx(hint.value * engine.setup.scale, abs=2e-3 * engine.setup.scale)


def test_what_is_asked_beside_a_question_does_not_matter(engine: MoveEngine) -> None:
    asked = questions_of(engine.game.name, 2)
    together = engine.answers(asked)
    for number in range(0, len(asked), 11):
        (alone,) = engine.answers([asked[number]])
        assert alone["best"] == together[number]["best"]
        assert alone["expected"] == pytest.approx(together[number]["expected"], abs=1e-3 * engine.setup.scale)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (None, "must be an object with id, seat, history, record"),
        ({"id": 1, "histroy": []}, "'histroy': no such key; there are id, seat, history"),
        ({"id": 1}, "history: give it or record, and not both"),
        ({"id": 1, "history": []}, "history: List should have at least 1 item"),
        ({"id": 1, "history": None}, "history: Input should be a valid list"),
        ({"id": 1, "history": ["forehand", 3]}, "history[1]: Input should be a valid string"),
        ({"id": 1, "history": ["forehand", "2C"]}, "history[1]: '2C' is no token of skat"),
        ({"id": 1, "history": ["forehand", "D9", "D9"]}, "history: what it says could not have happened"),
        ({"id": 1, "history": ["forehand"] * 500}, "history: has 500 tokens; a history has less than"),
        ({"id": 1, "seat": True, "history": ["forehand"]}, "seat: Input should be a valid integer"),
        ({"id": 1, "seat": -1, "history": ["forehand"]}, "seat: Input should be greater than or equal to 0"),
        ({"id": 1, "seat": 3, "history": ["forehand"]}, "seat: 3 is no seat; skat has 0 to 2"),
    ],
)
def test_what_cannot_be_answered_says_why_and_disturbs_nothing(question: Any, said: str) -> None:
    game = make_game("skat")
    engine = MoveEngine(game, load_judge("", game), 1)
    good = {"id": "x", "history": ["forehand"]}
    first, second = engine.answers([question, good])
    assert said in first["error"] and first.get("id") == (question or {}).get("id")
    assert second["id"] == "x" and second["actions"] == [] and second["best"] is None and "error" not in second


def test_a_record_is_answered_decision_by_decision() -> None:
    """As the histories of its seat are."""
    game = make_game("skat")
    engine = MoveEngine(game, load_judge("", game), 1)
    record = RECORDS.read_text(encoding="utf-8").splitlines()[0]
    (answer,) = engine.answers([{"id": 1, "seat": 1, "record": record}])
    apart = "\ufeff" + record.replace("]", "]\r\n")
    assert engine.answers([{"id": 1, "seat": 1, "record": apart}]) == [answer]
    tokens = read_records(RECORDS, 1).sequences.tokens[1]
    names = [game.vocabulary.name(token) for token in tokens]
    for decision in answer["decisions"]:
        assert names[decision["place"]] == decision.pop("played")
        (alone,) = engine.answers([{"seat": 1, "history": names[: decision.pop("place")]}])
        assert alone["best"] == decision["best"] and len(alone["actions"]) == len(decision["actions"]) > 1
        assert alone["expected"] == pytest.approx(decision["expected"], abs=0.2)
    assert len(answer["decisions"]) > 5
    for wrong, said in (
        ("junk", "record: has no deal to review"),
        (5, "record: Input should be a valid string"),
        (f"{record}\n{record}\n", "record: must be the text of one record"),
        (f"{record}\r{record}\r", "record: must be the text of one record"),
        (f"{record}{record}", "record: must be the text of one record"),
        (f"{record[:400]}{record}", "record: must be the text of one record; 1 line left out: no record of a deal"),
        ("(;" + "A" * 7_000 + ";)", "record: has no deal to review"),
        ("", "record: has no deal to review"),
        ("A" * 60_000, "record: String should have at most 8000 characters"),
    ):
        assert said in engine.answers([{"record": wrong}])[0]["error"]
    assert engine.answers([{"record": record, "history": ["forehand"]}])[0] == {
        "error": "history: give it or record, and not both"
    }
    other = MoveEngine(make_game("skat", {"scoring": "classic"}), engine.setup, 1)
    assert "record: is read by the rules" in other.answers([{"record": record}])[0]["error"]
    hearts = MoveEngine(make_game("hearts"), engine.setup, 1)
    assert hearts.answers([{"record": record}])[0]["error"] == "record: hearts has no records; give a history"


def test_lines_in_and_out_of_the_command_also_such_as_are_no_json(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = questions_of("skat", 1)[:12]
    lines = [json.dumps(one).encode() for one in asked]
    lines[3:3] = [b"", b"no json", b"[]", b'{"id": NaN}', b'{"id": 1e999}']
    lines += [b'{"id": "\xe4", "history": ["forehand"]}', b'{"id": 12, "history": ["forehand"]}']
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\n".join(lines)), "utf-8", "strict"))
    done = here("search.apps.engine", "skat", "batch=4")
    assert done.returncode == 0, done.stderr
    about, *answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert about["game"] == "skat" and about["player"].endswith("@kibitz:skat") and about["seats"] == 3
    assert [one.get("id") for one in answers[:-2]] == [0, 1, 2, None, None, None, None, *range(3, 12)]
    wrong = ("not JSON", "must be an object", "NaN is no JSON", "1e999 is no JSON")
    for answer, said in zip(answers[3:7], wrong, strict=True):
        assert said in answer["error"]
    assert answers[-2]["expected"] == answers[-1]["expected"] and answers[-1]["id"] == 12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["skatt"], "skatt"),
        (["skat", "player=skat_rules"], "it does not say what actions are worth"),
        (["samegame"], "no network ships for samegame: give the player as"),
        (["skat", "batch=0"], "batch=0"),
    ],
)
def test_the_command_says_what_is_wrong_in_a_line(arguments: list[str], said: str) -> None:
    done = here("search.apps.engine", *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr
