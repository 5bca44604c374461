"""Real deals of the International Skat Server: ours agree, every difference is noticed, in whatever form they are."""

import bz2
import gzip
import io
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.registry import make_game
from games.shards import find_shards, read_shards
from games.skat.cards import points_of
from games.skat.records import splitting
from games.skat.records.agreement import differences
from games.skat.records.iss import FormatError, _values, read
from games.skat.records.splitting import records_in
from games.skat.replay import new_state
from games.skat.state import aside_of
from search.scripted.skat.records import conversion
from search.scripted.skat.records.__main__ import main
from search.scripted.skat.records.sequences import read_records
from tests.games.skat.writing import record_of

FILE = Path(__file__).parents[2] / "games" / "skat" / "iss_records.sgf"
"""Names replaced. The last was timed out before discarding, and the server judged an empty hand."""
LINES = FILE.read_text().splitlines()
BY_ID = {read(line).id: line for line in LINES}
MORE = FILE.with_name("iss_records_2.sgf")
STOPPED, TIMED_OUT, SCHWARZ, OFF_THE_LADDER = FILE.with_name("iss_ends.sgf").read_text().splitlines()
"""Stopped as an announced schneider was lost; timed out with 68; schwarz announced and lost; a first bid of 22."""
PASSED = BY_ID["9"].split("MV")[0] + re.search(r"MV\[w \S+ ", BY_ID["9"])[0] + "1 p 2 p 0 p ]R[passed] ;)"


Checked = Callable[..., tuple[int, str, str]]


@pytest.fixture
def checked(capsys: pytest.CaptureFixture[str]) -> Checked:
    """Code, output and errors of the command for some files."""
    return lambda *paths: (main(["check", *map(str, paths)]), *capsys.readouterr())


def test_the_command_names_what_differs_and_counts(checked: Checked) -> None:
    assert checked(MORE) == (0, "20 records, 20 agree\n", "")
    code, said, _ = checked(FILE)
    assert code == 1 and said.splitlines() == [
        "record 10330141 (line 11): the record breaks off between declaration and discards: there is no game to judge",
        "11 records, 10 agree",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{LINES[0]}\nhello\n", "line 2: not a record"),
        ("(;GM[Go]MV[]R[] ;)", "line 1: not a record"),
        (LINES[0].replace("HA.SK", "HA.HA"), "the deal is not the 32 cards"),
        (LINES[0].replace("]R[d:2", "]R[x:2"), "neither 'passed' nor has a declarer"),
        ("(" * 100_000, "longer than 65536 characters"),
        ("\x00\xff\n", "line 1: not a record"),
        ("\n", "there is no record in this file"),
        ("", "No such file or directory"),
    ],
)
def test_bad_input_is_one_clear_line(text, says, tmp_path, checked) -> None:
    path = tmp_path / "bad.sgf"
    if text:
        path.write_text(text)
    code, _, error = checked(path)
    assert code == 2 and says in error and error.startswith(f"{path}: ") and error.count("\n") == 1


