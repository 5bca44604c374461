"""Records become shards without loss; what cannot be kept is counted and named."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.files.locks import run_lock
from games.registry import make_game
from games.rng import derive_many
from games.shards import find_shards, read_shards
from games.skat.records.agreement import differences
from games.skat.records.iss import read
from games.skat.replay import new_state
from search.config import SearchConfig
from search.players.table import play_table
from search.roster.registry import make_players
from search.scripted.skat.records.__main__ import main
from tests.games.skat.writing import record_line, records_of
from tests.search.records.test_records import FILE, LINES, PASSED

GAME = make_game("skat")


def random_states(seed: int, count: int, scoring: str = "seeger_fabian") -> np.ndarray:
    """Whole deals of random play."""
    game = make_game("skat", {"scoring": scoring})
    states = game.deal(np.arange(count, dtype=np.uint64) + np.uint64(seed))
    game.playout(states, np.arange(count, dtype=np.uint64) + np.uint64(seed + 1_000_000))
    return states


def played_states(seed: int, count: int, scoring: str) -> np.ndarray:
    """Deals of players: bids, hand and null games, discards and sensible play, noise between."""
    game = make_game("skat", {"scoring": scoring})
    seating = np.random.default_rng(seed).choice(3, (count, 3), p=[0.6, 0.3, 0.1])
    players = make_players(["skat_rules", "skat_rules:explore=0.3", "random"], game, SearchConfig())
    return play_table(game, players, seating, derive_many(seed, count), secret=seed).states


def converted(source: Path, out: Path, *options: str) -> int:
    return main(["convert", str(source), "--out", str(out), *options])


@pytest.mark.parametrize("deals", [random_states, played_states])
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32), scoring=st.sampled_from(["seeger_fabian", "classic"]))
def test_deals_come_back_from_records_as_they_were(deals, seed, scoring, tmp_path_factory) -> None:
    directory = tmp_path_factory.mktemp("round")
    game, states = make_game("skat", {"scoring": scoring}), deals(seed, 40, scoring)
    (directory / "records.sgf").write_text(records_of(states))
    assert main(["check", str(directory / "records.sgf")]) == 0
    options = "--scoring", scoring, "--deals-per-shard", "17"
    assert converted(directory / "records.sgf", directory / "back", *options) == 0
    back = read_shards(find_shards(directory / "back"), game)
    assert len(find_shards(directory / "back")) == 3
    seats = np.tile(np.arange(3), 40)
    assert np.array_equal(back.tokens, game.histories(np.repeat(states, 3), seats)[0])
    assert np.array_equal(back.outcome, game.outcome(states).reshape(-1)) and np.array_equal(back.seat, seats)
    assert len(set(back.deal_seed.tolist())) == 40


def test_the_writer_of_these_tests_writes_real_deals_as_the_server_did() -> None:
    """Moves in their order, and the result: the server's own text is the reference."""
    whole = 0
    for text in [*LINES, PASSED]:
        record, state = read(text), new_state()
        if differences(record, state) or state["public"]["turn"] >= 0:
            continue
        ours = record_line(1, state, np.array(record.tokens), np.array(record.seats))
        mine, real = (re.search(r"R\[([^\]]*)\] ?;\)", line)[1].split()[:9] for line in (ours, text))
        assert mine == real
        assert read(ours).tokens == record.tokens and read(ours).seats == record.seats
        whole += 1
    assert whole >= 8


