"""Records of real deals as shards to train on.

Every game that agrees with our rules gives three sequences, one for each seat, with its outcome label. Left out and
counted are records that differ, and games that end before our rules end them: a player gave up, left or ran out of
time. Their outcome is unknown; ``--partial`` keeps them up to there, in shards of their own.

The directory: ``search.scripted.skat.records.directory``.
"""

import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from cluster.errors import UserError
from cluster.files import storage
from games.game import Game
from games.registry import make_game
from games.shards import write_shard
from games.skat.records.agreement import differences
from games.skat.records.iss import FormatError, Record, read
from games.skat.records.marks import ISS, PARTIAL
from games.skat.replay import before_deal
from games.skat.state import STATE
from search.scripted.skat.records.directory import LEFT_OUT, RESULT, check, prepared
from search.scripted.skat.records.files import records_of
from search.scripted.skat.records.selection import Filter
from search.scripted.skat.records.sequences import sequences_of

_PROGRESS_SECONDS = 5.0
_MOST_DEALS = 1_000_000
"""A shard has no more, as memory holds it as a whole: 1 KB each."""


def convert(paths: Sequence[Path], out: Path, kept: Filter, deals_per_shard: int, scoring: str) -> str:
    """Convert files of records, unless that was done before; returns a line that says what came of it.

    Raises:
        UserError: ``out`` holds something else, or no game of the files agrees with our rules.
        OSError: a file cannot be read, or ``out`` not be written to.
    """
    if not 1 <= deals_per_shard <= _MOST_DEALS:
        raise UserError(f"--deals-per-shard {deals_per_shard}: must be 1 to {_MOST_DEALS:,}")
    game = make_game("skat", {"scoring": scoring})
    config = {
        "source": paths[0].name if len(paths) == 1 else f"{len(paths)}_files",
        "sha256": _digest(paths),
        **asdict(kept),
        "deals_per_shard": deals_per_shard,
        "scoring": scoring,
        "rules_version": str(game.rules_version),
    }
    if (out / RESULT).exists():
        check(out, config)
    else:
        with prepared(out, config), _Conversion(out, config, kept, game) as conversion:
            conversion.read(paths)
            lists = conversion.finish()
            if not conversion.shards:
                why = f"see {' and '.join(lists)} in {out}" if lists else "it has no records"
                named = ", ".join(map(str, paths))
                raise UserError(f"{named}: no game of this file agrees with our rules; {why}")
    try:
        return _summary(out, json.loads((out / RESULT).read_text()))
    except (ValueError, TypeError, KeyError):
        raise UserError(f"{out / RESULT}: is damaged; remove it and convert again") from None