@pytest.mark.parametrize(
    ("record", "old", "new", "says"),
    [
        ("541932", "d:2 loss", "d:2 win", "end: the record says win, the replay loss"),
        ("541932", "d:2", "d:1", "declarer: the record says 1, the replay 2"),
        ("541932", "v:-54", "v:-50", "value: the record says -50, the replay -54"),
        ("541932", "m:-2", "m:2", "matadors: the record says 2, the replay -2"),
        ("541932", "p:59", "p:60", "card points: the record says 60, the replay 59"),
        ("541932", "t:4", "t:5", "tricks: the record says 5, the replay 4"),
        ("541932", "bidok", "overbid", "overbid: the record says overbid, the replay bidok"),
        ("541932", "s:0", "s:1", "schneider: the record says 1, the replay 0"),
        ("541932", "z:0", "z:1", "schwarz: the record says 1, the replay 0"),
        ("541932", "2 18 0 p", "2 18 0 z", "move 3: 0 z means nothing here"),
        ("541932", "2 18 0 p", "2 19 0 p", "move 2: 2 19 means nothing here"),
        ("541932", "2 18 0 p", "0 18 2 p", "action 2: 18 by forehand, when it is the turn of rearhand"),
        ("541932", "D.ST.H8", "D.ST.D9", "is not legal"),
        ("541932", "w H8.CK", "w H8.CJ", "w H8.CJ means nothing here"),
        ("541932", "1 S7 2 DA", "1 S9 2 DA", "action 23: S9 by middlehand is not legal"),
        ("541932", "2 DA 2 HJ 0 SJ", "2 DA 0 SJ 2 HJ", "SJ by forehand, when it is the turn of rearhand"),
        ("541932", " 1 DK 2 HT ", " 1 DK ", "breaks off after 29 cards"),
        ("541932", " 2 HT ]", " 2 HT 0 HT ]", "when the deal is over"),
        ("8650652", "2 36 1 p", "2 35 1 p", "35 by rearhand is not legal"),
        ("25", "NOH", "NO", "1 NO means nothing here"),
        ("9", "2 CH ", "2 C ", "move 5: 2 C means nothing here"),
        ("1390253", "0 RE", "1 RE", "end: the record says win, the replay loss"),
        (STOPPED, " 1 HJ 2 HT 0 DT ]", " ]", "breaks off after 9 cards"),  # the defenders have 16
        (STOPPED, " 2 HT 0 DT ]", " ]", "breaks off after 10 cards"),
        (STOPPED, "HHS", "HH", "breaks off after 12 cards"),
        (STOPPED, "v:-260", "v:-240", "value: the record says -240, the replay -260"),
        (STOPPED, "loss v:-260", "win v:260", "end: the record says win, the replay loss"),
        (STOPPED, "p:8", "p:9", "card points: the record says 9, the replay 8"),
        (TIMED_OUT, "win v:36", "loss v:-72", "end: the record says loss, the replay win"),
        (TIMED_OUT, "1 18 0 y", "1 40 0 y", "end: the record says win, the replay loss"),  # overbid
        (SCHWARZ, "v:-120", "v:-144", "value: the record says -144, the replay -168"),
        (OFF_THE_LADDER, "0 22", "0 21", "move 3: 0 21 means nothing here"),
        (PASSED, "2 p 0 p ]R[passed]", "w LE.2 ]R[d:-1 win v:0 l:2]", "yet says how the game ended"),
    ],
)
def test_every_kind_of_difference_is_noticed(record, old, new, says) -> None:
    text = BY_ID.get(record, record)
    assert old in text and says in "; ".join(differences(read(text.replace(old, new, 1))))


LEFT = PASSED.replace("2 p 0 p ]R[passed]", "w LE.2 ]R[d:-1 penalty v:0 l:2]")
"""In the auction, so nothing was played."""
CUT_SHORT = (
    "(;GM[Skat]ID[1]MV[w C8.C9.CT.CQ.CK.CA.CJ.HJ.DJ.S7.S8.S9.ST.SQ.SK.SA.H7.H8.H9.HT.HQ.HK.HA.D7.D8.D9.DT.DQ.DK.DA"
    ".C7.SJ 1 p 2 p 0 18 0 CO 0 S7 1 S8 2 HQ ]R[d:0 loss v:-432 m:11 bidok p:2 t:0 s:0 z:0] ;)"
)
"""Clubs ouvert with 11, lost in the first trick: 18 x 12, lost twice (reference, section 4)."""


