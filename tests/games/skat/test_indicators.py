"""Indicators of ended deals: soloist, game and value as the server recorded them, and sums that hold in every deal."""

from pathlib import Path

import numpy as np
import pytest

from games.registry import make_game
from games.skat.records.iss import Record, read
from games.skat.replay import new_state, replay

GAME = make_game("skat")
RECORDS = [read(line) for line in (Path(__file__).parent / "iss_records.sgf").read_text().splitlines()]
KINDS = ("grand", "suit", "null", "null_ouvert")


def _ended(record: Record) -> np.ndarray:
    """The record's deal, played to its end by the first legal token."""
    state = new_state()
    assert replay(state, record.hands, np.array(record.seats), np.array(record.tokens)) == -1
    states = np.array([state])
    while GAME.to_move(states)[0] >= 0:
        GAME.play(states, GAME.legal(states).argmax(axis=1))
    return states


@pytest.mark.parametrize(
    ("number", "kind", "hand"),
    [(0, "suit", 0), (1, "suit", 1), (3, "grand", 0), (4, "null_ouvert", 0), (7, "null_ouvert", 1), (9, "grand", 0)],
)
def test_a_recorded_game_is_told_as_the_server_has_it(number: int, kind: str, hand: int) -> None:
    record = RECORDS[number]
    shown = GAME.indicators(_ended(record))
    soloist = np.eye(3)[int(record.result["d"])]
    assert shown["soloist"].tolist() == [soloist.tolist()] and not shown["passed"].any()
    assert {name: shown[name].sum() for name in KINDS} == {name: float(name == kind) for name in KINDS}
    assert shown["hand"].sum() == hand


def test_a_whole_game_has_the_value_of_its_record() -> None:
    for record in RECORDS[:-1]:
        state = new_state()
        replay(state, record.hands, np.array(record.seats), np.array(record.tokens))
        if state["public"]["turn"] < 0:
            shown = GAME.indicators(np.array([state]))
            assert shown["value"].sum() == float(record.result["v"])
            assert (shown["won"].sum() == 1) == (record.result["end"] == "win")


@pytest.mark.parametrize("scoring", ["seeger_fabian", "classic"])
def test_shares_and_points_fit(scoring: str) -> None:
    game = make_game("skat", {"scoring": scoring})
    states = game.deal(np.arange(400, dtype=np.uint64))
    game.playout(states, np.arange(400, dtype=np.uint64))
    shown, points = game.indicators(states), game.points(states)
    assert all(each.shape == (400, 3) and each.dtype == np.float32 for each in shown.values())
    assert np.array_equal(shown["soloist"].sum(axis=1) + shown["passed"][:, 0], np.ones(400))
    assert np.array_equal(sum(shown[name] for name in KINDS), shown["soloist"])
    mine = shown["soloist"] == 1
    premium = 0 if scoring == "classic" else 50 * np.sign(shown["value"][mine])
    assert np.array_equal(points[mine], shown["value"][mine] + premium)
    assert (shown["value"][~mine] == 0).all() and (shown["hand"][~mine] == 0).all()
