"""Shards: self-play sequences as Parquet files that say what they hold.

Letters: ``N`` sequences, ``L`` the game's ``max_length``, ``V`` the vocabulary's size, ``K`` outcome labels.

One shard is one file with one row per sequence. Tokens are a fixed-size binary column (``L`` tokens, little endian),
zstd-compressed without a dictionary, because lists of small integers take several times the space and the time. The
file's metadata names the game, its options, rules version and vocabulary, and a reader that does not agree with them
stops. A file's bytes depend on its content alone, so that a shard made again after a crash equals the lost one.

A shard may hold branches (``games.branches``), as three or four more columns of lists, labels (``selfplay.labels``),
as one more column like the tokens, and probabilities of the actions played (``selfplay.probabilities``), as one more of
that form. Readers that do not know these columns read the rest. Shards of games whose outcome labels are supports
(``OutcomeTable.exact``) hold exact ``points`` too.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cluster.files import storage, uris
from cluster.foreign import parse_json
from games.branches import Branches
from games.game import Game
from games.shard_format import (
    COLUMNS,
    LABELS,
    OWN,
    POINTS,
    PROBABILITIES,
    check_column,
    check_identity,
    decode,
    encode_branches,
    encode_tokens,
    entries_of,
    metadata,
)

_ROW_GROUP = 32768
_MAX_ROW_GROUP = 2**20
"""Limit for files that others have written."""
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
    branches: Branches | None = None
    """Branches of these ``N`` sequences; None without any."""
    labels: np.ndarray | None = None
    """``[N, L]`` as ``tokens``: at the place of an action what another player would have done (``selfplay.labels``),
    ``eos`` where it was not asked; None without any."""
    points: np.ndarray | None = None
    """``float32[N]``: exact points of the row's seat; None where the outcome label says them."""
    probabilities: np.ndarray | None = None
    """``float32[N, L]``: at the place of an action that the sequence's player drew the probability with which it did, 0
    elsewhere, at forced actions and where the player did not say; None without any."""

    def __post_init__(self) -> None:
        for name, kind in COLUMNS.items():
            column = np.asarray(getattr(self, name), kind)
            if column.shape != (len(self.tokens),):
                raise ValueError(f"{name} has shape {column.shape}; one for each of {len(self.tokens)} rows is needed")
            object.__setattr__(self, name, column)
        if self.points is not None and np.shape(self.points) != (len(self.tokens),):
            raise ValueError(f"points have shape {np.shape(self.points)}; there are {len(self.tokens)} rows")
        if self.branches is not None and len(self.branches.starts) != len(self.tokens) + 1:
            raise ValueError(f"branches of {len(self.branches.starts) - 1} sequences; there are {len(self.tokens)}")

    def __len__(self) -> int:
        return len(self.tokens)

    @staticmethod
    def of_deals(
        game: Game,
        states: np.ndarray,
        seeds: np.ndarray,
        names: np.ndarray | str,
        keep: np.ndarray | None = None,
        first: int = 0,
        probabilities: np.ndarray | None = None,
    ) -> "Sequences":
        """The histories of ``G`` ended deals of ``P`` seats, deal by deal in the order of the seats.

        Args:
            names: ``object[G, P]`` names of the players, or the name of all of them.
            keep: ``bool[G, P]``: whose histories; None for all.
            first: number of the first deal.
            probabilities: ``float32[G, P, L]``, of each seat's history (``TableResult.probabilities``).
        """
        labels = game.outcome(states)
        deal, seat = np.nonzero(np.ones_like(labels) if keep is None else keep)
        tokens, player = game.histories(states[deal], seat)[0], np.broadcast_to(np.asarray(names, object), labels.shape)
        points = None if game.outcomes.exact else game.points(states)[deal, seat]
        columns = tokens, labels[deal, seat], seat, player[deal, seat], seeds[deal], first + deal
        drawn = None if probabilities is None else probabilities[deal, seat]
        return Sequences(*columns, points=points, probabilities=drawn)

    @staticmethod
    def concat(parts: Sequence["Sequences"]) -> "Sequences":
        """All sequences of ``parts`` in order; at least one part."""
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in ("tokens", *COLUMNS)
        }
        for name in ("labels", "points", "probabilities"):
            there = [getattr(part, name) for part in parts if getattr(part, name) is not None]
            if 0 < len(there) < len(parts):
                raise ValueError(f"some of these sequences have {name}, others none")
            columns[name] = np.concatenate(there) if there else None
        return Sequences(**columns, branches=_joined([(part.branches, len(part)) for part in parts]))


@dataclass(frozen=True)
class ShardInfo:
    """What a shard says of itself."""

    path: str
    num_sequences: int
    game: str
    """Registry name of the game."""
    options: Mapping[str, bool | int | str]
    rules_version: str
    provenance: Mapping[str, str]
    """What the writer said of where the sequences come from: run seed, iteration, checkpoints, ..."""


