"""The format of a shard: its metadata, and its columns as Parquet holds them, for ``games.shards``.

Letters: ``N`` sequences, ``L`` the game's ``max_length``.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cluster.foreign import check_format
from games.branches import Branches
from games.game import Game

FORMAT_VERSION = 1
"""Raised whenever a reader of the columns or the metadata before would be misled."""

_PREFIX = "kibitz."
OWN = ("format", "game", "options", "rules_version", "vocabulary", "max_length", "token_dtype")
COLUMNS: dict[str, Any] = {
    "outcome": np.int32,
    "seat": np.int8,
    "player": object,
    "deal_seed": np.uint64,
    "game": np.int32,
}
"""Columns beside the tokens, with their type in memory."""
_TYPES = {
    **{name: pa.string() if kind is object else pa.from_numpy_dtype(kind) for name, kind in COLUMNS.items()},
    "points": pa.float32(),
}
"""Their types in a file, with that of points: another one would be cut or wrapped to fit."""
LABELS = "label"
"""Column of a shard with labels: as the tokens."""
PROBABILITIES = "probability"
"""Column of a shard with probabilities: ``L`` of float32 a row."""
POINTS = "points"
"""Column of a shard of a game whose outcome labels are supports: float32."""
_BRANCHES = {"branch_place": "place", "branch_token": "token", "branch_outcome": "outcome"}
"""Columns of a shard with branches -> fields of ``Branches``, in their order: lists of int32, equally long in a row."""
_VALUES = "branch_value"
"""One more of float32, in a shard whose branches have values."""


def metadata(game: Game, provenance: Mapping[str, str]) -> dict[str, str]:
    """A shard's metadata. ``ValueError`` for a key of the format's own in ``provenance``."""
    for key in provenance:
        if key in OWN:
            raise ValueError(f"provenance {key!r}: the keys {', '.join(OWN)} are the format's own")
    entries = (*_identity(game).items(), *sorted(provenance.items()))
    return {_PREFIX + key: text for key, text in entries}


def _identity(game: Game) -> dict[str, str]:
    """What a shard and the game it is read for must agree in; options as JSON, equal text for equal options."""
    return {
        "format": str(FORMAT_VERSION),
        "game": game.name,
        "options": json.dumps(dict(game.options), sort_keys=True, separators=(",", ":")),
        "rules_version": str(game.rules_version),
        "vocabulary": game.vocabulary.fingerprint,
        "max_length": str(game.max_length),
        "token_dtype": game.vocabulary.dtype.name,
    }


def check_identity(entries: Mapping[str, str], game: Game) -> None:
    """``ValueError`` for the metadata of another game's shard."""
    for key, here in _identity(game).items():
        if entries[key] != here:
            raise ValueError(f"written for {key.replace('_', ' ')} {entries[key]}, but this game has {here}")


def entries_of(file: pq.ParquetFile) -> dict[str, str]:
    """A shard's metadata, keys without their prefix."""
    metadata = {key.decode(): text.decode() for key, text in (file.schema_arrow.metadata or {}).items()}
    entries = {key.removeprefix(_PREFIX): text for key, text in metadata.items() if key.startswith(_PREFIX)}
    names = file.schema_arrow.names
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"column {min(twice)!r} is there twice")
    missing = [key for key in OWN if key not in entries]
    if missing:
        raise ValueError(f"not a shard, its metadata lacks {_PREFIX}{missing[0]}")
    check_format(int(text) if (text := entries["format"]).isdecimal() else text, FORMAT_VERSION)
    return entries


def encode_tokens(tokens: np.ndarray) -> pa.Array:
    """``[N, L]``, also of probabilities, as a column of ``N`` binaries of one width."""
    rows = np.ascontiguousarray(tokens)
    width = rows.shape[1] * rows.itemsize
    return pa.Array.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows)])


