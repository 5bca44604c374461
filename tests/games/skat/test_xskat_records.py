"""XSkat's log becomes records that our commands take, marked as having their auctions filled in."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.registry import make_game
from games.shards import find_shards, read_shard, read_shards, shard_info
from games.skat.cards import HOLD, PASS, PICKUP
from games.skat.records.__main__ import main as records
from games.skat.records.iss import FormatError, read
from games.skat.xskat.__main__ import main
from games.skat.xskat.conversion import deals_of, record_of
from games.skat.xskat.log import parse
from games.skat.xskat.program import program
from tests.games.skat.test_xskat import DEALS, LOG, needs_xskat

GAME = make_game("skat")
SHORT = """\
 Computer1   Computer2   Computer3

----------------------------------------
  DIAMOND K   Diamond_7   Diamond J
  Spade_J     Spade 10    SPADE K
  CLUB J      Diamond Q   Club_8
  SPADE Q     Spade 9     Diamond A
  Diamond_8   DIAMOND 9   Club K
---- random_seed 1795765724 3848 1 -----
  Club A      Spade 10    Club K
  Club Q      Spade 9     Club 9
  Club J      Spade 8     Club 8
  Spade A     Spade 7     Club 7
  Spade Q     Heart 9     Spade K
  Spade J     Heart 8     Heart Q
  Heart A     Diamond Q   Heart 10
  Heart K     Diamond 10  Heart 7
  Diamond K   Diamond 9   Diamond A
  Diamond 8   Diamond 7   Diamond J
