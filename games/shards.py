"""Shards: self-play sequences as Parquet files that say what they hold.

Letters: ``N`` sequences, ``L`` the game's ``max_length``, ``V`` the vocabulary's size, ``K`` outcome labels.

One shard is one file with one row per sequence. Tokens are a fixed-size binary column (``L`` tokens, little endian),
zstd-compressed without a dictionary, because lists of small integers take several times the space and the time. The
file's metadata names the game, its options, rules version and vocabulary, and a reader that does not agree with them
stops. A file's bytes depend on its content alone, so that a shard made again after a crash equals the lost one.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from cluster import storage
from games.game import Game

FORMAT_VERSION = 1
"""Raised whenever the columns or the metadata of a shard change."""

_PREFIX = "kibitz."
_RESERVED = ("format", "game", "options", "rules_version", "vocabulary", "max_length", "token_dtype")
_ROW_GROUP = 32768
_COLUMNS = ("outcome", "seat", "player", "deal_seed", "game")

PathOrUri = str | os.PathLike[str]


class ShardError(ValueError):
    """A shard that cannot be used; the message names the file and the reason."""


@dataclass(frozen=True)
class Sequences:
    """``N`` finished histories, each seen from one seat."""

    tokens: np.ndarray
    """``[N, L]`` in the vocabulary's dtype, padded with ``eos``."""
    outcome: np.ndarray
    """``int32[N]``: outcome label seen from the row's seat."""
    seat: np.ndarray
    """``int8[N]``: absolute seat of the observer."""
    player: np.ndarray
    """``object[N]`` of ``str``: name of the player that sat there, e.g. ``"random"`` or ``"argmax_val@003"``."""
    deal_seed: np.ndarray
    """``uint64[N]``: seed of the deal."""
    game: np.ndarray
    """``int32[N]``: number of the deal within its shard."""

    def __post_init__(self) -> None:
        kinds = {"outcome": np.int32, "seat": np.int8, "player": object, "deal_seed": np.uint64, "game": np.int32}
        for name, kind in kinds.items():
            object.__setattr__(self, name, np.asarray(getattr(self, name), kind))
        if self.tokens.ndim != 2:
            raise ValueError(f"tokens must be [N, L], not of shape {self.tokens.shape}")
        for name in kinds:
            if getattr(self, name).shape != (len(self.tokens),):
                raise ValueError(
                    f"{name} has shape {getattr(self, name).shape}; one value for each of the {len(self.tokens)} "
                    "sequences is needed"
                )

    def __len__(self) -> int:
        return len(self.tokens)

    def take(self, rows: np.ndarray) -> "Sequences":
        """The sequences ``rows`` (integer indices or a boolean mask), copied."""
        return Sequences(*(getattr(self, field.name)[rows] for field in fields(self)))

    @staticmethod
    def concat(parts: Iterable["Sequences"]) -> "Sequences":
        """All sequences of ``parts`` in order; at least one part."""
        parts = list(parts)
        if not parts:
            raise ValueError("nothing to concatenate: at least one part is needed")
        return Sequences(
            *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Sequences))
        )


@dataclass(frozen=True)
class ShardInfo:
    """What a shard's metadata says."""

    path: str
    num_sequences: int
    game: str
    """Registry name of the game."""
    options: Mapping[str, bool | int | str]
    rules_version: int
    vocabulary: str
    """Fingerprint of the vocabulary."""
    max_length: int
    token_dtype: str
    """``"uint8"`` or ``"uint16"``."""
    provenance: Mapping[str, str]
    """What the writer said of where the sequences come from: run seed, iteration, checkpoints, ..."""


# ---- paths -----------------------------------------------------------------------------------------------------------


def find_shards(directory: PathOrUri) -> list[str]:
    """Paths of the shards directly in a directory, by name; unfinished files are left out.

    Raises ``ShardError`` where there is no such directory or no shard in it.
    """
    text = os.fspath(directory).rstrip("/") or "/"
    filesystem, inner = storage.resolve(text)
    if filesystem.get_file_info(inner).type != pafs.FileType.Directory:
        raise ShardError(f"{text}: no such directory")
    listing = filesystem.get_file_info(pafs.FileSelector(inner))
    names = sorted(info.base_name for info in listing if info.is_file and _is_shard_name(info.base_name))
    if not names:
        raise ShardError(f"{text}: no *.parquet shard in this directory")
    return [f"{text.rstrip('/')}/{name}" for name in names]


