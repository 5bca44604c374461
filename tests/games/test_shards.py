"""Shards: what is written is read again, byte for byte the same, and anything else is refused by name."""

import os
import tracemalloc
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from games import shards
from games.branches import Branches
from games.registry import make_game
from games.rng import derive_many
from games.shards import (
    Sequences,
    ShardError,
    count_deals,
    find_shards,
    read_shard,
    read_shards,
    shard_info,
    write_shard,
)  # fmt: skip

HEARTS = make_game("hearts")
WIDE = make_game("openspiel:hex", {"board_size": 16, "outcomes": "buckets", "num_buckets": 2})
"""Its tokens take two bytes."""
PROVENANCE = {"run_seed": "7", "iteration": "000", "shard": "3"}
COLUMNS = ("tokens", "outcome", "seat", "player", "deal_seed", "game")


def hearts_sequences(count: int, seed: int = 1) -> Sequences:
    """``count`` random hands, seen from seats 0, 1, 2, 3, 0, ..."""
    seeds, seats = derive_many(seed, count), np.arange(count) % 4
    states = HEARTS.deal(seeds)
    HEARTS.playout(states, seeds)
    tokens, _ = HEARTS.histories(states, seats)
    labels = HEARTS.outcome(states)[np.arange(count), seats]
    players = np.array(["random", "argmax_val@003"] * count, object)[:count]
    return Sequences(tokens, labels, seats, players, seeds, np.arange(count))


def branched(count: int, seed: int = 1) -> Sequences:
    """Hands with up to four branches of every second row, at the first plays of the seat."""
    row = np.repeat(np.arange(0, count, 2), np.arange(0, count, 2) % 5)
    number = np.arange(len(row))
    branches = Branches.of_rows(count, row, 14 + number % 7, number % 52, number % HEARTS.outcomes.num_labels)
    return replace(hearts_sequences(count, seed), branches=branches)


def labelled(count: int, seed: int = 1) -> Sequences:
    """Hands with a label at every third token."""
    sequences = hearts_sequences(count, seed)
    labels = np.full_like(sequences.tokens, HEARTS.vocabulary.eos)
    labels[:, ::3] = sequences.tokens[:, ::3] // 2
    return replace(sequences, labels=labels)


def wide(count: int) -> Sequences:
    tokens = np.arange(count * WIDE.max_length).reshape(count, -1) % WIDE.vocabulary.size
    each = np.arange(count)
    return Sequences(tokens.astype(np.uint16), each, each % 2, np.full(count, "random", object), each, each)


def branches_of(sequences: Sequences) -> list[list[tuple[int, int, int]]]:
    """(place, token, outcome) of the branches of every row."""
    found: list[list[tuple[int, int, int]]] = [[] for _ in range(len(sequences))]
    if sequences.branches is not None:
        each = sequences.branches
        for row, *one in zip(each.row, each.place, each.token, each.outcome, strict=True):
            found[row].append(tuple(int(number) for number in one))
    return found


def assert_equal(one: Sequences, other: Sequences) -> None:
    for name in (*COLUMNS, *(["labels"] if one.labels is not None else [])):
        assert getattr(one, name).dtype == getattr(other, name).dtype
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert branches_of(one) == branches_of(other) and (one.labels is None) == (other.labels is None)


def with_metadata(table: pa.Table, **entries: str) -> pa.Table:
    new = {f"kibitz.{key}".encode(): value.encode() for key, value in entries.items()}
    return table.replace_schema_metadata({**table.schema.metadata, **new})


def with_column(table: pa.Table, name: str, values: list, kind: pa.DataType) -> pa.Table:
    """``values`` of the first rows; 0 or nothing in all others."""
    rest = [[] if pa.types.is_list(kind) else 0] * (len(table) - len(values))
    return table.set_column(table.column_names.index(name), name, pa.array([*values, *rest], kind))


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "shard-000.parquet"
    write_shard(path, branched(50), HEARTS, PROVENANCE)
    return path


# ---- what is written is read again


