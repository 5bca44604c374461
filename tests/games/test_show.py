"""The printer of shards, through its command line."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from games.registry import make_game
from games.rng import derive_many
from games.shards import Sequences, write_shard
from games.show import main, sequence_text

GAME = make_game("hearts", {"jd_bonus": True})
SEEDS = derive_many(1, 5)
STATES = GAME.deal(SEEDS)
GAME.playout(STATES, SEEDS)


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    tokens, _ = GAME.histories(STATES, np.zeros(5, int))
    names = np.array([f"player{row}" for row in range(5)], object)
    rows = Sequences(tokens, GAME.outcome(STATES)[:, 0], np.zeros(5), names, SEEDS, np.arange(5))
    write_shard(tmp_path / "s.parquet", rows, GAME, {"run_seed": "77", "iteration": "002", "shard": "4"})
    return tmp_path / "s.parquet"


def test_the_command_prints_a_hand_as_people_write_it_with_its_points(shard, capsys):
    assert main([str(shard), "--row", "2"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"file           {shard}\n") and "player1" not in printed
    points = " ".join(f"{value:g}" for value in GAME.points(STATES)[2])
    for text in ("shard          4", "run_seed       77", "jd_bonus=True", "player2", "dealt ♣", "leader:", "13 "):
        assert text in printed
    assert f"points {points} (own first" in printed


def test_what_others_have_written_does_nothing_to_the_terminal(tmp_path, capsys):
    evil, path = "\x1b]0;owned\x07\u202ename\n", tmp_path / "s.parquet"
    write_shard(path, Sequences.of_deals(GAME, STATES, SEEDS, evil), GAME, {"from": evil, evil: "x"})
    assert main([str(path)]) == 0
    printed = capsys.readouterr().out
    assert "player ?]0;owned??name?\n" in printed and "from           ?]0;owned??name?\n" in printed
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"kibitz.rules_version": b"\x1b[2J"}), path)
    assert main([str(path)]) == 2
    printed += capsys.readouterr().err
    assert "written for rules version ?[2J, but" in printed and printed.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["s.parquet", "--row", "5"], "rows 0 to 4"),
        (["s.parquet", "--row", "-1"], "rows 0 to 4"),
        (["s.parquet", "--rows", "2:9"], "rows 0 to 4"),
        (["s.parquet", "--rows", "3:3"], "rows 0 to 4"),
        (["s.parquet", "--rows", "three"], "give A:B"),
        (["s.parquet", "--rows", "1:x"], "give A:B"),
        (["missing.parquet"], "missing.parquet"),
        (["broken.parquet"], "broken.parquet"),
    ],
)
def test_what_cannot_be_shown_ends_in_one_line(shard, capsys, arguments, reason):
    (shard.parent / "broken.parquet").write_bytes(b"PAR1")
    assert main([str(shard.parent / arguments[0]), *arguments[1:]]) == 2
    printed = capsys.readouterr()
    assert reason in printed.err and printed.err.count("\n") == 1 and printed.out == ""


def test_a_game_that_broke_off_has_no_points():
    game = make_game("skat")
    states, seeds = game.deal(derive_many(3, 1)), derive_many(3, 1)
    tokens, lengths = game.histories(states, np.zeros(1, np.int64))
    tokens[0, lengths[0] :] = game.vocabulary.eos
    broken = Sequences(tokens, np.zeros(1), np.zeros(1), np.array(["x"], object), seeds, np.zeros(1))
    assert "broke off, no points" in sequence_text(game, broken, 0)