def _is_shard_name(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith((".", "_"))


# ---- writing ---------------------------------------------------------------------------------------------------------


def write_shard(
    path: PathOrUri,
    sequences: Sequences,
    game: Game,
    provenance: Mapping[str, str],
) -> None:
    """Write one shard under a temporary name and rename it, replacing a file that was there; makes directories.

    Args:
        path: a local path or a URI.
        sequences: at least one, of ``game``.
        provenance: where the sequences come from (run seed, iteration, shard number, checkpoint ids, version);
            names without the prefix ``kibitz.``, none of those the format uses itself. For bytes that depend on
            content alone it must hold no time and no path.

    Raises ``ValueError`` for sequences that do not fit the game or provenance that is not text.
    """
    problem = _problem_of(sequences, game)
    if problem:
        raise ValueError(f"{os.fspath(path)}: not written, {problem}")
    storage.write_bytes_atomic(os.fspath(path), _encode(sequences, _metadata(game, provenance)))


def _metadata(game: Game, provenance: Mapping[str, str]) -> dict[str, str]:
    """Key-value metadata in a fixed order: the format's own keys, then provenance by name."""
    for key, value in provenance.items():
        if key in _RESERVED or not isinstance(key, str) or not isinstance(value, str):
            raise ValueError(
                f"provenance {key!r}: {value!r}: keys and values must be text, and the keys "
                f"{', '.join(_RESERVED)} are the format's own"
            )
    own = {
        "format": str(FORMAT_VERSION),
        "game": game.name,
        "options": canonical_options(game.options),
        "rules_version": str(game.rules_version),
        "vocabulary": game.vocabulary.fingerprint,
        "max_length": str(game.max_length),
        "token_dtype": game.vocabulary.dtype.name,
    }
    return {_PREFIX + key: value for key, value in (*own.items(), *sorted(provenance.items()))}


def canonical_options(options: Mapping[str, bool | int | str]) -> str:
    """Rule options as JSON with sorted keys and no blanks: equal options give equal text."""
    return json.dumps(dict(options), sort_keys=True, separators=(",", ":"))


def _encode(sequences: Sequences, metadata: Mapping[str, str]) -> pa.Buffer:
    tokens = np.ascontiguousarray(sequences.tokens, sequences.tokens.dtype.newbyteorder("<"))
    width = tokens.shape[1] * tokens.itemsize
    column = pa.Array.from_buffers(pa.binary(width), len(tokens), [None, pa.py_buffer(tokens)])
    table = pa.table(
        {
            "tokens": column,
            "outcome": pa.array(sequences.outcome),
            "seat": pa.array(sequences.seat),
            "player": pa.array(sequences.player, pa.string()),
            "deal_seed": pa.array(sequences.deal_seed),
            "game": pa.array(sequences.game),
        }
    ).replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    pq.write_table(
        table, sink, row_group_size=_ROW_GROUP, compression="zstd", use_dictionary=False, write_page_checksum=True
    )
    return sink.getvalue()


# ---- reading ---------------------------------------------------------------------------------------------------------


def shard_info(path: PathOrUri) -> ShardInfo:
    """Metadata of a shard, without its rows. Raises ``ShardError`` for anything that is not a shard."""
    with _open(path) as file:
        try:
            footer = pq.read_metadata(file)
        except (pa.ArrowException, OSError) as error:
            raise ShardError(f"{os.fspath(path)}: not a whole Parquet file ({_first_line(error)})") from None
    return _info(os.fspath(path), footer.num_rows, footer.metadata)


def read_shard(path: PathOrUri, game: Game) -> Sequences:
    """All sequences of one shard; arrays may be read-only.

    Raises ``ShardError`` naming the file and the reason: no such file, not Parquet, cut short or damaged, no metadata,
    another game, options, rules version or vocabulary, wrong width, no rows, tokens, labels or seats out of range.
    """
    name = os.fspath(path)
    with _open(path) as file:
        data = file.read_buffer()
    try:
        table = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True).read()
    except (pa.ArrowException, OSError) as error:
        raise ShardError(f"{name}: not a whole Parquet file ({_first_line(error)})") from None
    _check_same_game(_info(name, table.num_rows, table.schema.metadata), game)
    return _decode(name, table, game)


def read_shards(paths: Sequence[PathOrUri], game: Game) -> Sequences:
    """All sequences of several shards, in the order of ``paths``, their tokens in one preallocated matrix.

    Raises ``ShardError`` as :func:`read_shard` does, and for an empty list.
    """
    if not paths:
        raise ShardError("no shards to read: the list of paths is empty")
    total = sum(shard_info(path).num_sequences for path in paths)
    tokens = np.empty((total, game.max_length), game.vocabulary.dtype)
    rest: dict[str, list[np.ndarray]] = {column: [] for column in _COLUMNS}
    first = 0
    for path in paths:
        part = read_shard(path, game)
        tokens[first : first + len(part)] = part.tokens
        first += len(part)
        for column, values in rest.items():
            values.append(getattr(part, column))
    return Sequences(tokens, **{column: np.concatenate(values) for column, values in rest.items()})


