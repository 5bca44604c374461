"""Records of real deals as shards to train on.

Every game that agrees with our rules gives three sequences, one for each seat, with its outcome label. Left out and
counted are records that differ, and games that end before our rules end them: a player gave up, left or ran out of
time. Such a history is incomplete, and its outcome is unknown.

A directory holds shards of one conversion: ``config.json`` says of which, before the first shard is written;
``left_out.txt`` names every record left out, and ``conversion.json`` what the finished conversion holds. The same
command again begins anew where it was interrupted, and makes the same bytes.
"""

import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from games.compiled import blank
from games.game import Game
from games.registry import make_game
from games.shards import Sequences, write_shard
from games.skat.cards import EOS
from games.skat.records.agreement import differences
from games.skat.records.iss import FormatError, Record, read, stream
from games.skat.rules import SCORINGS, template
from games.skat.state import STATE

PLAYER = "iss"
"""What every player of a record is called in the shards: names of people are not kept."""
_CONFIG, _RESULT, _LEFT_OUT = "config.json", "conversion.json", "left_out.txt"
_PROGRESS_SECONDS = 5.0


class ConversionError(ValueError):
    """A conversion that cannot be done; one line that names the directory or file."""


@dataclass(frozen=True)
class Filter:
    """Which records are taken."""

    records: int = 0
    """Stop after so many; 0 for all."""
    min_rating: float = 0.0
    """Of all three players; 0 takes players without a rating too."""

    def refuses(self, record: Record) -> bool:
        """Whether a player is rated too low, or not at all."""
        return self.min_rating > 0 and (not record.ratings or min(record.ratings) < self.min_rating)


@dataclass
class _Batch:
    """Finished deals for the next shard."""

    states: np.ndarray
    lines: list[int] = field(default_factory=list)

    def sequences(self, game: Game) -> Sequences:
        """The three of every deal, whose seed is the number of its line."""
        return Sequences.of_deals(game, self.states[: len(self.lines)], np.array(self.lines, np.uint64), PLAYER)


def convert(path: Path, out: Path, kept: Filter, deals_per_shard: int, scoring: str) -> str:
    """Convert a file of records; returns a line that says what came of it.

    Raises:
        ConversionError: ``out`` holds something else, or no game of the file agrees with our rules.
        OSError: the file cannot be read.
    """
    if deals_per_shard < 1:
        raise ConversionError(f"--deals-per-shard {deals_per_shard}: must be at least 1")
    if kept.records < 0:
        raise ConversionError(f"--records {kept.records}: give a number of records, or 0 for all")
    if not kept.min_rating >= 0:  # nan too
        raise ConversionError(f"--min-rating {kept.min_rating}: give a rating, or 0 for anybody")
    game = make_game("skat", {"scoring": scoring})
    config: dict[str, object] = {
        "source": path.name,
        "sha256": _digest(path),
        "records": kept.records,
        "min_rating": kept.min_rating,
        "deals_per_shard": deals_per_shard,
        "scoring": scoring,
        "rules_version": str(game.rules_version),
    }
    if (out / _RESULT).exists():
        _check(out, config)
        try:
            return _summary(out, json.loads((out / _RESULT).read_text()))
        except (ValueError, TypeError, KeyError):
            raise ConversionError(f"{out / _RESULT}: is damaged; remove it and convert again") from None
    _prepare(out, config)
    counts: Counter[str] = Counter()
    shards = 0
    with path.open(encoding="utf-8", errors="replace") as file, (out / _LEFT_OUT).open("w") as left_out:
        for batch in _batches(file, kept, deals_per_shard, SCORINGS.index(scoring), counts, left_out):
            write_shard(out / f"shard_{shards:05d}.parquet", batch.sequences(game), game, _provenance(config, shards))
            shards += 1
    if shards == 0:
        raise ConversionError(f"{path}: no game of this file agrees with our rules; {_LEFT_OUT} in {out} says why")
    result: dict[str, Any] = {"records": counts.pop("records"), "deals": counts.pop("deals"), "shards": shards}
    result["left_out"] = dict(sorted(counts.items()))
    _write_json(out / _RESULT, result)
    return _summary(out, result)


def _check(out: Path, config: dict[str, object]) -> None:
    """``ConversionError`` where the directory was made of another file or with other settings."""
    try:
        theirs = json.loads((out / _CONFIG).read_text())
        key = next((key for key in config if theirs.get(key) != config[key]), None)
    except (OSError, ValueError, AttributeError):
        raise ConversionError(f"{out}: holds no readable {_CONFIG}; take another --out") from None
    if key is not None:
        raise ConversionError(
            f"{out}: was converted with {key}={theirs.get(key)}, the command says {config[key]}; take another --out"
        )


def _prepare(out: Path, config: dict[str, object]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    if (out / _CONFIG).exists():
        _check(out, config)
    elif any(out.iterdir()):
        raise ConversionError(f"{out}: holds files, and no {_CONFIG} of a conversion; take another --out")
    else:
        _write_json(out / _CONFIG, config)


def _provenance(config: dict[str, object], shard: int) -> dict[str, str]:
    made = {key: str(config[key]) for key in ("source", "sha256", "min_rating")}
    return {"made_by": "games.skat.records convert", "shard": str(shard), **made}


def _batches(
    file: TextIO,
    kept: Filter,
    size: int,
    scoring: int,
    counts: Counter[str],
    left_out: TextIO,
) -> Iterator[_Batch]:
    """The games that agree, ``size`` at a time; counts all others by reason and names them."""
    fresh = blank(STATE, template(scoring), EOS, 1)
    batch, began, reported = _Batch(np.repeat(fresh, size)), time.monotonic(), time.monotonic()
    for number, line in stream(file.readline):
        if kept.records and counts["records"] >= kept.records:
            break
        counts["records"] += 1
        place = len(batch.lines)
        reason, detail = _taken(line, kept, batch.states[place])
        if reason:
            counts[reason] += 1
            left_out.write(f"line {number}: {detail or reason}\n")
            batch.states[place] = fresh[0]
        else:
            counts["deals"] += 1
            batch.lines.append(number)
        if len(batch.lines) == size:
            yield batch
            batch = _Batch(np.repeat(fresh, size))
        if time.monotonic() - reported > _PROGRESS_SECONDS:
            reported = time.monotonic()
            rate = counts["records"] / (reported - began)
            print(f"{counts['records']:,} records, {counts['deals']:,} games, {rate:,.0f} records/s", file=sys.stderr)
    if batch.lines:
        yield batch


def _taken(line: str, kept: Filter, state: np.void) -> tuple[str, str]:
    """Replay a record in ``state``. Why it is left out and more of it, both empty where it is not."""
    try:
        record = read(line)
    except FormatError as error:
        return "no record", str(error)
    if kept.refuses(record):
        return "rated too low", f"record {record.id}: rated too low"
    if faults := differences(record, state):
        return "differs from our rules", f"record {record.id}: {'; '.join(faults)}"
    if state["public"]["turn"] >= 0:
        return "ended early", f"record {record.id}: ended after {state['public']['num_played']} cards"
    return "", ""


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_json(path: Path, value: object) -> None:
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps(value, indent=2) + "\n")
    unfinished.replace(path)


def _summary(out: Path, result: dict[str, Any]) -> str:
    """What a finished conversion holds, in a line."""
    left_out = result["left_out"]
    others = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items()) or "none"
    return f"{out}: {result['deals']:,} games of {result['records']:,} records; left out: {others}"