class _Conversion(ExitStack):
    """A conversion under way; closes its lists."""

    def __init__(self, out: Path, config: dict[str, Any], kept: Filter, game: Game) -> None:
        super().__init__()
        self.out, self.config, self.kept, self.game = out, config, kept, game
        self.counts = Counter[str]()
        self.rejected, self.left_out = (
            self.enter_context((out / name).open("w", encoding="utf-8", errors="backslashreplace"))
            for name in (f"{config['source']}.rejected", LEFT_OUT)
        )
        self.fresh = before_deal(config["scoring"])
        self.state = self.fresh.copy()
        self.stretch = self.shards = 0
        self.batches: dict[bool, dict[int, np.void]] = {}  # whether partial -> number of the line -> end of the game
        self.seen = set[bytes]()

    def read(self, paths: Sequence[Path]) -> None:
        """Take in the records; after so many games of a kind all kinds are written."""
        began = reported = time.monotonic()
        for where, number, text in islice(_numbered(paths), self.kept.records or None):
            self._take(where, number, text)
            if any(len(batch) == self.config["deals_per_shard"] for batch in self.batches.values()):
                self._write()
            if time.monotonic() - reported > _PROGRESS_SECONDS:
                reported, records = time.monotonic(), self.counts["records"]
                rate = records / (reported - began)
                print(f"{records:,} records, {self.counts['games']:,} games, {rate:,.0f} records/s", file=sys.stderr)
        if self.batches:
            self._write()

    def _take(self, where: str, number: int, text: str) -> None:
        self.counts["records"] += 1
        try:
            record = read(text)
        except FormatError as error:
            self.counts["no record"] += 1
            self.rejected.write(f"{where}: {error}\n")
            return
        reason, detail = self._judged(record)
        if reason:
            self.counts[reason] += 1
            self.left_out.write(f"{where}: record {record.id}: {detail or reason}\n")
            return
        partial = bool(self.state[0]["public"]["turn"] >= 0)
        self.counts["partial" if partial else "games"] += 1
        self.batches.setdefault(partial, {})[number] = self.state[0].copy()

    def _judged(self, record: Record) -> tuple[str, str]:
        """Replay a record. Why it is left out and more of it, both empty where it is not."""
        if refused := self.kept.refuses(record):
            return refused, ""
        self.state[0] = self.fresh[0]
        if faults := differences(record, self.state[0]):
            return "differs from our rules", "; ".join(faults)
        if self.state[0]["public"]["turn"] >= 0 and not (self.kept.partial and record.tokens):
            return "ended early", f"ended after {self.state[0]['public']['num_played']} cards"
        if self.kept.drop_duplicates:
            key = _key(self.state[0]["tokens"][:, : self.game.max_length])
            if key in self.seen:
                return "duplicate", ""
            self.seen.add(key)
        return "", ""

    def _write(self) -> None:
        """Write a shard of every kind. A deal's seed is the number of its line; no two shards of a conversion have one
        name, so that they can be put together."""
        made = {key: str(self.config[key]) for key in ("source", "sha256", "min_rating")}
        made = {"made_by": "search.scripted.skat.records convert", "shard": str(self.stretch), **made}
        for partial, batch in sorted(self.batches.items()):
            path = f"{'partial/partial' if partial else 'shard'}_{self.stretch:05d}.parquet"
            states, lines = np.array([*batch.values()], STATE), np.array([*batch], np.uint64)
            sequences = sequences_of(self.game, states, lines, ISS + PARTIAL * partial)
            write_shard(self.out / path, sequences, self.game, made | ({"partial": "true"} if partial else {}))
        self.shards += len(self.batches)
        self.stretch, self.batches = self.stretch + 1, {}

    def finish(self) -> list[str]:
        """Say what the directory holds, if it is anything; returns the names of the lists of what was not taken."""
        counts, rejected = self.counts, Path(self.rejected.name)
        self.close()
        if not counts["no record"]:
            rejected.unlink()
        lists = [LEFT_OUT] * ((self.out / LEFT_OUT).stat().st_size > 0) + [rejected.name] * (counts["no record"] > 0)
        result: dict[str, Any] = {"records": counts.pop("records", 0), "deals": counts.pop("games", 0)}
        if self.kept.partial:
            result["partial"] = counts.pop("partial", 0)
        result["shards"], result["left_out"] = self.shards, dict(sorted((+counts).items()))
        if self.shards:
            storage.write_json_atomic(self.out / RESULT, result)
        return lists


def _key(histories: np.ndarray) -> bytes:
    """A digest of a deal's three histories: its cards, and who did what. Among ten million games one is taken for
    another with a chance of 3 in a million."""
    return hashlib.blake2b(np.ascontiguousarray(histories).tobytes(), digest_size=8).digest()


def _numbered(paths: Sequence[Path]) -> Iterator[tuple[str, int, str]]:
    """Where each record is, a number of its own, and its text. The number is its line, counted through all files; where
    several begin on a line the others have the next ones."""
    number = 0
    for path in paths:
        before, named = number, f"{path}: " if len(paths) > 1 else ""
        for found in records_of(path):
            number = max(number + 1, before + found.number)
            yield f"{named}line {found.number}", number, found.text


def _digest(paths: Sequence[Path]) -> str:
    """The digest of a file, or that of the digests of several."""
    digests = list[str]()
    for path in paths:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise UserError(f"{path}: is read twice, so it must be a file, not a pipe")
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()


def _summary(out: Path, result: dict[str, Any]) -> str:
    """What a finished conversion holds, in a line."""
    others = ", ".join(f"{count:,} {reason}" for reason, count in result["left_out"].items()) or "none"
    early = f", and {result['partial']:,} that end early in {out / 'partial'}," if "partial" in result else ""
    return f"{out}: {result['deals']:,} games{early} of {result['records']:,} records; left out: {others}"