def _open(path: PathOrUri) -> pa.NativeFile:
    filesystem, inner = storage.resolve(os.fspath(path))
    if not filesystem.get_file_info(inner).is_file:
        raise ShardError(f"{os.fspath(path)}: no such file")
    return filesystem.open_input_file(inner)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _info(path: str, num_sequences: int, metadata: Mapping[bytes, bytes] | None) -> ShardInfo:
    """Metadata as a record; ``ShardError`` where the format's keys are missing or of another version."""
    entries = {key.decode(): value.decode() for key, value in (metadata or {}).items()}
    entries = {key.removeprefix(_PREFIX): text for key, text in entries.items() if key.startswith(_PREFIX)}
    missing = [key for key in _RESERVED if key not in entries]
    if missing:
        raise ShardError(f"{path}: not a shard, its metadata lacks {_PREFIX}{missing[0]}")
    if entries["format"] != str(FORMAT_VERSION):
        raise ShardError(f"{path}: shard format {entries['format']}, this version reads {FORMAT_VERSION}")
    try:
        return ShardInfo(
            path,
            num_sequences,
            entries["game"],
            json.loads(entries["options"]),
            int(entries["rules_version"]),
            entries["vocabulary"],
            int(entries["max_length"]),
            entries["token_dtype"],
            {key: text for key, text in sorted(entries.items()) if key not in _RESERVED},
        )
    except ValueError as error:
        raise ShardError(f"{path}: metadata makes no sense ({error})") from None


def _check_same_game(info: ShardInfo, game: Game) -> None:
    pairs = {
        "game": (info.game, game.name),
        "options": (canonical_options(info.options), canonical_options(game.options)),
        "rules version": (info.rules_version, game.rules_version),
        "vocabulary": (info.vocabulary, game.vocabulary.fingerprint),
        "max_length": (info.max_length, game.max_length),
        "token dtype": (info.token_dtype, game.vocabulary.dtype.name),
    }
    for what, (there, here) in pairs.items():
        if there != here:
            raise ShardError(f"{info.path}: written for {what} {there}, but this game has {here}")


def _decode(path: str, table: pa.Table, game: Game) -> Sequences:
    dtype = game.vocabulary.dtype
    width = game.max_length * dtype.itemsize
    missing = [column for column in ("tokens", *_COLUMNS) if column not in table.column_names]
    if missing:
        raise ShardError(f"{path}: no column {missing[0]!r}")
    if table.schema.field("tokens").type != pa.binary(width):
        raise ShardError(
            f"{path}: tokens are {table.schema.field('tokens').type}, not {game.max_length} tokens of {dtype.name} "
            f"({width} bytes) a row"
        )
    if any(table[column].null_count for column in table.column_names):
        raise ShardError(f"{path}: it has empty cells")
    if table.num_rows == 0:
        raise ShardError(f"{path}: it has no rows")
    player = table["player"].combine_chunks().dictionary_encode()
    sequences = Sequences(
        tokens=np.concatenate([_tokens(chunk, game.max_length, dtype) for chunk in table["tokens"].chunks]),
        player=np.array(player.dictionary.to_pylist(), object)[player.indices.to_numpy()],
        **{column: table[column].to_numpy() for column in _COLUMNS if column != "player"},
    )
    problem = _problem_of(sequences, game)
    if problem:
        raise ShardError(f"{path}: {problem}")
    return sequences


def _tokens(chunk: pa.FixedSizeBinaryArray, length: int, dtype: np.dtype) -> np.ndarray:
    """``[n, length]``: the tokens of a chunk, in place where bytes lie."""
    start = chunk.offset * length * dtype.itemsize
    flat = np.frombuffer(chunk.buffers()[1], dtype.newbyteorder("<"), count=len(chunk) * length, offset=start)
    return flat.reshape(-1, length).astype(dtype, copy=False)


def _problem_of(sequences: Sequences, game: Game) -> str:
    """Why these sequences cannot be of this game, or an empty text."""
    vocabulary, labels = game.vocabulary, game.outcomes.num_labels
    if len(sequences) == 0:
        return "there are no sequences"
    if sequences.tokens.dtype != vocabulary.dtype or sequences.tokens.shape[1] != game.max_length:
        return (
            f"tokens are {sequences.tokens.dtype.name}{list(sequences.tokens.shape)}; {game.name} has rows of "
            f"{game.max_length} {vocabulary.dtype.name}"
        )
    for what, values, limit in (
        ("token", sequences.tokens, vocabulary.size),
        ("outcome label", sequences.outcome, labels),
        ("seat", sequences.seat, game.num_players),
    ):
        if int(values.min()) < 0 or int(values.max()) >= limit:
            row = int(np.argmax(((values < 0) | (values >= limit)).reshape(len(values), -1).any(axis=1)))
            return f"row {row}: {what} outside 0..{limit - 1}"
    return ""