@pytest.mark.parametrize(
    ("record", "old", "new"),
    [
        *((line, "", "") for line in [*LINES[:-1], PASSED, LEFT, CUT_SHORT]),
        ("25", "NOH", "NHO"),
        ("26496", "CHZ", "CHSZ"),
        ("596891", "D 2 D9.DQ", "D.DQ.D9"),
        ("1390253", "NO.HA.HQ", "NO.HA.HQ.CJ.DK.D7.C8.DA.DT.D9.SQ.DJ.D8"),
        ("1039093", "1 SC ", "1 SC.HJ.C7 "),
        ("8650652", "1 18 0 p 2 20 1 y 2 22 1 y 2 23 1 y 2 24 1 y 2 27 1 y 2 30 1 y", "1 18 0 p 2 30 1 y"),
        (STOPPED, "", ""),
        (TIMED_OUT, "", ""),
        (TIMED_OUT, "w TI.0", "w LE.0"),
        (TIMED_OUT, "w TI.0", "0 RE"),
        (TIMED_OUT, "0 ST 1 S9 2 S8 0 HK 1 DT 2 H8 w TI.0 ]R[d:0 win", "w TI.0 ]R[d:0 loss"),
        (SCHWARZ, "", ""),
        (SCHWARZ, "v:-120", "v:-168"),  # with levels that were announced but not reached: earlier years
        (OFF_THE_LADDER, "", ""),
        (OFF_THE_LADDER, "0 22", "0 18"),
    ],
)
def test_our_rules_agree_with_the_server_also_in_other_ways_to_write_the_same(record, old, new) -> None:
    text = BY_ID.get(record, record)
    assert old in text and differences(read(text.replace(old, new))) == []


def test_a_game_that_is_given_up_is_not_written_as_schwarz() -> None:
    """Diamonds without 2, a bid of 18, given up wherever it may be: what is left is the defenders'."""
    whole = new_state()
    assert differences(read(BY_ID["541932"]), whole) == []
    for cards in range(1, int(whole["public"]["num_played"])):
        line, state = record_of(1, whole, cards), new_state()
        assert differences(read(line), state) == [] and "2 RE" in line
        public = state["public"]
        mine = points_of(public["taken"][2] | aside_of(state))
        begun, none = public["tricks"].any(), public["tricks"][2] == 0
        levels = 3 + (begun and mine <= 30) + (begun and none)
        assert re.search(r"loss v:(\S+) ", line)[1] == str(-2 * 9 * levels)


@settings(max_examples=300)
@given(st.sampled_from(LINES), st.lists(st.tuples(st.integers(0, 700), st.text("0123wpysCDGHNOSZ.?: ", max_size=2))))
def test_damaged_records_are_judged_or_refused(line, damage) -> None:
    """Nothing else comes out of a record than a verdict or the one error that names its line."""
    for place, text in damage:
        line = line[:place] + text + line[place + 1 :]
    try:
        found = differences(read(line))
    except FormatError as error:
        assert "not a record" in str(error)
    else:
        assert all(isinstance(text, str) for text in found)


ONE, TWO = LINES[0], LINES[1].replace("P0[north]", "P0[;) (; north]")
APART = ONE.replace("]", "]\n").replace("(;", "(;\n").replace(" 0 ", "\n0 ")


def differs(text: str) -> str:
    """What is seen of a record."""
    record = read(text)
    return f"{record.id} {record.names} {record.tokens} {record.result}"


FORMS = {
    "a mark of UTF-8": f"\ufeff{ONE}\n{TWO}\n",
    "old Macs": f"{ONE}\r{TWO}\r",
    "Windows": f"{ONE}\r\n\r\n{TWO}\r\n",
    "one line": ONE + TWO,
    "one line, apart": f"  {ONE} \t {TWO}",
    "many lines": f"{APART}\n\n{TWO}",
    "many lines of old Macs": f"{APART}{TWO}".replace("\n", "\r"),
    "a log": f"12:30 [table .1] end {ONE} says hello\n[12:31] end {TWO}\n",
    "a comment of its own": ONE.replace("CO[]", "CO[a (good\ngame;)\n ]") + "\n" + TWO,
}


