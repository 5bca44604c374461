"""Games cut short for a measurement: whose records agree, and what the table says of them."""

import re
from pathlib import Path

import numpy as np
import pytest

from games.registry import make_game
from games.shards import write_shard
from games.skat.cards import NULL, points_of
from games.skat.records.__main__ import main
from games.skat.records.agreement import differences
from games.skat.records.iss import read
from games.skat.replay import new_state, replay
from games.skat.state import aside_of
from tests.games.skat.test_records import BY_ID, LINES, PASSED
from tests.games.skat.test_records_export import played


def cut(source: Path, out: Path, *options: str) -> int:
    return main(["cut", str(source), "--out", str(out), *options])


@pytest.fixture(scope="module")
def games(tmp_path_factory) -> Path:
    """300 whole games of players."""
    home = tmp_path_factory.mktemp("games")
    write_shard(home / "shards" / "a.parquet", played(2, 300, "seeger_fabian"), make_game("skat"), {})
    assert main(["export", str(home / "shards"), "--out", str(home / "games.sgf")]) == 0
    return home / "games.sgf"


def cards_of(line: str) -> int:
    state = new_state()
    assert differences(read(line), state) == []
    return int(state["public"]["num_played"])


@pytest.mark.parametrize("decided", [[], ["--decided"]])
def test_the_loser_gives_up_after_a_card_and_the_table_counts_it(decided, games, tmp_path, capsys) -> None:
    assert cut(games, tmp_path / "cut.sgf", "--share", "0.5", *decided) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    before, after = games.read_text().splitlines(), (tmp_path / "cut.sgf").read_text().splitlines()
    assert len(after) == 300 and main(["check", str(tmp_path / "cut.sgf")]) == 0
    short = [(whole, less) for whole, less in zip(before, after, strict=True) if " RE" in less]
    for whole, less in short:
        assert 1 <= cards_of(less) < cards_of(whole)
        result, soloist = read(whole).result, int(read(whole).result["d"])
        assert read(less).result["end"] == result["end"]
        assert read(less).resigned == ({0, 1, 2} - {soloist} if result["end"] == "win" else {soloist})
    assert head.split() == ["games", "won", "suit", "grand", "null", "passed", "cards", "place"]
    every, whole, mixed = (re.split(r"  +", row.replace("%", "")) for row in rows)
    assert (every[1], whole[1], mixed[1]) == ("300", str(300 - len(short)), "300") and 60 < len(short) < 180
    played_games = [line for line in before if "R[passed]" not in line]
    assert float(every[7]) == round(sum(map(cards_of, played_games)) / len(played_games), 2)
    assert float(mixed[7]) == round(sum(cards_of(line) for line in after) / len(played_games), 2)
    won = sum(read(line).result["end"] == "win" for line in played_games) / len(played_games)
    assert float(every[2]) == round(100 * won, 1) == float(mixed[2])


def test_the_same_seed_cuts_the_same_games(games, tmp_path) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert cut(games, tmp_path / name, "--seed", seed) == 0
    first, again, other = ((tmp_path / name).read_text() for name in "abc")
    assert first == again != other


def test_a_game_is_decided_by_card_points(games, tmp_path) -> None:
    """Never before the side that wins has what it needs: 61 of the soloist, 60 of the defenders."""
    assert cut(games, tmp_path / "cut.sgf", "--share", "1", "--decided") == 0
    short = [read(line) for line in (tmp_path / "cut.sgf").read_text().splitlines() if " RE" in line]
    assert len(short) > 100
    for record in short:
        state = new_state()
        replay(state, record.hands, np.array(record.seats), np.array(record.tokens))
        public, soloist = state["public"], int(record.result["d"])
        mine = points_of(public["taken"][soloist] | aside_of(state))
        theirs = sum(points_of(public["taken"][seat]) for seat in range(3) if seat != soloist)
        assert public["game"] == NULL or mine >= 61 or theirs >= 60
        assert public["game"] == NULL or public["modifier"] == 0  # announcements need more


def test_a_file_is_not_cut_into_itself(games, capsys) -> None:
    before = games.read_bytes()
    assert cut(games, games) == 2
    assert "is the file to read; name another" in capsys.readouterr().err and games.read_bytes() == before


@pytest.mark.parametrize(
    ("lines", "options", "says"),
    [
        ([LINES[0], "hello"], [], "{path}: line 2: not a record"),
        ([BY_ID["1039093"]], [], "{path}: line 1: record 1039093: ends early; cut takes whole games"),
        ([LINES[0].replace("p:59", "p:60")], [], "card points: the record says 60, the replay 59; cut takes records"),
        ([PASSED], ["--share", "1.5"], "--share 1.5: give a share of 0 to 1"),
        ([PASSED], ["--share", "nan"], "--share nan: give a share of 0 to 1"),
        ([], [], "{path}: there is no record in this file"),
    ],
)
def test_what_cannot_be_cut_is_one_clear_line(lines, options, says, tmp_path, capsys) -> None:
    (tmp_path / "games.sgf").write_text("\n".join(lines))
    assert cut(tmp_path / "games.sgf", tmp_path / "out.sgf", *options) == 2
    error = capsys.readouterr().err
    assert says.format(path=tmp_path / "games.sgf") in error and error.count("\n") == 1
    assert not (tmp_path / "out.sgf").exists() and not (tmp_path / "out.sgf.partial").exists()


def test_passed_deals_stay_as_they_are(tmp_path, capsys) -> None:
    (tmp_path / "games.sgf").write_text(f"{PASSED}\n")
    assert cut(tmp_path / "games.sgf", tmp_path / "out.sgf", "--share", "1") == 0
    assert (tmp_path / "out.sgf").read_text() == f"{PASSED}\n"
    assert "nan" not in capsys.readouterr().out