@pytest.mark.parametrize(
    ("make", "count"),
    [(hearts_sequences, 50), (branched, 20), (labelled, 8), (wide, 2), (branched, 40_000), (hearts_sequences, 40_000)],
)
def test_a_shard_reads_back_as_written_with_a_column_for_what_it_holds_alone(make, count: int, tmp_path: Path) -> None:
    path, game, sequences = f"file://{tmp_path}/run/a.parquet", WIDE if make is wide else HEARTS, make(count)
    write_shard(path, sequences, game, {})
    assert_equal(read_shard(tmp_path / "run/a.parquet", game), sequences)
    file = pq.ParquetFile(tmp_path / "run/a.parquet")
    assert file.num_row_groups == (2 if count > 32_768 else 1) and shard_info(path).num_sequences == count
    more = {branched: ["branch_place", "branch_token", "branch_outcome"], labelled: ["label"]}.get(make, [])
    assert set(file.schema_arrow.names) == {*COLUMNS, *more}
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["a.parquet"]


def test_bytes_depend_on_content_alone(shard: Path, tmp_path: Path) -> None:
    again = tmp_path / "elsewhere" / "other_name.parquet"
    write_shard(again, branched(50), HEARTS, dict(reversed(PROVENANCE.items())))
    assert again.read_bytes() == shard.read_bytes()
    write_shard(again, branched(50, seed=2), HEARTS, PROVENANCE)
    assert again.read_bytes() != shard.read_bytes()


def test_several_shards_read_as_one_in_order_and_eos_stands_beside_those_without_labels(tmp_path: Path) -> None:
    parts = [hearts_sequences(3), branched(8), labelled(2, seed=4), branched(5, seed=3)]
    for number, part in enumerate(parts):
        write_shard(tmp_path / f"shard-{number:03}.parquet", part, HEARTS, PROVENANCE)
    together = read_shards(find_shards(tmp_path), HEARTS)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(together, name), np.concatenate([getattr(part, name) for part in parts]))
    assert branches_of(together) == [one for part in parts for one in branches_of(part)]
    assert together.labels is not None and together.labels.dtype == HEARTS.vocabulary.dtype
    np.testing.assert_array_equal(together.labels[11:13], parts[2].labels)
    assert (np.delete(together.labels, [11, 12], axis=0) == HEARTS.vocabulary.eos).all()


def test_shards_are_held_once_while_they_are_read(tmp_path: Path) -> None:
    for number in range(8):
        write_shard(tmp_path / f"{number}.parquet", hearts_sequences(4000, seed=number), HEARTS, PROVENANCE)
    tracemalloc.start()
    sequences = read_shards(find_shards(tmp_path), HEARTS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    held = sum(column.nbytes for column in vars(sequences).values() if column is not None)
    assert peak < 1.4 * held, "all of them and one more"


def test_information_needs_no_game(shard: Path) -> None:
    info = shard_info(shard)
    assert (info.game, info.num_sequences, info.rules_version) == ("hearts", 50, "1")
    assert info.options == dict(HEARTS.options) and dict(info.provenance) == PROVENANCE


def test_unfinished_files_are_not_found_and_none_is_left_behind(shard: Path) -> None:
    (shard.parent / ".shard-001.parquet.0a1b2c3d.tmp").write_bytes(b"half")
    (shard.parent / "notes.txt").write_text("x")
    (shard.parent / "._shard-000.parquet").write_bytes(b"what a file manager leaves")
    assert find_shards(shard.parent) == [str(shard)]
    assert [path.name for path in shard.parent.glob(".shard-000*")] == []


def test_rows_are_read_with_their_own_row_groups_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "_ROW_GROUP", 8)
    whole = branched(40)
    write_shard(tmp_path / "a.parquet", whole, HEARTS, PROVENANCE)
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *given: pytest.fail("all of it is read"))
    for rows in (range(0, 1), range(7, 9), range(12, 30), range(39, 40)):
        some, wanted = read_shard(tmp_path / "a.parquet", HEARTS, rows), np.arange(rows.start, rows.stop)
        np.testing.assert_array_equal(some.tokens, whole.tokens[wanted])
        assert branches_of(some) == branches_of(whole)[rows.start : rows.stop]
        assert some.deal_seed.tolist() == whole.deal_seed[wanted].tolist()
    for rows in (range(39, 41), range(-1, 1), range(3, 3)):
        with pytest.raises(ShardError, match="rows 0 to 39"):
            read_shard(tmp_path / "a.parquet", HEARTS, rows)