@pytest.mark.parametrize("form", FORMS)
def test_both_records_are_read_in_any_form(form: str, tmp_path: Path, checked: Checked) -> None:
    path = tmp_path / "games.SGF"
    path.write_bytes(FORMS[form].encode())
    assert checked(path)[:2] == (0, "2 records, 2 agree\n")
    assert main(["convert", str(path), "--out", str(tmp_path / "out")]) == 0
    seeds = read_shards(find_shards(tmp_path / "out"), make_game("skat")).deal_seed[::3].tolist()
    assert len(set(seeds)) == 2, "each is held out by a number of its own"
    deals = read_records(path)
    assert len(deals.titles) == 2 and not deals.left_out
    with path.open("rb") as file:
        texts = [found.text for found in records_in(file)]
    assert [differs(text) for text in texts] == [differs(ONE), differs(TWO)]


@given(st.lists(st.sampled_from([ONE, TWO, APART, "", "a line", ONE[:300]]), max_size=6), st.sampled_from("\n\r"))
def test_it_does_not_matter_where_a_file_is_cut_apart_to_be_read(texts: list[str], end: str) -> None:
    """Of what is a record each is found on its line; what is none is one text, and nothing is lost."""
    raw = end.join(texts).replace("\n", end).encode()
    with pytest.MonkeyPatch.context() as patch:
        found = [list(records_in(io.BytesIO(raw)))]
        for longest in (8000, 8111):  # longer than any of these; readers see other pieces
            patch.setattr(splitting, "LONGEST", longest)
            found.append(list(records_in(io.BytesIO(raw))))
    assert found[0] == found[1] == found[2]
    records = [one.text for one in found[0] if one.text.startswith("(;") and one.text.endswith(";)")]
    assert [differs(text) for text in records] == [differs(text) for text in texts if text in (ONE, TWO, APART)]


def test_what_is_left_of_a_record_is_counted_and_named(tmp_path: Path, checked: Checked) -> None:
    """Cut off behind, before, amid a line and over lines; the records around are read."""
    lines = [ONE[:400], ONE, f"{ONE[400:]}{TWO}", f"{ONE}{TWO[:200]}{TWO}", "# a comment", APART[:500], TWO]
    (tmp_path / "games.sgf").write_text("\n".join(lines))
    code, said, errors = checked(tmp_path / "games.sgf")
    assert (code, said) == (2, "5 records, 5 agree; 5 texts are no record\n")
    named = [line.split(": ")[1] for line in errors.splitlines()]
    assert named == ["line 1", "line 3", "line 4", "line 5", "line 6"]
    assert main(["convert", str(tmp_path / "games.sgf"), "--out", str(tmp_path / "out")]) == 0
    result = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert (result["records"], result["deals"], result["left_out"]) == (10, 5, {"no record": 5})
    assert read_records(tmp_path / "games.sgf").left_out == ("5 lines left out: no record of a deal",)


@pytest.mark.parametrize(("ending", "pack"), [(".sgf.gz", gzip.compress), (".SGF.BZ2", bz2.compress)])
def test_packed_files_are_read_and_bombs_and_damaged_ones_are_not(ending, pack, tmp_path, checked) -> None:
    path = tmp_path / f"games{ending}"
    path.write_bytes(pack(f"{ONE}\n{TWO}\n".encode()))
    assert checked(path)[:2] == (0, "2 records, 2 agree\n")
    path.write_bytes(pack("".join(f"{line}\n" for line in LINES[:10]).encode())[:-40])
    code, _, error = checked(path)
    assert code == 2 and f"{path}: is damaged, and ends early" in error
    path.write_bytes(bz2.compress(bytes(5_000_000)))
    told = f"{path}: unpacks to over 1000 times its size, as no file of records does\n"
    assert checked(path)[::2] == (2, told)


