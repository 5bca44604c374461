"""Records become shards without loss; what cannot be kept is counted and named."""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.files.locks import run_lock
from games.registry import make_game
from games.rng import derive_many
from games.shards import Sequences, ShardError, find_shards, read_shard, read_shards, shard_info
from games.skat.cards import VOCABULARY
from games.skat.records.agreement import differences
from games.skat.records.iss import read
from games.skat.replay import new_state
from search.config import SearchConfig
from search.players.table import play_table
from search.roster.registry import make_players
from search.scripted.skat.records.__main__ import main
from search.scripted.skat.records.selection import is_bot
from tests.games.skat.writing import record_line, records_of
from tests.search.records.test_records import BY_ID, FILE, LINES, PASSED

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
    assert converted(written(tmp_path / "real.sgf", [*LINES, "hello", PASSED]), tmp_path / "out") == 0
    result = result_of(tmp_path / "out")
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


def refused(source: Path, out: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """The one line with which a conversion is refused."""
    capsys.readouterr()
    assert converted(source, out, *options) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def result_of(out: Path) -> dict:
    return json.loads((out / "conversion.json").read_text())


def written(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("\n".join(lines))
    return path


def test_the_same_command_again_changes_nothing_and_another_is_refused(tmp_path, capsys) -> None:
    out = tmp_path / "out"
    assert converted(FILE, out) == 0
    said, before = capsys.readouterr().out, {p.name: p.read_bytes() for p in out.iterdir()}
    assert converted(FILE, out) == 0
    assert capsys.readouterr().out == said
    assert before == {p.name: p.read_bytes() for p in out.iterdir()}
    assert "was converted with scoring=seeger_fabian, the command says classic" in refused(
        FILE, out, capsys, "--scoring", "classic"
    )
    for option in (["--no-bots"], ["--since", "2000-01-01"], ["--drop-duplicates"], ["--partial"]):
        assert f"was converted with {option[0][2:].replace('-', '_')}=" in refused(FILE, out, capsys, *option)
    assert "take another --out" in refused(written(tmp_path / "other.sgf", LINES[:1]), out, capsys)
    config = json.loads((out / "config.json").read_text())
    (out / "config.json").write_text(json.dumps({**config, "format": 2}))
    assert "(format 2: this program reads format 1); take another --out" in refused(FILE, out, capsys)


@pytest.mark.parametrize(
    "options",
    [
        *(("--records", "-1"), ("--min-rating", "-1"), ("--min-rating", "nan"), ("--deals-per-shard", "0")),
        *(("--since", day) for day in ("2010-12", "20101206", "2010-13-01", "yesterday")),
    ],
)
def test_what_means_nothing_is_refused(options, tmp_path, capsys) -> None:
    error = refused(FILE, tmp_path / "out", capsys, *options)
    assert error.startswith(options[0]) and not (tmp_path / "out").exists()
    assert options[0] != "--since" or error == f"--since {options[1]}: give a day as YYYY-MM-DD\n"


def test_a_directory_that_holds_something_else_or_is_damaged_or_in_use_is_refused(tmp_path, capsys) -> None:
    out = tmp_path / "out"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.parquet").write_bytes(b"")
    told = "other: holds files, and no config.json of a conversion; take another --out\n"
    assert refused(FILE, tmp_path / "other", capsys).endswith(told)
    assert converted(FILE, out) == 0
    (out / "conversion.json").write_text("{")
    assert refused(FILE, out, capsys).startswith(f"{out / 'conversion.json'}: is damaged")
    (out / "conversion.json").unlink()
    with run_lock(out):
        used = f"{out} is in use by another command (process {os.getpid()}); wait for it or take another\n"
        assert refused(FILE, out, capsys) == used


EARLY = ("1039093", "1390253", "18358")
"""Ended after 18 cards, before the first and after the first card."""


def test_where_nothing_can_be_used_the_lists_that_say_why_are_named(tmp_path, capsys) -> None:
    bad, empty = written(tmp_path / "bad.sgf", ["hello", BY_ID["10330141"]]), written(tmp_path / "empty.sgf", ["", ""])
    why = f"see left_out.txt and bad.sgf.rejected in {tmp_path / 'out'}\n"
    assert refused(bad, tmp_path / "out", capsys) == f"{bad}: no game of this file agrees with our rules; {why}"
    assert refused(empty, tmp_path / "none", capsys).endswith("agrees with our rules; it has no records\n")


@pytest.mark.parametrize(
    ("name", "bot"),
    [("kermit", True), ("kermit:2", True), ("theCount:12", True), ("Bernie", True), ("kermit2", False), ("", False)],
)
def test_bots_are_known_by_their_names(name, bot, tmp_path) -> None:
    assert is_bot(name) == bot
    one = written(tmp_path / "one.sgf", [LINES[0], LINES[0].replace("P1[east]", f"P1[{name}]")])
    assert converted(one, tmp_path / "out", "--no-bots") == 0
    assert result_of(tmp_path / "out")["left_out"] == ({"a bot plays": 1} if bot else {})


def test_some_records_alone_games_of_strong_players_and_since_a_day_can_be_asked_for(tmp_path) -> None:
    assert converted(FILE, tmp_path / "three", "--records", "3") == 0
    assert result_of(tmp_path / "three")["records"] == 3
    rated = [
        re.sub(r"R0\[[^\]]*\]R1\[[^\]]*\]R2\[[^\]]*\]", f"R0[{rating}]R1[900]R2[900.5]", LINES[0])
        for rating in ("850", "899.9", "900", "null", "")
    ]
    assert all("R2[900.5]" in line for line in rated)
    assert converted(written(tmp_path / "rated.sgf", rated), tmp_path / "strong", "--min-rating", "899") == 0
    result = result_of(tmp_path / "strong")
    assert (result["deals"], result["left_out"]) == (2, {"rated too low": 3})
    dates = ("2010-12-05/23:59:59/UTC", "2010-12-06/00:00:00/UTC", "2011-01-01", "06.12.2010", "2010-13-01", "")
    dated = [re.sub(r"DT\[[^\]]*\]", f"DT[{date}]" if date else "", LINES[0]) for date in dates]
    assert "DT[" not in dated[-1]
    assert converted(written(tmp_path / "dated.sgf", dated), tmp_path / "since", "--since", "2010-12-06") == 0
    assert result_of(tmp_path / "since")["left_out"] == {"no readable date": 3, "too old": 1}


def test_the_same_deal_with_the_same_actions_is_kept_once(tmp_path) -> None:
    other = BY_ID["541932"].replace("2 CT 0 H7", "2 CT 0 HA").replace("0 HA 1 SQ", "0 H7 1 SQ")
    again = BY_ID["541932"].replace("ID[541932]", "ID[7]").replace("P0[north]", "P0[south]")
    twice = written(tmp_path / "twice.sgf", [BY_ID["541932"], LINES[1], again, other, BY_ID["541932"]])
    converted(twice, tmp_path / "all")
    converted(twice, tmp_path / "once", "--drop-duplicates")
    before, after = result_of(tmp_path / "all"), result_of(tmp_path / "once")
    assert after["left_out"].pop("duplicate") == 2
    assert before["deals"] - 2 == after["deals"] and before["left_out"] == after["left_out"]
    left_out = (tmp_path / "once" / "left_out.txt").read_text()
    assert "line 3: record 7: duplicate\n" in left_out and "line 5: record 541932: duplicate\n" in left_out


def test_games_that_end_early_are_kept_apart_up_to_there(tmp_path) -> None:
    real = written(tmp_path / "real.sgf", [*LINES, PASSED])
    assert converted(real, tmp_path / "out", "--partial") == 0 == converted(real, tmp_path / "whole")
    (whole,), (alone,) = find_shards(tmp_path / "out"), find_shards(tmp_path / "whole")
    assert Path(whole).read_bytes() == Path(alone).read_bytes(), "whole games are as they are without --partial"
    (early,) = find_shards(tmp_path / "out" / "partial")
    rows, info = read_shard(early, GAME), shard_info(early)
    assert info.provenance["partial"] == "true" and "partial" not in shard_info(whole).provenance
    assert result_of(tmp_path / "out")["partial"] == 3 and len(rows) == 9
    assert set(rows.player) == {"iss:partial"} and not rows.outcome.any()
    assert rows.deal_seed[::3].tolist() == [number for number, line in enumerate(LINES, 1) if read(line).id in EARLY]
    nothing = PASSED.replace("1 p 2 p 0 p ]R[passed]", "w LE.2 ]R[d:-1 penalty v:0 l:2]")  # ended before anybody acts
    assert converted(written(tmp_path / "left.sgf", [nothing, LINES[0]]), tmp_path / "left", "--partial") == 0
    assert result_of(tmp_path / "left")["left_out"] == {"ended early": 1}


def test_games_that_broke_off_come_back_up_to_there(tmp_path) -> None:
    """Against the same games whole: each partial history is the beginning of the whole one."""
    states, cards = random_states(11, 300), np.random.default_rng(11).integers(1, 50, 300)
    (tmp_path / "cut.sgf").write_text(records_of(states, cards))
    assert main(["check", str(tmp_path / "cut.sgf")]) == 0
    converted(tmp_path / "cut.sgf", tmp_path / "cut", "--partial")
    shards = find_shards(tmp_path / "cut" / "partial")
    early = Sequences.concat([read_shard(path, GAME) for path in shards])
    with pytest.raises(ShardError, match="games that broke off, without outcomes"):
        read_shards(shards, GAME)  # as training reads them
    assert 100 < len(early) // 3 < 250 and result_of(tmp_path / "cut")["deals"] + len(early) // 3 == 300
    for tokens, line, seat in zip(early.tokens, early.deal_seed, early.seat, strict=True):
        length = int((tokens != VOCABULARY.eos).sum())
        theirs = states[int(line) - 1]["tokens"][seat]
        assert np.array_equal(tokens[:length], theirs[:length]) and theirs[length] != VOCABULARY.eos
