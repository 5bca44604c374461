"""Deals of players come back from records as they were; exports say what they leave out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.registry import make_game
from games.rng import derive_many
from games.shards import Sequences, find_shards, read_shard, read_shards, shard_info, write_shard
from games.skat.records.__main__ import main
from games.skat.records.iss import read
from search.config import SearchConfig
from search.players.table import play_table
from search.roster.registry import make_players

PLAYERS = ["skat_rules", "skat_rules:explore=0.3", "random"]


def played(seed: int, count: int, scoring: str) -> Sequences:
    """Deals as ``kibitz generate`` plays and keeps them: every seat draws its player, all three seats are kept."""
    game = make_game("skat", {"scoring": scoring})
    seating = np.random.default_rng(seed).choice(3, (count, 3), p=[0.6, 0.3, 0.1])
    seeds = derive_many(seed, count)
    states = play_table(game, make_players(PLAYERS, game, SearchConfig()), seating, seeds, secret=seed).states
    return Sequences.of_deals(game, states, seeds, np.array(PLAYERS, object)[seating])


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32), scoring=st.sampled_from(["seeger_fabian", "classic"]))
def test_deals_of_players_come_back_as_they_were(seed, scoring, tmp_path_factory) -> None:
    """Bids, hand and null games, discards and sensible play, noise between: from two shards through records."""
    home, game = tmp_path_factory.mktemp("round"), make_game("skat", {"scoring": scoring})
    parts = [played(seed, 120, scoring), played(seed + 1, 80, scoring)]
    for number, part in enumerate(parts):
        write_shard(home / "shards" / f"{number}.parquet", part, game, {})
    assert main(["export", str(home / "shards"), "--out", str(home / "games.sgf")]) == 0
    assert main(["check", str(home / "games.sgf")]) == 0
    lines = (home / "games.sgf").read_text().splitlines()
    assert len(lines) == 200 and list(read(lines[0]).names) == parts[0].player[:3].tolist()
    assert main(["convert", str(home / "games.sgf"), "--out", str(home / "back"), "--scoring", scoring]) == 0
    back, there = read_shards(find_shards(home / "back"), game), Sequences.concat(parts)
    for column in ("tokens", "outcome", "seat"):
        assert np.array_equal(getattr(back, column), getattr(there, column))


def test_what_is_exported_again_is_the_same_text(tmp_path) -> None:
    game = make_game("skat")
    write_shard(tmp_path / "shards" / "a.parquet", played(7, 60, "seeger_fabian"), game, {})
    assert main(["export", str(tmp_path / "shards"), "--out", str(tmp_path / "once.sgf")]) == 0
    assert main(["convert", str(tmp_path / "once.sgf"), "--out", str(tmp_path / "back")]) == 0
    assert main(["export", str(tmp_path / "back"), "--out", str(tmp_path / "twice.sgf")]) == 0
    once, twice = ((tmp_path / name).read_text().splitlines() for name in ("once.sgf", "twice.sgf"))
    assert [line[line.index("MV[") :] for line in once] == [line[line.index("MV[") :] for line in twice]


def test_an_export_that_fails_leaves_nothing(tmp_path, capsys) -> None:
    """The second shard is damaged: the first one's deals are not left as if they were all."""
    game = make_game("skat")
    for name in ("a", "b"):
        write_shard(tmp_path / "shards" / f"{name}.parquet", played(3, 20, "seeger_fabian"), game, {})
    damaged = tmp_path / "shards" / "b.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-50])
    out = tmp_path / "out.sgf"
    out.write_text("of before\n")
    assert main(["export", str(tmp_path / "shards"), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"{damaged}: ") and error.count("\n") == 1
    assert out.read_text() == "of before\n" and [path.name for path in tmp_path.glob("out*")] == ["out.sgf"]


@pytest.mark.parametrize("filled", [False, True])
def test_an_export_says_where_auctions_were_filled_in(filled, tmp_path) -> None:
    """A seat of the program XSkat at our table, by the same name, has made its own bids."""
    game, deals = make_game("skat"), played(5, 10, "seeger_fabian")
    named = Sequences(
        deals.tokens, deals.outcome, deals.seat, np.full(30, "xskat", object), deals.deal_seed, deals.game
    )
    write_shard(tmp_path / "in" / "a.parquet", named, game, {"auction": "filled"} if filled else {})
    assert main(["export", str(tmp_path / "in"), "--out", str(tmp_path / "r.sgf")]) == 0
    assert main(["convert", str(tmp_path / "r.sgf"), "--out", str(tmp_path / "back")]) == 0
    (shard,) = find_shards(tmp_path / "back")
    assert set(read_shard(shard, game).player) == {"xskat" if filled else "iss"}
    assert shard_info(shard).provenance.get("auction") == ("filled" if filled else None)