def test_branches_stand_in_order_of_row_place_and_token_and_go_with_their_rows() -> None:
    branches = Branches.of_rows(4, np.array([3, 0, 3, 0, 3]), [5, 9, 5, 2, 4], [8, 7, 1, 6, 2], [10, 11, 12, 13, 14])
    assert branches.starts.tolist() == [0, 2, 2, 2, 5]
    assert branches.place.tolist() == [2, 9, 4, 5, 5] and branches.token.tolist() == [6, 7, 2, 1, 8]
    assert branches.outcome.tolist() == [13, 11, 14, 12, 10]
    some = branches.take(np.array([3, 1, 3, 0]))
    assert some.row.tolist() == [0, 0, 0, 2, 2, 2, 3, 3]
    assert some.outcome.tolist() == [14, 12, 10, 14, 12, 10, 13, 11]
    assert branches.take(np.array([], np.int64)).row.tolist() == []


# ---- anything else is refused

LIST = pa.list_(pa.int32())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda t: with_metadata(t, format="99"), "format 99: this program reads format 1"),
        (lambda t: with_metadata(t, game="skat"), "game skat"),
        (lambda t: with_metadata(t, options='{"pass_cards":false}'), "options"),
        (lambda t: with_metadata(t, options="{"), "options {,"),
        (lambda t: with_metadata(t, rules_version="99"), "rules version 99"),
        (lambda t: with_metadata(t, vocabulary="0123456789abcdef"), "vocabulary 0123456789abcdef"),
        (lambda t: t.replace_schema_metadata(None), "lacks kibitz.format"),
        (lambda t: t.drop_columns(["seat"]), "no column 'seat'"),
        (lambda t: t.slice(0, 0), "no rows"),
        (lambda t: with_column(t, "tokens", [b"x" * 74] * 50, pa.binary(74)), "not 75 tokens"),
        (lambda t: with_column(t, "tokens", [b"\xff" * 75] * 50, pa.binary(75)), "row 0: token outside"),
        (lambda t: with_column(t, "outcome", [0] * 49 + [2234], pa.int32()), "row 49: outcome label"),
        (lambda t: with_column(t, "outcome", [-1], pa.int32()), "outcome label outside 0..2233"),
        (lambda t: with_column(t, "seat", [4], pa.int8()), "seat outside 0..3"),
        (lambda t: with_column(t, "seat", [None], pa.int8()), "empty cells"),
        (lambda t: with_column(t, "outcome", [2**32 + 5], pa.int64()), "'outcome' is int64, not int32"),
        (lambda t: with_column(t, "seat", [True] * 50, pa.bool_()), "'seat' is bool, not int8"),
        (lambda t: with_column(t, "game", ["x"] * 50, pa.string()), "'game' is string, not int32"),
        (lambda t: with_column(t, "player", [7], pa.int32()), "'player' is int32, not string"),
        (lambda t: t.append_column("seat", t["seat"]), "column 'seat' is there twice"),
        (lambda t: t.drop_columns(["branch_token"]), "no column 'branch_token'"),
        (lambda t: with_column(t, "branch_token", [[1, 2]], LIST), "row 0: column 'branch_token' is not as long"),
        (lambda t: with_column(t, "branch_token", [[1, None]], LIST), "'branch_token' has empty cells"),
        (lambda t: with_column(t, "branch_place", [1, 2, 3], pa.int32()), "not lists of int32"),
        (lambda t: with_column(t, "branch_place", [[1]], pa.list_(pa.float64())), "not lists of int32"),
        (lambda t: with_column(t.slice(0, 4), "branch_place", [[], [], [20, 75]], LIST), "row 2: place 75"),
        (lambda t: with_column(t.slice(0, 4), "branch_token", [[], [], [5, 60]], LIST), "row 2: token 60"),
        (lambda t: with_column(t.slice(0, 4), "branch_outcome", [[], [], [0, -1]], LIST), "label -1"),
    ],
)
def test_a_foreign_or_impossible_shard_is_refused_by_file_and_reason(shard: Path, change, reason: str) -> None:
    pq.write_table(change(pq.read_table(shard)), shard)
    with pytest.raises(ShardError) as error:
        read_shard(shard, HEARTS)
    assert str(shard) in str(error.value) and reason in str(error.value)


@pytest.mark.parametrize("read", [lambda path: read_shard(path, HEARTS), shard_info, count_deals])
def test_what_is_no_parquet_file_is_refused(read, shard: Path, tmp_path: Path) -> None:
    short, text = tmp_path / "short.parquet", tmp_path / "text.parquet"
    short.write_bytes(shard.read_bytes()[:-20])
    text.write_text("no shard")
    os.mkfifo(tmp_path / "pipe.parquet")
    for path in (short, text, tmp_path / "missing.parquet", tmp_path):
        with pytest.raises(ShardError, match=str(path)):
            read(path)
    with pytest.raises(ShardError, match=r"pipe.parquet: is no regular file; copy what it gives into one$"):
        read(tmp_path / "pipe.parquet")


