"""Records in whatever form a file has them: read, or counted and named."""

import bz2
import gzip
import io
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.registry import make_game
from games.shards import find_shards, read_shards
from games.skat.records import splitting
from games.skat.records.iss import _values, read
from games.skat.records.splitting import records_in
from search.scripted.skat.records import conversion
from search.scripted.skat.records.__main__ import main
from search.scripted.skat.records.sequences import read_records
from tests.search.records.test_records import LINES

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
def test_both_records_are_read_in_any_form(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.SGF"
    path.write_bytes(FORMS[form].encode())
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out == "2 records, 2 agree\n"
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


def test_what_is_left_of_a_record_is_counted_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cut off behind, before, amid a line and over lines; the records around are read."""
    lines = [ONE[:400], ONE, f"{ONE[400:]}{TWO}", f"{ONE}{TWO[:200]}{TWO}", "# a comment", APART[:500], TWO]
    (tmp_path / "games.sgf").write_text("\n".join(lines))
    assert main(["check", str(tmp_path / "games.sgf")]) == 2
    said, errors = capsys.readouterr()
    assert said == "5 records, 5 agree; 5 texts are no record\n"
    named = [line.split(": ")[1] for line in errors.splitlines()]
    assert named == ["line 1", "line 3", "line 4", "line 5", "line 6"]
    assert main(["convert", str(tmp_path / "games.sgf"), "--out", str(tmp_path / "out")]) == 0
    result = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert (result["records"], result["deals"], result["left_out"]) == (10, 5, {"no record": 5})
    assert read_records(tmp_path / "games.sgf").left_out == ("5 lines left out: no record of a deal",)


@pytest.mark.parametrize(("ending", "pack"), [(".sgf.gz", gzip.compress), (".SGF.BZ2", bz2.compress)])
def test_packed_files_are_read_and_bombs_and_damaged_ones_are_not(
    ending: str, pack: type, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"games{ending}"
    path.write_bytes(pack(f"{ONE}\n{TWO}\n".encode()))
    assert main(["check", str(path)]) == 0 and capsys.readouterr().out == "2 records, 2 agree\n"
    path.write_bytes(pack("".join(f"{line}\n" for line in LINES[:10]).encode())[:-40])
    assert main(["check", str(path)]) == 2
    assert f"{path}: is damaged, and ends early" in capsys.readouterr().err
    path.write_bytes(bz2.compress(bytes(5_000_000)))
    assert main(["check", str(path)]) == 2
    assert capsys.readouterr().err == f"{path}: unpacks to over 1000 times its size, as no file of records does\n"


def test_several_files_and_directories_are_read_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside = tmp_path / "all" / "2010"
    inside.mkdir(parents=True)
    (tmp_path / "all" / "a.sgf").write_text("\n".join(LINES[:3]))
    (inside / "b.SGF").write_text("\n".join(LINES[3:5]))
    (tmp_path / "all" / "readme.txt").write_text("read me")
    (tmp_path / "c.txt").write_text(f"{TWO}\nhello")
    given = [str(tmp_path / "all"), str(tmp_path / "c.txt"), str(inside / "b.SGF")]
    assert main(["check", *given]) == 2
    said, errors = capsys.readouterr()
    assert said == "6 records, 6 agree; 1 text is no record\n"
    assert "left out readme.txt" in errors and "b.SGF: is given twice, and read once" in errors
    assert f"{tmp_path / 'c.txt'}: line 2: not a record" in errors
    assert main(["convert", *given, "--out", str(tmp_path / "out"), "--partial"]) == 0
    result = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert result["records"] == 7 and result["left_out"] == {"no record": 1}
    shards = [*find_shards(tmp_path / "out"), *find_shards(tmp_path / "out" / "partial")]
    seeds = [read_shards([shard], make_game("skat")).deal_seed for shard in shards[:1]]
    assert len(set(seeds[0].tolist())) * 3 == len(seeds[0])
    assert f"{tmp_path / 'c.txt'}: line 2: " in (tmp_path / "out" / "3_files.rejected").read_text()
    assert main(["convert", *given[:1], "--out", str(tmp_path / "out"), "--partial"]) == 2  # of other files
    (tmp_path / "none").mkdir()
    assert main(["check", str(tmp_path / "none")]) == 2
    assert "none: has no file that ends in .sgf, .sgf.gz, .sgf.bz2" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["A", "A[", "[", "[]", "A1", "A[]", "(;", "(;A[", ";)", "\r", "(", "]", "(; "])
def test_no_text_takes_longer_than_its_length(text: str) -> None:
    """Hundred thousands of letters: in a second or less, where the square of the length would be many minutes."""
    began = time.monotonic()
    _values(text * (300_000 // len(text)))
    for found in records_in(io.BytesIO(text.encode() * (100_000 // len(text)))):
        assert len(found.text) <= splitting.LONGEST
    assert time.monotonic() - began < 60


def interrupting(after: int) -> object:
    """What raises as Ctrl-C does, at a record."""
    left = iter(range(after))

    def judged(record: object, *state: object) -> list[str]:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return []

    return judged


def test_ctrl_c_and_a_full_disk_leave_a_conversion_to_go_on(monkeypatch: pytest.MonkeyPatch, capsys, tmp_path) -> None:
    (tmp_path / "games.sgf").write_text("\n".join([ONE, TWO] * 3))
    given = ["convert", str(tmp_path / "games.sgf"), "--deals-per-shard", "2", "--out"]
    assert main([*given, str(tmp_path / "whole")]) == 0
    with monkeypatch.context() as patch:
        real = conversion.differences
        stops = interrupting(5)
        patch.setattr(conversion, "differences", lambda *given: stops(*given) or real(*given))
        with pytest.raises(KeyboardInterrupt):
            main([*given, str(tmp_path / "out")])
    with monkeypatch.context() as patch:
        patch.setattr(conversion, "write_shard", lambda *rest: Path("/dev/full").write_bytes(b"1" * 9))
        assert main([*given, str(tmp_path / "out")]) == 2
    assert f"{tmp_path / 'out'} cannot be written (No space left on device)" in capsys.readouterr().err
    assert len(find_shards(tmp_path / "out")) == 2
    assert main([*given, str(tmp_path / "out")]) == 0
    names = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "out").iterdir())
    assert all((tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes() for name in names)


@pytest.mark.parametrize(
    ("old", "new"), [("ID[", "ID[\x1b"), (" 0 SA ", " 0 \x1bA "), ("v:-54", "v:\x1b[1m"), ("bidok", "\x1b")]
)
def test_nothing_of_a_record_does_anything_to_the_terminal(old: str, new: str, tmp_path: Path, capsys) -> None:
    assert old in ONE
    (tmp_path / "games.sgf").write_text(ONE.replace(old, new).replace("p:59", "p:60"))
    assert main(["check", str(tmp_path / "games.sgf")]) == 1
    said, errors = capsys.readouterr()
    assert "\x1b" not in said + errors and "0 agree" in said