def test_several_files_and_directories_are_read_as_one(tmp_path: Path, checked: Checked) -> None:
    inside = tmp_path / "all" / "2010"
    inside.mkdir(parents=True)
    (tmp_path / "all" / "a.sgf").write_text("\n".join(LINES[:3]))
    (inside / "b.SGF").write_text("\n".join(LINES[3:5]))
    (tmp_path / "all" / "readme.txt").write_text("read me")
    (tmp_path / "c.txt").write_text(f"{TWO}\nhello")
    given = [str(tmp_path / "all"), str(tmp_path / "c.txt"), str(inside / "b.SGF")]
    code, said, errors = checked(*given)
    assert (code, said) == (2, "6 records, 6 agree; 1 text is no record\n")
    assert "left out readme.txt" in errors and "b.SGF: is given twice, and read once" in errors
    assert f"{tmp_path / 'c.txt'}: line 2: not a record" in errors
    assert main(["convert", *given, "--out", str(tmp_path / "out"), "--partial"]) == 0
    result = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert result["records"] == 7 and result["left_out"] == {"no record": 1}
    seeds = read_shards(find_shards(tmp_path / "out")[:1], make_game("skat")).deal_seed
    assert len(set(seeds.tolist())) * 3 == len(seeds)
    assert f"{tmp_path / 'c.txt'}: line 2: " in (tmp_path / "out" / "3_files.rejected").read_text()
    assert main(["convert", *given[:1], "--out", str(tmp_path / "out"), "--partial"]) == 2  # of other files
    (tmp_path / "none").mkdir()
    code, _, errors = checked(tmp_path / "none")
    assert code == 2 and "none: has no file that ends in .sgf, .sgf.gz, .sgf.bz2" in errors


@pytest.mark.parametrize("text", ["A", "A[", "[", "[]", "A1", "A[]", "(;", "(;A[", ";)", "\r", "(", "]", "(; "])
def test_no_text_takes_longer_than_its_length(text: str) -> None:
    """Hundred thousands of letters: in a second or less, where the square of the length would be many minutes."""
    began = time.monotonic()
    _values(text * (300_000 // len(text)))
    for found in records_in(io.BytesIO(text.encode() * (100_000 // len(text)))):
        assert len(found.text) <= splitting.LONGEST
    assert time.monotonic() - began < 60


def test_after_ctrl_c_and_a_full_disk_a_conversion_begins_again_and_ends_in_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch, capsys, tmp_path
) -> None:
    (tmp_path / "games.sgf").write_text("\n".join([ONE, TWO] * 3))
    given = ["convert", str(tmp_path / "games.sgf"), "--deals-per-shard", "2", "--out"]
    assert main([*given, str(tmp_path / "whole")]) == 0
    left, real = iter(range(5)), conversion.differences

    def interrupted(*given: Any) -> list[str]:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(conversion, "differences", interrupted)
        with pytest.raises(KeyboardInterrupt):
            main([*given, str(tmp_path / "out")])
    with monkeypatch.context() as patch:
        patch.setattr(conversion, "write_shard", lambda *rest: Path("/dev/full").write_bytes(b"1" * 9))
        assert main([*given, str(tmp_path / "out")]) == 2
    assert f"{tmp_path / 'out'} cannot be written (No space left on device)" in capsys.readouterr().err
    for name in ("shard_00007.parquet", ".shard_00002.parquet.0123.tmp", "left_out.txt"):
        (tmp_path / "out" / name).write_bytes(b"half")
    (own := tmp_path / "out" / "mine.parquet").write_bytes(b"of somebody else")
    assert main([*given, str(tmp_path / "out")]) == 0
    assert own.read_bytes() == b"of somebody else"
    own.unlink()
    names = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "out").iterdir())
    assert all((tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes() for name in names)


@pytest.mark.parametrize(
    ("old", "new"), [("ID[", "ID[\x1b"), (" 0 SA ", " 0 \x1bA "), ("v:-54", "v:\x1b[1m"), ("bidok", "\x1b")]
)
def test_nothing_of_a_record_does_anything_to_the_terminal(old: str, new: str, tmp_path: Path, checked) -> None:
    assert old in ONE
    (tmp_path / "games.sgf").write_text(ONE.replace(old, new).replace("p:59", "p:60"))
    code, said, errors = checked(tmp_path / "games.sgf")
    assert code == 1 and "\x1b" not in said + errors and "0 agree" in said
