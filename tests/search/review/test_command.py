"""``kibitz review`` as people call it."""

import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games.registry import make_game
from games.rng import derive_many
from games.shards import Sequences, write_shard
from search.apps.review.__main__ import main
from search.config import SearchConfig
from search.players.table import play_table
from search.roster.registry import make_players

RECORDS = Path(__file__).parents[2] / "games" / "skat" / "iss_records.sgf"


class Balanced(HTMLParser):
    """Fails where a tag closes another than the last one opened; keeps the text."""

    VOID = frozenset({"meta", "input", "line", "polyline"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shard_of(name: str, path: Path, count: int = 3) -> Path:
    game, seeds = make_game(name), derive_many(3, count)
    players = make_players(["random"], game, SearchConfig())
    seating = np.zeros((count, game.num_players), np.int64)
    states = play_table(game, players, seating, seeds, secret=4).states
    write_shard(path, Sequences.of_deals(game, states, seeds, "random<b>"), game, {"run_seed": "3"})
    return path


def test_records_of_a_server_to_json_page_and_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(RECORDS), "--out", str(tmp_path / "out"), "--pages", "2"]) == 0
    told = capsys.readouterr().out
    record = json.loads((tmp_path / "out" / "review.json").read_text())
    assert record["player"].endswith("@kibitz:skat") and record["network"] and record["file"] == RECORDS.name
    assert len(record["deals"]) == len(re.findall(r"^record \d+, line \d+: lost ", told, re.MULTILINE)) > 3
    every = [note for deal in record["deals"] for seat in deal["seats"] for note in seat["decisions"]]
    assert all(
        note["cost"] >= 0 and {note["played"], note["best"]} <= {a["name"] for a in note["actions"]} for note in every
    )
    assert all((note["hindsight"] is not None) == (note["phase"] == "play") for note in every)
    assert sum(figure["decisions"] for figure in record["figures"]["player"]) == len(every)
    html = (tmp_path / "out" / "review.html").read_text()
    page = Balanced()
    page.feed(html)
    assert not page.open and "The costliest decisions" in page.text and "all cards open" in page.text
    assert "http" not in re.sub(r"http-equiv|http://www.w3.org/2000/svg", "", html), "a page opens offline"
    judged, shown = [deal for deal in record["deals"] if deal["seats"][0]["perfect"]], html.partition("<script")[0]
    seats = [seat for deal in judged for seat in deal["seats"]]
    assert 1 <= len(judged) <= 2 < len(record["deals"]) and told.count("; all cards open: ") == len(judged)
    assert shown.count("under perfect play from the first card on") == len(seats)
    assert shown.count('class="tricks"') == len(seats) and shown.count("all would play") == len(seats)


@pytest.mark.parametrize("name", ["hearts", pytest.param("crew", marks=pytest.mark.slow)])
def test_a_shard_of_each_game_with_a_network_that_ships(name: str, tmp_path: Path) -> None:
    shard = shard_of(name, tmp_path / "played.parquet")
    assert main([str(shard), "--out", str(tmp_path / "out"), "--seat", "2", "--deals", "2"]) == 0
    record = json.loads((tmp_path / "out" / "review.json").read_text())
    assert [[seat["seat"] for seat in deal["seats"]] for deal in record["deals"]] == [[2], [2]]
    assert all(note["hindsight"] is None for deal in record["deals"] for note in deal["seats"][0]["decisions"])
    page = (tmp_path / "out" / "review.html").read_text()
    assert "random&lt;b&gt;" in page and "random<b>" not in page


