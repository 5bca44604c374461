"""Columns of a shard: tokens and branches as Parquet holds them, for ``games.shards``.

Letters: ``N`` sequences, ``L`` the game's ``max_length``.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from games.branches import Branches
from games.game import Game

_BRANCHES = {"branch_place": "place", "branch_token": "token", "branch_outcome": "outcome"}
"""Columns of a shard with branches -> fields of ``Branches``, in their order: lists of int32, equally long in a row."""
_VALUES = "branch_value"
"""One more of float32, in a shard whose branches have values."""


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


def decode_tokens(table: pa.Table, name: str, dtype: np.dtype[Any], game: Game) -> np.ndarray:
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


def decode_branches(table: pa.Table) -> Branches | None:
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