def find_shards(directory: PathOrUri) -> list[str]:
    """Paths of the shards directly in a directory, by name; unfinished and hidden files (``._x``, ``_x``) are left out.

    Raises ``ShardError`` where there is no such directory or no shard in it.
    """
    text = os.fspath(directory)
    if not storage.is_directory(text):
        raise ShardError(f"{text}: no such directory")
    names = [name for name in storage.list_names(text) if name.endswith(".parquet") and name[0] not in "._"]
    if not names:
        raise ShardError(f"{text}: no *.parquet shard in this directory")
    return [f"{text.rstrip('/')}/{name}" for name in names]


# ---- writing ---------------------------------------------------------------------------------------------------------


def write_shard(path: PathOrUri, sequences: Sequences, game: Game, provenance: Mapping[str, str]) -> None:
    """Write one shard under a temporary name and rename it, replacing a file that was there; makes directories.

    Args:
        path: a local path or a URI.
        sequences: at least one, of ``game``.
        provenance: where the sequences come from (run seed, iteration, shard number, checkpoint ids, version);
            names without the prefix ``kibitz.``, none of those the format uses itself. For bytes that depend on
            content alone it must hold no time and no path.

    Raises ``ValueError`` for sequences that do not fit the game and for names of the format's own in ``provenance``.
    """
    _check(sequences, game)
    storage.write_bytes_atomic(os.fspath(path), _encode(sequences, metadata(game, provenance)))


def _encode(sequences: Sequences, metadata: Mapping[str, str]) -> pa.Buffer:
    table = pa.table(
        {
            "tokens": encode_tokens(sequences.tokens),
            **{name: pa.array(getattr(sequences, name)) for name in COLUMNS},
            **encode_branches(sequences.branches),
            **({} if sequences.labels is None else {LABELS: encode_tokens(sequences.labels)}),
            **({} if sequences.points is None else {POINTS: pa.array(sequences.points, pa.float32())}),
            **({} if sequences.probabilities is None else {PROBABILITIES: encode_tokens(sequences.probabilities)}),
        }
    ).replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    pq.write_table(
        table, sink, row_group_size=_ROW_GROUP, compression="zstd", use_dictionary=False, write_page_checksum=True
    )
    return sink.getvalue()


# ---- reading ---------------------------------------------------------------------------------------------------------


def shard_info(path: PathOrUri, game: Game | None = None) -> ShardInfo:
    """Metadata of a shard, without its rows. Raises ``ShardError`` for anything that is not a shard, or not of
    ``game``."""
    with _opened(path) as file:
        entries = entries_of(file)
        if game:
            check_identity(entries, game)
        provenance = {key: text for key, text in sorted(entries.items()) if key not in OWN}
        options = parse_json(entries["options"])
        return ShardInfo(
            os.fspath(path), file.metadata.num_rows, entries["game"], options, entries["rules_version"], provenance
        )


def count_deals(path: PathOrUri) -> int:
    """Deals of which a shard has sequences. Raises ``ShardError`` for anything that is not a shard."""
    with _opened(path) as file:
        entries_of(file)
        check_column(file.schema_arrow, "game")
        return len(np.unique(file.read(["game"])["game"]))


def read_shard(path: PathOrUri, game: Game, rows: range | None = None) -> Sequences:
    """All sequences of one shard, or those of consecutive ``rows``, of whose row groups alone the file is read then;
    arrays may be read-only.

    Raises ``ShardError`` naming the file and the reason: no such file, not Parquet, cut short or damaged, no metadata,
    another game, options, rules version or vocabulary, wrong width, no rows, tokens, labels or seats out of range.
    """
    with _opened(path) as file:
        check_identity(entries_of(file), game)
        ends = _ends(file)
        if rows is None:
            table = file.read()
        else:
            if not 0 <= rows.start < rows.stop <= ends[-1]:
                raise ValueError(f"it has rows 0 to {ends[-1] - 1}")
            groups = [group for group, end in enumerate(ends[1:]) if ends[group] < rows.stop and rows.start < end]
            table = file.read_row_groups(groups).slice(rows.start - ends[groups[0]], len(rows))
        sequences = Sequences(**decode(table, game))
        _check(sequences, game)
    return sequences


def _ends(file: pq.ParquetFile) -> np.ndarray:
    """``int64[G + 1]``: the first row of each of ``G`` row groups, and behind the last. ``ValueError`` for a group that
    is too long: equal rows take no room in a file, whatever they take in memory."""
    sizes = _sizes(file)
    if (longest := max(sizes, default=0)) > _MAX_ROW_GROUP:
        raise ValueError(f"a row group of {longest:,} rows; shards have {_ROW_GROUP:,}, and {_MAX_ROW_GROUP:,} at most")
    return np.cumsum([0, *sizes])


def _sizes(file: pq.ParquetFile) -> list[int]:
    return [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]