@pytest.mark.parametrize(
    "judge",
    ["pimc:worlds=2:evaluator=playouts", pytest.param("go_mcts:num_runs=20:policy_weight=0", marks=pytest.mark.slow)],
)
def test_searching_players_judge_too(judge: str, tmp_path: Path) -> None:
    shard = shard_of("hearts", tmp_path / "played.parquet", 1)
    assert main([str(shard), "--player", judge, "--out", str(tmp_path), "--seat", "0"]) == 0
    record = json.loads((tmp_path / "review.json").read_text())
    notes = record["deals"][0]["seats"][0]["decisions"]
    best = [next(action for action in note["actions"] if action["name"] == note["best"]) for note in notes]
    told = [[action["value"] for action in note["actions"] if action["value"] is not None] for note in notes]
    assert notes and all(one["value"] == max(values) for one, values in zip(best, told, strict=True))
    once = (tmp_path / "review.json").read_bytes()
    assert main([str(shard), "--player", judge, "--out", str(tmp_path), "--seat", "1"]) == 2
    assert main([str(shard), "--player", judge, "--out", str(tmp_path), "--seat", "0"]) == 0
    assert (tmp_path / "review.json").read_bytes() == once


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.sgf"], "missing.sgf: no such file"),
        (["--seat", "3", "RECORDS"], "--seat 3: skat has seats 0 to 2"),
        (["--seat", "nort", "RECORDS"], "--seat nort: nobody is called so; there are east, north, west"),
        (["junk.sgf", "empty.sgf"], "junk.sgf: has no deal to review"),
        (["--deals", "-1", "RECORDS"], "--deals -1: must be 0 or more"),
        (["--pages", "-1", "RECORDS"], "--pages -1: must be 0 or more"),
        (["--pages", "3", "RECORDS"], "--pages 3: is of the page, so give --out too"),
        (["--game", "x:Y", "RECORDS"], "--game x:Y: is for shards"),
        (["--player", "argmaxval", "RECORDS"], "no player 'argmaxval'"),
        (["--player", "imitation", "RECORDS"], "it does not say what actions are worth; choose argmax_val"),
        (["--player", "pimc:cheat=true", "RECORDS"], "it sees hidden cards"),
        (["--player", "argmax_val@kibitz:hearts", "RECORDS"], "game is 'hearts'"),
        (["empty.sgf"], "has no deal to review"),
        (["junk.sgf"], "has no deal to review: 1 line left out: no record of a deal"),
        (["notes.txt"], "of a form that is not known; give a file that ends in .parquet or .sgf"),
        (["cut.parquet"], "cut.parquet"),
        (["--out", "other", "RECORDS"], "other/review.json: is another review, of file 'x.sgf'; remove it"),
        (["--out", "notes.txt", "RECORDS"], "--out notes.txt: is a file; name a directory"),
    ],
)
def test_bad_input_gets_one_line(arguments, said, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.sgf").touch()
    (tmp_path / "junk.sgf").write_text("junk\n")
    (tmp_path / "notes.txt").write_text("junk\n")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "review.json").write_text('{"asked": {"file": "x.sgf"}}')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "review.json").write_text("[]")
    assert main([str(RECORDS) if one == "RECORDS" else one for one in arguments]) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert len(error) == 1 and said in error[0]


def rewritten(tmp_path: Path, **changed: str) -> Path:
    """The records with some properties changed, or added."""
    text = RECORDS.read_text()
    for key, value in changed.items():
        text = re.sub(rf"{key}\[[^\]]*\]", "", text).replace("(;GM[Skat]", f"(;GM[Skat]{key}[{value}]")
    (tmp_path / "changed.sgf").write_text(text)
    return tmp_path / "changed.sgf"


def reviewed(file: Path, out: Path, *more: str) -> dict[str, Any]:
    assert main([str(file), "--out", str(out), *more]) == 0
    found: dict[str, Any] = json.loads((out / "review.json").read_text())
    return found


def test_a_name_does_nothing_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(rewritten(tmp_path, P0="no\x1b[31mrth".replace("[", "")))]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_several_files_and_one_player_wherever_it_sits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The files of a directory, packed or not, as one; what has no deal is noted."""
    lines, games = RECORDS.read_text().splitlines(), tmp_path / "games"
    games.mkdir()
    moved = lines[1].replace("P0[north]", "P0[west]").replace("P2[west]", "P2[north]")
    (games / "a.SGF").write_text(lines[0] + "junk\n")
    (games / "b.sgf.gz").write_bytes(gzip.compress(moved.encode()))
    (games / "c.sgf").write_text("junk")
    (games / "readme.txt").touch()
    record = reviewed(games, tmp_path / "out", "--seat", "north")
    assert [deal["title"] for deal in record["deals"]] == [
        "a.SGF: record 541932, line 1",
        "b.sgf.gz: record 26496, line 1",
    ]
    assert [[(seat["seat"], seat["player"]) for seat in deal["seats"]] for deal in record["deals"]] == [
        [(0, "north")],
        [(2, "north")],
    ]
    assert any("left out readme.txt" in note for note in record["notes"])
    assert any("c.sgf: has no deal to review: 1 line left out" in note for note in record["notes"])
    other = shard_of("hearts", tmp_path / "hearts.parquet", 1)
    assert main([str(games), str(other)]) == 2
    assert "hearts.parquet: is of hearts" in (error := capsys.readouterr().err) and "a.SGF of skat" in error
    (tmp_path / "one.sgf").write_text(lines[0])
    whole = {deal["title"]: deal for deal in reviewed(tmp_path / "one.sgf", tmp_path / "whole")["deals"]}
    north = [seat for seat in whole["record 541932, line 1"]["seats"] if seat["player"] == "north"]
    theirs, mine = north[0]["decisions"], record["deals"][0]["seats"][0]["decisions"]
    assert [(one["place"], one["played"], one["best"]) for one in theirs] == [
        (one["place"], one["played"], one["best"]) for one in mine
    ]


@pytest.mark.slow
def test_names_and_ids_are_as_long_as_a_page_can_show(tmp_path: Path) -> None:
    record = reviewed(rewritten(tmp_path, P0="W" * 50_000, ID=": " * 5_000), tmp_path / "out", "--seat", "0")
    names = {seat["player"] for deal in record["deals"] for seat in deal["seats"]}
    assert names == {"W" * 79 + "…"} and max(len(deal["title"]) for deal in record["deals"]) < 110
    assert reviewed(rewritten(tmp_path, P0="W" * 50_000), tmp_path / "again", "--seat", "W" * 50_000)["deals"]