def encode_branches(branches: Branches | None) -> dict[str, pa.Array]:
    """The columns of branches; none without any."""
    if branches is None:
        return {}
    starts = pa.array(branches.starts, pa.int32())
    columns = _BRANCHES if branches.value is None else _BRANCHES | {_VALUES: "value"}
    return {
        name: pa.ListArray.from_arrays(starts, pa.array(getattr(branches, field))) for name, field in columns.items()
    }


def _decode_tokens(table: pa.Table, name: str, dtype: np.dtype[Any], game: Game) -> np.ndarray:
    """``[N, L]`` of a column as ``encode_tokens`` makes it."""
    length, column = game.max_length, table[name]
    if column.type != pa.binary(length * dtype.itemsize):
        raise ValueError(f"{name} are {column.type}, not {length} tokens of {dtype.name} a row")
    if column.null_count:
        raise ValueError(f"column {name!r} has empty cells")
    parts = [
        np.frombuffer(chunk.buffers()[1], dtype)[chunk.offset * length :][: len(chunk) * length]
        for chunk in column.chunks
    ]
    return np.concatenate(parts).reshape(-1, length)


def _decode_branches(table: pa.Table) -> Branches | None:
    """The branches of a table as ``encode_branches`` makes it; ``ValueError`` for columns that are none."""
    if not any(name in table.column_names for name in _BRANCHES):
        return None
    starts, columns = np.zeros(0, np.int64), list[np.ndarray]()
    kinds = dict.fromkeys(_BRANCHES, pa.int32()) | ({_VALUES: pa.float32()} if _VALUES in table.column_names else {})
    for name, kind in kinds.items():
        if name not in table.column_names:
            raise ValueError(f"no column {name!r}, which belongs to the branches")
        lists = table[name].combine_chunks()
        if not pa.types.is_list(lists.type) or lists.type.value_type != kind:
            raise ValueError(f"column {name!r} is {lists.type}, not lists of {kind}")
        values = lists.flatten()
        if lists.null_count or values.null_count:
            raise ValueError(f"column {name!r} has empty cells")
        now = np.append(0, np.cumsum(lists.value_lengths().to_numpy()))
        if columns and not np.array_equal(now, starts):
            row = int(np.argmax(now != starts)) - 1
            raise ValueError(f"row {row}: column {name!r} is not as long as the other columns of branches")
        starts = now
        columns.append(values.to_numpy())
    return Branches(starts, *columns)


def check_column(schema: pa.Schema, name: str) -> None:
    """``ValueError`` for a column that is not there, or is of another type."""
    if name not in schema.names:
        raise ValueError(f"no column {name!r}")
    found = schema.field(name).type
    if name in _TYPES and found != _TYPES[name]:
        raise ValueError(f"column {name!r} is {found}, not {_TYPES[name]}")


def decode(table: pa.Table, game: Game) -> dict[str, Any]:
    """The fields of ``games.shards.Sequences``; ``ValueError`` for a table without its columns."""
    for name in ("tokens", *COLUMNS, *([] if game.outcomes.exact else [POINTS])):
        check_column(table.schema, name)
        if table[name].null_count:
            raise ValueError(f"column {name!r} has empty cells")
    if table.num_rows == 0:
        raise ValueError("it has no rows")
    player = table["player"].combine_chunks().dictionary_encode()  # one object for each name, not for each row
    return dict(
        tokens=_decode_tokens(table, "tokens", game.vocabulary.dtype, game),
        player=np.array(player.dictionary.to_pylist(), object)[player.indices.to_numpy()],
        **{name: table[name].to_numpy() for name in COLUMNS if name != "player"},
        branches=_decode_branches(table),
        labels=_decode_optional(table, LABELS, game.vocabulary.dtype, game),
        probabilities=_decode_optional(table, PROBABILITIES, np.dtype(np.float32), game),
        points=None if game.outcomes.exact else table[POINTS].to_numpy(),
    )


def _decode_optional(table: pa.Table, name: str, dtype: np.dtype[Any], game: Game) -> np.ndarray | None:
    return _decode_tokens(table, name, dtype, game) if name in table.column_names else None
