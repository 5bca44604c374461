"""The printer of shards, through its command line."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from games.registry import make_game
from games.rng import derive_many
from games.shards import Sequences, write_shard
from games.show import main


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    game = make_game("hearts", {"jd_bonus": True})
    seeds = derive_many(1, 5)
    states = game.deal(seeds)
    game.playout(states, seeds)
    tokens, _ = game.histories(states, np.zeros(5, int))
    names = np.array([f"player{row}" for row in range(5)], object)
    rows = Sequences(tokens, game.outcome(states)[:, 0], np.zeros(5), names, seeds, np.arange(5))
    write_shard(tmp_path / "s.parquet", rows, game, {"run_seed": "77", "iteration": "002", "shard": "4"})
    return tmp_path / "s.parquet"


def test_the_command_prints_a_hand_as_people_write_it(shard: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "games.show", str(shard), "--row", "2"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"file           {shard}\n")
    for text in ("shard          4", "run_seed       77", "jd_bonus=True", "player2", "dealt ♣", "leader:", "13 "):
        assert text in done.stdout
    assert "player1" not in done.stdout


def test_the_points_printed_are_those_of_the_game(shard: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = make_game("hearts", {"jd_bonus": True})
    states = game.deal(derive_many(1, 5))
    game.playout(states, derive_many(1, 5))
    assert main([str(shard), "--rows", "3:5"]) == 0
    printed = capsys.readouterr().out
    for row in (3, 4):
        assert f"points {' '.join(f'{value:g}' for value in game.points(states)[row])} (own first" in printed


def test_what_others_have_written_does_nothing_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game, evil, path = make_game("hearts"), "\x1b]0;owned\x07\u202ename\n", tmp_path / "s.parquet"
    seeds = derive_many(1, 1)
    states = game.deal(seeds)
    game.playout(states, seeds)
    write_shard(path, Sequences.of_deals(game, states, seeds, evil), game, {"from": evil, evil: "x"})
    assert main([str(path)]) == 0
    printed = capsys.readouterr().out
    assert "player ?]0;owned??name?\n" in printed and "from           ?]0;owned??name?\n" in printed
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"kibitz.rules_version": b"\x1b[2J"}), path)
    assert main([str(path)]) == 2
    printed += capsys.readouterr().err
    assert "written for rules version ?[2J, but" in printed and printed.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (["--row", "5"], "rows 0 to 4"),
        (["--row", "-1"], "rows 0 to 4"),
        (["--rows", "2:9"], "rows 0 to 4"),
        (["--rows", "3:3"], "rows 0 to 4"),
        (["--rows", "three"], "give A:B"),
        (["--rows", "1:x"], "give A:B"),
    ],
)
def test_rows_that_are_not_there_end_in_one_line(
    shard: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    assert main([str(shard), *arguments]) == 2
    printed = capsys.readouterr()
    assert reason in printed.err and printed.err.count("\n") == 1 and printed.out == ""


def test_a_missing_or_broken_file_ends_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    for name in ("missing.parquet", "broken.parquet"):
        assert main([str(tmp_path / name)]) == 2
        printed = capsys.readouterr().err
        assert name in printed and printed.count("\n") == 1