def test_a_directory_without_shards_is_an_error_that_names_it(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ShardError, match=str(directory)):
            find_shards(directory)


def test_a_row_group_that_would_fill_the_memory_is_refused_by_its_length(tmp_path: Path) -> None:
    write_shard(tmp_path / "one.parquet", hearts_sequences(1), HEARTS, PROVENANCE)
    many = pq.read_table(tmp_path / "one.parquet").take(np.zeros(2**20 + 1, np.int64))
    pq.write_table(many, tmp_path / "many.parquet", row_group_size=2**21, compression="zstd")
    for rows in (None, range(1)):
        with pytest.raises(ShardError, match="a row group of 1,048,577 rows; shards have 32,768"):
            read_shard(tmp_path / "many.parquet", HEARTS, rows)


def test_a_flipped_bit_is_found_or_changes_nothing(shard: Path) -> None:
    data, found = shard.read_bytes(), 0
    for place in range(0, len(data), 97):
        shard.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        try:
            assert_equal(read_shard(shard, HEARTS), branched(50))
        except ShardError as error:
            assert str(shard) in str(error)
            found += 1
    assert found > 0.6 * len(data) / 97


def test_nothing_is_written_of_sequences_that_do_not_fit(tmp_path: Path) -> None:
    good, strange = hearts_sequences(4), labelled(4)
    strange.labels[2, 5] = HEARTS.vocabulary.size
    for sequences, provenance, message in (
        (replace(good, tokens=good.tokens[:, :74]), {}, "hearts has rows of 75 uint8"),
        (Sequences(good.tokens[:0], [], [], [], [], []), {}, "no sequences"),
        (good, {"game": "x"}, "provenance 'game'"),
        (strange, {}, r"row 2: label outside 0\.\.60"),
        (replace(good, labels=strange.labels[:, :3]), {}, r"labels are .*\[4, 3\], tokens"),
    ):
        with pytest.raises(ValueError, match=message):
            write_shard(tmp_path / "a.parquet", sequences, HEARTS, provenance)
    assert list(tmp_path.iterdir()) == []


def test_columns_that_do_not_go_together_are_refused() -> None:
    good = hearts_sequences(4)
    with pytest.raises(ValueError, match="seat has shape"):
        replace(good, seat=good.seat[:3])
    with pytest.raises(ValueError, match="some of these sequences have labels, others none"):
        Sequences.concat([labelled(4), good])
    with pytest.raises(ValueError, match="branches of 3 sequences; there are 4"):
        replace(good, branches=Branches.none(3))
    with pytest.raises(ValueError, match=r"token of branches has shape \(1,\); there are 2"):
        Branches([0, 2], [1, 2], [1], [1, 2])
    with pytest.raises(ValueError, match="must rise from 0"):
        Branches([0, 2, 1], [1], [1], [1])


def test_a_footer_that_counts_other_rows_than_there_are_is_refused(shard: Path) -> None:
    """No checksum covers it, and rows that nobody has written would be learned from."""
    whole, rows = shard.read_bytes(), pq.ParquetFile(shard).metadata.num_rows
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    zigzag = bytes([0x16, *_varint(2 * rows)])  # field 3 of the footer, and of each row group
    found = 0
    for place in range(footer, len(whole) - len(zigzag)):
        if whole[place : place + len(zigzag)] != zigzag:
            continue
        changed = bytearray(whole)
        changed[place + 1] ^= 2  # another number of the same length
        shard.write_bytes(changed)
        with suppress(Exception):  # what was changed may be anything else
            if pq.ParquetFile(shard).metadata.num_rows == rows:
                continue
            found += 1
        for read in (shard_info, count_deals, lambda path: read_shards([path], HEARTS)):
            with pytest.raises(ShardError, match="its footer says"):
                read(shard)
    assert found == 1


def _varint(number: int) -> bytes:
    """As Thrift's compact protocol writes it."""
    parts = [number & 127]
    while number := number >> 7:
        parts.append(number & 127)
    return bytes([*(part | 128 for part in parts[:-1]), parts[-1]])