def read_shards(
    paths: Sequence[PathOrUri], game: Game, with_labels: bool = True, with_probabilities: bool = True
) -> Sequences:
    """All sequences of at least one shard, in the order of ``paths``, with their labels and probabilities if any has
    some and they are wanted. Raises ``ShardError`` as :func:`read_shard`, and for a shard of games that broke off
    (``partial=true`` in its metadata), as they have no outcomes.

    Each shard is copied to its place as it is read, so memory holds the sequences once and one shard beside them, and
    branches twice while they are joined.
    """
    infos = [shard_info(path) for path in paths]
    for path, info in zip(paths, infos, strict=True):
        if info.provenance.get("partial") == "true":
            raise ShardError(f"{path}: holds games that broke off, without outcomes; take the shards beside it")
    ends = np.cumsum([info.num_sequences for info in infos])
    columns: dict[str, Any] = {name: np.empty(ends[-1], kind) for name, kind in COLUMNS.items()}
    columns["tokens"] = np.empty((ends[-1], game.max_length), game.vocabulary.dtype)
    if not game.outcomes.exact:
        columns["points"] = np.empty(ends[-1], np.float32)
    branches = list[tuple[Branches | None, int]]()
    wanted: dict[str, float] = {"labels": game.vocabulary.eos} if with_labels else {}
    wanted |= {"probabilities": 0.0} if with_probabilities else {}
    for at, (path, end) in enumerate(zip(paths, ends, strict=True)):
        part = read_shard(path, game)
        if len(part) != infos[at].num_sequences:
            raise ShardError(f"{path}: has {len(part):,} rows, and had {infos[at].num_sequences:,} a moment ago")
        for name, nothing in wanted.items():
            if (here := getattr(part, name)) is not None:
                if name not in columns:
                    columns[name] = np.full(columns["tokens"].shape, nothing, here.dtype)
                columns[name][end - len(part) : end] = here
        for name, column in columns.items():
            if name not in wanted:
                column[end - len(part) : end] = getattr(part, name)
        branches.append((part.branches, len(part)))
    return Sequences(**columns, branches=_joined(branches))


def _joined(parts: Sequence[tuple[Branches | None, int]]) -> Branches | None:
    """The branches of sets of sequences, each with the number of its sequences; None where no set has any."""
    if all(branches is None for branches, _ in parts):
        return None
    return Branches.concat([branches or Branches.none(count) for branches, count in parts])


@contextmanager
def _opened(path: PathOrUri) -> Iterator[pq.ParquetFile]:
    """A shard to read from; whatever turns out to be wrong with it is a ``ShardError`` that names the file."""
    filesystem, inner = uris.resolve(os.fspath(path))
    try:
        storage.check_regular(os.fspath(path))
        with pq.ParquetFile(inner, filesystem=filesystem, pre_buffer=True, page_checksum_verification=True) as file:
            rows = sum(_sizes(file))
            if file.metadata.num_rows != rows:  # no checksum covers the footer
                raise ValueError(f"its footer says {file.metadata.num_rows:,} rows, its row groups hold {rows:,}")
            yield file
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0].removeprefix(f"{os.fspath(path)}: ")
        raise ShardError(f"{os.fspath(path)}: {reason}") from error


def _check(sequences: Sequences, game: Game) -> None:
    """``ValueError`` for sequences that cannot be of this game."""
    vocabulary = game.vocabulary
    if len(sequences) == 0:
        raise ValueError("there are no sequences")
    if sequences.tokens.dtype != vocabulary.dtype or sequences.tokens.shape[1] != game.max_length:
        raise ValueError(
            f"tokens are {sequences.tokens.dtype.name}{list(sequences.tokens.shape)}; {game.name} has rows of "
            f"{game.max_length} {vocabulary.dtype.name}"
        )
    if (sequences.points is None) != game.outcomes.exact:
        raise ValueError(
            f"{'no' if sequences.points is None else 'a column of'} points, which does not fit {game.name}"
        )
    if sequences.points is not None and not np.isfinite(sequences.points).all():
        raise ValueError(f"row {int(np.argmin(np.isfinite(sequences.points)))}: points are no finite number")
    labels = sequences.tokens if sequences.labels is None else sequences.labels
    if labels.shape != sequences.tokens.shape or labels.dtype != sequences.tokens.dtype:
        raise ValueError(f"labels are {labels.dtype.name}{list(labels.shape)}, tokens {list(sequences.tokens.shape)}")
    chances = sequences.probabilities
    if chances is not None and (chances.shape != sequences.tokens.shape or chances.dtype != np.float32):
        raise ValueError(f"probabilities are {chances.dtype.name}{list(chances.shape)}")
    if chances is not None and not ((chances >= 0) & (chances <= 1)).all():
        bad = int(np.argmin(((chances >= 0) & (chances <= 1)).all(axis=1)))
        raise ValueError(f"row {bad}: a probability is outside 0..1")
    for what, values, limit in (
        ("token", sequences.tokens, vocabulary.size),
        ("label", labels, vocabulary.size),
        ("outcome label", sequences.outcome, game.outcomes.num_labels),
        ("seat", sequences.seat, game.num_players),
    ):
        if int(values.min()) < 0 or int(values.max()) >= limit:
            row = int(np.argmax(((values < 0) | (values >= limit)).reshape(len(values), -1).any(axis=1)))
            raise ValueError(f"row {row}: {what} outside 0..{limit - 1}")
    if sequences.branches is not None:
        sequences.branches.check(sequences.tokens, vocabulary, game.outcomes.num_labels)
