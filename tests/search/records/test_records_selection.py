"""Which records a conversion takes, and how its shards say what is unknown of them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from games.registry import make_game
from games.shards import Sequences, ShardError, find_shards, read_shard, read_shards, shard_info
from games.skat.cards import NUM_CARDS, VOCABULARY
from games.skat.records.iss import read
from search.scripted.skat.records.__main__ import main
from search.scripted.skat.records.selection import is_bot
from tests.games.skat.writing import records_of
from tests.search.records.test_conversion import converted, random_states
from tests.search.records.test_records import BY_ID, LINES, PASSED

GAME = make_game("skat")
EARLY = ("1039093", "1390253", "18358")
"""Ended after 18 cards, before the first and after the first card."""


def result_of(out: Path) -> dict:
    return json.loads((out / "conversion.json").read_text())


def test_where_nothing_can_be_used_the_lists_that_say_why_are_named(tmp_path, capsys) -> None:
    (tmp_path / "bad.sgf").write_text("\n".join(["hello", BY_ID["10330141"]]))
    (tmp_path / "empty.sgf").write_text("\n\n")
    assert converted(tmp_path / "bad.sgf", tmp_path / "out") == 2
    assert capsys.readouterr().err == (
        f"{tmp_path / 'bad.sgf'}: no game of this file agrees with our rules; "
        f"see left_out.txt and bad.sgf.rejected in {tmp_path / 'out'}\n"
    )
    assert converted(tmp_path / "empty.sgf", tmp_path / "none") == 2
    assert capsys.readouterr().err.endswith("agrees with our rules; it has no records\n")


@pytest.mark.parametrize(
    ("name", "bot"),
    [("kermit", True), ("kermit:2", True), ("theCount:12", True), ("Bernie", True), ("kermit2", False), ("", False)],
)
def test_bots_are_known_by_their_names(name, bot, tmp_path) -> None:
    assert is_bot(name) == bot
    (tmp_path / "one.sgf").write_text("\n".join([LINES[0], LINES[0].replace("P1[east]", f"P1[{name}]")]))
    assert converted(tmp_path / "one.sgf", tmp_path / "out", "--no-bots") == 0
    assert result_of(tmp_path / "out")["left_out"] == ({"a bot plays": 1} if bot else {})


def test_games_before_a_day_and_without_one_can_be_left_out(tmp_path, capsys) -> None:
    dates = ("2010-12-05/23:59:59/UTC", "2010-12-06/00:00:00/UTC", "2011-01-01", "06.12.2010", "2010-13-01", "")
    dated = [re.sub(r"DT\[[^\]]*\]", f"DT[{date}]" if date else "", LINES[0]) for date in dates]
    assert "DT[" not in dated[-1]
    (tmp_path / "dated.sgf").write_text("\n".join(dated))
    assert converted(tmp_path / "dated.sgf", tmp_path / "out", "--since", "2010-12-06") == 0
    assert result_of(tmp_path / "out")["left_out"] == {"no readable date": 3, "too old": 1}
    for bad in ("2010-12", "20101206", "2010-13-01", "yesterday"):
        assert converted(tmp_path / "dated.sgf", tmp_path / "none", "--since", bad) == 2
        error = capsys.readouterr().err
        assert error == f"--since {bad}: give a day as YYYY-MM-DD\n" and not (tmp_path / "none").exists()


def test_the_same_deal_with_the_same_actions_is_kept_once(tmp_path) -> None:
    other = BY_ID["541932"].replace("2 CT 0 H7", "2 CT 0 HA").replace("0 HA 1 SQ", "0 H7 1 SQ")
    again = BY_ID["541932"].replace("ID[541932]", "ID[7]").replace("P0[north]", "P0[south]")
    lines = [BY_ID["541932"], LINES[1], again, other, BY_ID["541932"]]
    (tmp_path / "twice.sgf").write_text("\n".join(lines))
    converted(tmp_path / "twice.sgf", tmp_path / "all")
    converted(tmp_path / "twice.sgf", tmp_path / "once", "--drop-duplicates")
    before, after = result_of(tmp_path / "all"), result_of(tmp_path / "once")
    assert after["left_out"].pop("duplicate") == 2
    assert before["deals"] - 2 == after["deals"] and before["left_out"] == after["left_out"]
    left_out = (tmp_path / "once" / "left_out.txt").read_text()
    assert "line 3: record 7: duplicate\n" in left_out and "line 5: record 541932: duplicate\n" in left_out


def test_games_that_end_early_are_kept_apart_up_to_there(tmp_path) -> None:
    (tmp_path / "real.sgf").write_text("\n".join([*LINES, PASSED]))
    assert converted(tmp_path / "real.sgf", tmp_path / "out", "--partial") == 0
    assert converted(tmp_path / "real.sgf", tmp_path / "whole") == 0
    (whole,), (alone,) = find_shards(tmp_path / "out"), find_shards(tmp_path / "whole")
    assert Path(whole).read_bytes() == Path(alone).read_bytes(), "whole games are as they are without --partial"
    (early,) = find_shards(tmp_path / "out" / "partial")
    rows, info = read_shard(early, GAME), shard_info(early)
    assert info.provenance["partial"] == "true" and "partial" not in shard_info(whole).provenance
    assert result_of(tmp_path / "out")["partial"] == 3 and len(rows) == 9
    assert set(rows.player) == {"iss:partial"} and not rows.outcome.any()
    assert rows.deal_seed[::3].tolist() == [number for number, line in enumerate(LINES, 1) if read(line).id in EARLY]
    for deal, line in enumerate(line for line in LINES if read(line).id in EARLY):
        cards = [token for token in read(line).tokens[-30:] if token < NUM_CARDS]
        for history in rows.tokens[3 * deal : 3 * deal + 3]:
            seen = history[history != VOCABULARY.eos].tolist()
            played = re.findall(r" [0-2] ([DHSC][789TJQKA])(?= )", line)
            assert [VOCABULARY.name(token) for token in seen][len(seen) - len(played) :] == played
            assert cards[len(cards) - len(played) :] == seen[len(seen) - len(played) :]


def test_a_game_that_ends_before_anybody_acts_has_nothing_to_keep(tmp_path) -> None:
    left = PASSED.replace("1 p 2 p 0 p ]R[passed]", "w LE.2 ]R[d:-1 penalty v:0 l:2]")
    (tmp_path / "left.sgf").write_text("\n".join([left, LINES[0]]))
    assert converted(tmp_path / "left.sgf", tmp_path / "out", "--partial") == 0
    assert result_of(tmp_path / "out")["left_out"] == {"ended early": 1}


@pytest.mark.parametrize("option", [["--no-bots"], ["--since", "2000-01-01"], ["--drop-duplicates"], ["--partial"]])
def test_a_directory_of_other_settings_or_another_format_is_refused(option, tmp_path, capsys) -> None:
    (tmp_path / "games.sgf").write_text("\n".join(LINES))
    assert converted(tmp_path / "games.sgf", tmp_path / "out") == 0
    assert converted(tmp_path / "games.sgf", tmp_path / "out", *option) == 2
    assert f"was converted with {option[0][2:].replace('-', '_')}=" in capsys.readouterr().err
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    (tmp_path / "out" / "config.json").write_text(json.dumps({**config, "format": 2}))
    assert converted(tmp_path / "games.sgf", tmp_path / "out") == 2
    assert "(format 2: this program reads format 1); take another --out" in capsys.readouterr().err


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