----------------------------------------
Skat is: Club 10,Heart J
Skat was: Club 10,Heart J
Last bid: 18
Computer2 played Null
Played Hand
Lost
========================================
"""
"""A lost null of which the log has five tricks and no more rows, as XSkat writes three games in 20,000."""


def converted(text: str, directory: Path) -> tuple[int, list[str]]:
    """Exit status, and the records."""
    (directory / "x.log").write_text(text)
    status = main([str(directory / "x.log"), "--out", str(directory / "x.sgf")])
    out = directory / "x.sgf"
    return status, out.read_text().splitlines() if out.exists() else []


def test_a_log_becomes_records_that_check_and_convert_take(tmp_path, capsys) -> None:
    status, lines = converted(LOG + SHORT + "359 414 -69\n", tmp_path)
    assert (status, len(lines)) == (0, 11) and not (tmp_path / "x.log.rejected").exists()
    assert capsys.readouterr().out == f"{tmp_path / 'x.sgf'}: 11 deals; rejected: 0\n"
    assert records(["check", str(tmp_path / "x.sgf")]) == 0
    assert records(["convert", str(tmp_path / "x.sgf"), "--out", str(tmp_path / "out")]) == 0
    (shard,) = find_shards(tmp_path / "out")
    rows = read_shards([shard], GAME)
    assert shard_info(shard).provenance["auction"] == "filled"
    assert set(rows.player) == {"xskat"} and len(rows) == 33
    for line, deal in zip(lines, [*DEALS, SHORT], strict=True):
        record, theirs = read(line), parse(deal)
        assert record.filled and (record.tokens, record.seats) == (theirs.tokens, theirs.seats)
        assert record.hands.tolist() == theirs.hands.tolist()
        assert record.result["end"] == ("passed" if theirs.soloist < 0 else "win" if theirs.won else "loss")
        assert theirs.points in (-1, int(record.result.get("p", 0)))


def test_auctions_are_filled_in_with_the_fewest_calls(tmp_path) -> None:
    """Two pass and the soloist bids once; forehand bids 18 alone or holds the one bid."""
    for line in converted(LOG, tmp_path)[1]:
        record = read(line)
        calls = [token for token in record.tokens if PASS <= token < PICKUP]
        bids = [token for token in calls if token > HOLD]
        assert len(bids) == (0 if record.result["end"] == "passed" else 1)
        assert len(calls) == 3 + calls.count(HOLD) and calls.count(HOLD) <= 1
        assert calls.count(HOLD) == 0 or record.result["d"] == "0"


def test_a_null_that_was_seen_through_is_won_by_giving_up(tmp_path) -> None:
    """No capitals in the last rows: nothing was played any more."""
    deal = next(deal for deal in DEALS if "played Null" in deal and "Won" in deal)
    rows = deal.splitlines()
    last = [number for number, row in enumerate(rows) if re.search(r"[A-Z]{4}", row)][7:10]
    for number in last:
        rows[number] = re.sub(r"[A-Z]{4,}", lambda word: word[0].title(), rows[number]).replace("_", " ")
    status, (line,) = converted("\n".join(rows), tmp_path)
    assert status == 0 and line.count(" RE") == 2 and "win" in line
    assert records(["check", str(tmp_path / "x.sgf")]) == 0
    assert records(["convert", str(tmp_path / "x.sgf"), "--out", str(tmp_path / "out"), "--partial"]) == 0
    (shard,) = find_shards(tmp_path / "out" / "partial")
    assert set(read_shard(shard, GAME).player) == {"xskat:partial"}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("89 points", "90 points", "differs from our rules: card points: XSkat says 90, the replay 89"),
        ("CLUB J", "CLOVER J", "is no row of three cards"),
        ("Last bid: 20", "Last bid: 21", "the last bid or the result is missing"),
        ("Won with: 89 points\n========================================\n", "", "between dashes|the replay|is missing"),
        ("Skat is", "x" * 100_000, "are not the 32 cards"),
    ],
)
def test_a_broken_deal_is_rejected_with_its_line_and_the_rest_is_used(old, new, reason, tmp_path, capsys) -> None:
    text = LOG.replace("=" * 40 + "\n", "=" * 40 + "\n" + DEALS[0].replace(old, new, 1) + "=" * 40 + "\n", 1)
    if old.endswith("=\n"):
        text = LOG.replace(old, new, 1)
    (tmp_path / "x.log").write_text(text)
    status, lines = converted(text, tmp_path)
    (rejected,) = (tmp_path / "x.log.rejected").read_text().splitlines()
    first = 1 if old.endswith("=\n") else LOG[: LOG.index("=" * 40)].count("\n") + 2
    assert status == 0 and rejected.startswith(f"line {first}: ") and re.search(reason, rejected)
    assert len(lines) == (9 if old.endswith("=\n") else 10)
    assert capsys.readouterr().out.endswith("rejected: 1\n")
    assert converted(LOG, tmp_path)[0] == 0 and not (tmp_path / "x.log.rejected").exists()


def test_a_deal_cut_off_by_the_next_one_costs_itself_alone(tmp_path) -> None:
    half = "".join(DEALS[3].splitlines(keepends=True)[:12])
    status, lines = converted(DEALS[0] + "=" * 40 + "\n" + half + DEALS[1] + "=" * 40 + "\n" + half, tmp_path)
    assert status == 0 and len(lines) == 2
    assert len((tmp_path / "x.log.rejected").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hello\n", "x.log.rejected says why"),
        ("", "it is empty"),
        (LOG.replace("Skat is", "Im Skat ist").replace("Club", "Kreuz"), "x.log.rejected says why"),
    ],
)
def test_a_log_without_a_deal_is_one_clear_line(text, why, tmp_path, capsys) -> None:
    assert converted(text, tmp_path) == (2, [])
    assert capsys.readouterr().err == (
        f"{tmp_path / 'x.log'}: no deal of this log can be used; {why}; write one with xskat -lang english -unfmt\n"
    )
    assert not list(tmp_path.glob("*.partial"))


def test_a_missing_log_is_one_clear_line(tmp_path, capsys) -> None:
    assert main([str(tmp_path / "none.log"), "--out", str(tmp_path / "x.sgf")]) == 2
    assert capsys.readouterr().err == f"{tmp_path / 'none.log'}: No such file or directory\n"


@pytest.mark.parametrize("arguments", [["x.log"], ["--out", "x.sgf"]])
def test_a_log_and_an_output_belong_together(arguments, capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "a log and --out FILE belong together" in capsys.readouterr().err.splitlines()[-1]


def test_what_is_for_games_played_now_is_refused_with_a_log(capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["x.log", "--out", "x.sgf", "--games", "5"])
    assert "leave them out with a log" in capsys.readouterr().err.splitlines()[-1]


def test_a_log_is_not_written_over(tmp_path, capsys) -> None:
    (tmp_path / "x.log").write_text("".join(DEALS))
    assert main([str(tmp_path / "x.log"), "--out", str(tmp_path / "x.log")]) == 2
    error = capsys.readouterr().err
    assert "is this file; name another" in error and error.count("\n") == 1
    assert (tmp_path / "x.log").read_text() == "".join(DEALS)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 9), st.lists(st.tuples(st.integers(0, 1100), st.text("=-_ 0123\nADKclubS", max_size=3))))
def test_damaged_logs_are_read_or_refused(number, damage) -> None:
    """Nothing else comes out of a deal than a record that agrees or the one error."""
    text = DEALS[number]
    for place, new in damage:
        text = text[:place] + new + text[place + 1 :]
    for _, deal in deals_of(io.BytesIO(text.encode())):
        try:
            line = record_of(deal, 1)
        except FormatError as error:
            assert "no deal of an XSkat log" in str(error) or "differs from our rules" in str(error)
        else:
            assert read(line).filled


def test_a_log_is_read_from_a_pipe(tmp_path) -> None:
    """As ``xskat -auto N -log - | python -m games.skat.xskat /dev/stdin``: the list of what is rejected is beside the
    records then."""
    command = [sys.executable, "-m", "games.skat.xskat", "/dev/stdin", "--out", str(tmp_path / "x.sgf")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        process.communicate(LOG + "hello\n", timeout=120)
    assert process.returncode == 0 and len((tmp_path / "x.sgf").read_text().splitlines()) == 10
    assert (tmp_path / "x.sgf.rejected").read_text().startswith("line 289: no deal of an XSkat log")


@needs_xskat
def test_a_log_that_xskat_writes_now(tmp_path) -> None:
    log = tmp_path / "x.log"
    command = [program(), "-auto", "400", "-log", "-", "-lang", "english", "-unfmt"]
    log.write_bytes(subprocess.run(command, check=True, capture_output=True, timeout=60, cwd=tmp_path).stdout)
    assert main([str(log), "--out", str(tmp_path / "x.sgf")]) == 0
    assert not (tmp_path / "x.log.rejected").exists()
    assert records(["check", str(tmp_path / "x.sgf")]) == 0
    assert records(["convert", str(tmp_path / "x.sgf"), "--out", str(tmp_path / "out")]) == 0
    assert json.loads((tmp_path / "out" / "conversion.json").read_text())["records"] == 400


@pytest.mark.parametrize(
    ("number", "old", "new"),
    [(7, "_Pass_", "a_Pass_"), (0, "Skat is: Spade 7,Spade Q", "Skat is: Spade 7,Spade Q,Spade 7")],
)
def test_strange_passes_and_discards_are_refused(number, old, new) -> None:
    assert old in DEALS[number]
    with pytest.raises(FormatError, match="no deal of an XSkat log"):
        record_of(DEALS[number].replace(old, new), 1)