def test_what_is_left_out_is_counted_and_named(tmp_path, capsys) -> None:
    (tmp_path / "real.sgf").write_text("\n".join([*LINES, "hello", PASSED]))
    assert converted(tmp_path / "real.sgf", tmp_path / "out") == 0
    result = json.loads((tmp_path / "out" / "conversion.json").read_text())
    left_out = (tmp_path / "out" / "left_out.txt").read_text().splitlines()
    assert result["records"] == len(LINES) + 2
    assert result["left_out"]["no record"] == result["left_out"]["differs from our rules"] == 1
    assert result["deals"] + sum(result["left_out"].values()) == result["records"]
    assert len(left_out) == sum(result["left_out"].values()) - 1
    rejected = (tmp_path / "out" / "real.sgf.rejected").read_text()
    assert rejected.startswith(f"line {len(LINES) + 1}: not a record: ") and rejected.count("\n") == 1
    assert f"line {len(LINES)}: record 10330141: the record breaks off" in "\n".join(left_out)
    assert any(re.fullmatch(r"line \d+: record 1390253: ended after \d+ cards", line) for line in left_out)
    assert f"{result['deals']} games of {result['records']} records" in capsys.readouterr().out


def test_games_of_weak_players_can_be_left_out(tmp_path) -> None:
    rated = [
        re.sub(r"R0\[[^\]]*\]R1\[[^\]]*\]R2\[[^\]]*\]", f"R0[{rating}]R1[900]R2[900.5]", LINES[0])
        for rating in ("850", "899.9", "900", "null", "")
    ]
    assert all("R2[900.5]" in line for line in rated)
    (tmp_path / "rated.sgf").write_text("\n".join(rated))
    assert converted(tmp_path / "rated.sgf", tmp_path / "out", "--min-rating", "899") == 0
    result = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert (result["deals"], result["left_out"]) == (2, {"rated too low": 3})


def test_the_same_command_again_changes_nothing_and_another_is_refused(tmp_path, capsys) -> None:
    assert converted(FILE, tmp_path / "out") == 0
    said, before = capsys.readouterr().out, {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    assert converted(FILE, tmp_path / "out") == 0
    assert capsys.readouterr().out == said
    assert before == {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    assert converted(FILE, tmp_path / "out", "--scoring", "classic") == 2
    error = capsys.readouterr().err
    assert "was converted with scoring=seeger_fabian, the command says classic" in error and error.count("\n") == 1
    (tmp_path / "other.sgf").write_text(LINES[0])
    assert converted(tmp_path / "other.sgf", tmp_path / "out") == 2
    assert "take another --out" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", [("--records", "-1"), ("--min-rating", "-1"), ("--min-rating", "nan"), ("--deals-per-shard", "0")]
)
def test_numbers_that_mean_nothing_are_refused(options, tmp_path, capsys) -> None:
    assert converted(FILE, tmp_path / "out", *options) == 2
    error = capsys.readouterr().err
    assert error.startswith(options[0]) and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_directory_that_holds_something_else_is_refused(tmp_path, capsys) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.parquet").write_bytes(b"")
    assert converted(FILE, tmp_path / "other") == 2
    assert "other: holds files, and no config.json of a conversion; take another --out\n" in capsys.readouterr().err
    assert converted(FILE, tmp_path / "out") == 0
    (tmp_path / "out" / "conversion.json").write_text("{")
    assert converted(FILE, tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"{tmp_path / 'out' / 'conversion.json'}: is damaged") and error.count("\n") == 1


def test_a_damaged_progress_is_one_clear_line(tmp_path, capsys) -> None:
    out = tmp_path / "out"
    assert converted(FILE, out) == 0
    (out / "conversion.json").unlink()
    for text in ("{", "[]", '{"line": -1}', '{"counts": {"games": "1"}}', '{"shards": [1]}', '{"a": 1}'):
        (out / "progress.json").write_text(text)
        capsys.readouterr()
        assert converted(FILE, out) == 2
        error = capsys.readouterr().err
        assert error == f"{out / 'progress.json'}: is damaged; remove it to convert from the beginning\n"


def test_two_conversions_do_not_write_to_one_directory(tmp_path, capsys) -> None:
    out = tmp_path / "out"
    assert converted(FILE, out) == 0
    (out / "conversion.json").unlink()
    with run_lock(out):
        capsys.readouterr()
        assert converted(FILE, out) == 2
    used = f"{out} is in use by another command (process {os.getpid()}); wait for it or take another\n"
    assert capsys.readouterr().err == used
