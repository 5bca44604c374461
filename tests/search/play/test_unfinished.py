"""A hand that is left midway, and the session that goes on with it."""

import json
from pathlib import Path

import numpy as np
import pytest

from cluster.errors import UserError
from games.game import Game
from games.registry import make_game
from games.shards import read_shard
from search.apps.play.session import Session
from search.apps.play.unfinished import keep, path_of, unfinished
from tests.search.play.material import session_of

PLAYERS = ["random", "random", "random"]


def play(session: Session, decisions: int) -> None:
    """So many decisions, the person's the first legal one."""
    for _ in range(decisions):
        if session.over:
            session.deal()
        elif session.my_turn:
            history = session.history
            legal = session.game.view_legal(session.game.views(history[None], np.array([len(history)])))
            session.act(int(legal[0].argmax()))
        else:
            session.let_play()


@pytest.mark.parametrize("decisions", [1, 5, 30, 80, 150])
def test_the_next_session_is_where_the_last_one_was_left_and_goes_on_alike(decisions: int, tmp_path: Path) -> None:
    one, path = session_of("hearts", seat=2), path_of(str(tmp_path), make_game("hearts"))
    play(one, decisions)
    kept = keep(path, one, PLAYERS)
    assert kept == bool(one.decisions[-1] and not one.over) == Path(path).exists()
    if not kept:
        return
    found = unfinished(path, one.game, PLAYERS, 2, None)
    assert found is not None and found.seed == one.seed
    again = session_of("hearts", seat=2)
    again.resume(found.decisions)
    for _ in range(2):
        np.testing.assert_array_equal(again.history, one.history)
        np.testing.assert_array_equal(again.points, one.points)
        assert again.turn == one.turn
        play(one, 60)
        play(again, 60)
    for number, (session, first) in enumerate(((one, 0), (again, 0), (again, again.finished - 1))):
        session.save(str(tmp_path / f"{number}.parquet"), {}, first)
    whole, same, last = (read_shard(tmp_path / f"{number}.parquet", one.game) for number in range(3))
    np.testing.assert_array_equal(same.tokens, whole.tokens)
    np.testing.assert_array_equal(last.tokens, whole.tokens[-4:])


def test_nothing_is_kept_of_a_hand_that_nobody_has_begun(tmp_path: Path) -> None:
    session, path = session_of("hearts", seat=0), tmp_path / "unfinished-hearts.json"
    path.write_text("{}")
    assert not keep(str(path), session, PLAYERS) and not path.exists()
    assert unfinished(str(path), session.game, PLAYERS, 0, None) is None


def left(tmp_path: Path) -> tuple[Path, Game]:
    session, path = session_of("hearts", seat=0), tmp_path / "unfinished-hearts.json"
    play(session, 20)
    assert keep(str(path), session, PLAYERS)
    return path, session.game


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1, "game": 1}', '{"format": 2}', "\x00"])
def test_a_damaged_file_is_said_in_a_line_and_stays(text: str, tmp_path: Path) -> None:
    path, game = left(tmp_path)
    path.write_text(text)
    with pytest.raises(UserError, match=r"unfinished-hearts\.json: holds no hand \(.*\); remove it"):
        unfinished(str(path), game, PLAYERS, 0, None)
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("players", 5),
        ("players", [1]),
        ("seed", "x"),
        ("seed", -1),
        ("decisions", [[[10**30]]]),
        ("decisions", [[1.0]]),
        ("points", [[0.0] * 4]),
        ("format", 2),
        ("seat", 0.5),
    ],
)
def test_a_wrong_value_is_damage_too(key: str, value: object, tmp_path: Path) -> None:
    path, game = left(tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(UserError, match=r"unfinished-hearts\.json: holds no hand \(.*\); remove it"):
        unfinished(str(path), game, PLAYERS, 0, None)


def test_actions_that_are_not_legal_are_refused(tmp_path: Path) -> None:
    path, game = left(tmp_path)
    record = json.loads(path.read_text())
    (hand,) = record["decisions"]
    at_once = [token for tokens in hand[:4] for token in tokens]
    for wrong, said in (([hand[:5] + hand[:1]], "not legal"), ([hand, []], "not over"), ([[at_once]], "fewer")):
        path.write_text(json.dumps(record | {"decisions": wrong}))
        found = unfinished(str(path), game, PLAYERS, 0, None)
        assert found is not None
        with pytest.raises(ValueError, match=said):
            session_of("hearts", seat=0).resume(found.decisions)


def test_other_players_seats_seeds_and_rules_do_not_overwrite_it(tmp_path: Path) -> None:
    path, game = left(tmp_path)
    asked = ((["hearts_rules"] * 3, 0, None), (PLAYERS, 1, None), (PLAYERS, 0, 99))
    for players, seat, seed in asked:
        with pytest.raises(UserError, match=r"left midway, seat=0 players=\[random,random,random\]; give these"):
            unfinished(str(path), game, players, seat, seed)
    with pytest.raises(UserError, match="holds a hand of other rules"):
        unfinished(str(path), make_game("hearts", {"pass_cards": False}), PLAYERS, 0, None)
    assert path.exists()
