"""Real deals, as the International Skat Server records them: ``python -m search.scripted.skat.records COMMAND``.

``check FILE...`` replays every record by the kernels that self-play uses; each that differs is printed with what
differs. ``convert FILE... --out DIR`` writes the games that agree as shards to train on. A FILE may be packed (``.gz``,
``.bz2``), or a directory of files. The last line says how many there were. Exits 1 if a record differs, 2 where
something could not be read, 130 after Ctrl-C.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cluster.foreign import printable
from cluster.reader import check_lasts, end_with_reader
from games.skat.records.agreement import differences
from games.skat.records.iss import FormatError, read
from games.skat.rules import SCORINGS
from search.scripted.skat.records.conversion import convert
from search.scripted.skat.records.files import files_of, records_of
from search.scripted.skat.records.selection import Filter

_PROGRESS = 100_000


def check(paths: Sequence[Path]) -> int:
    """Replay every record of files, one at a time, and print the differences, on standard error what is no record;
    returns the exit status. ``FormatError`` where there is none."""
    counts = Counter[str]()
    try:
        for path in paths:
            _check(path, counts, f"{path}: " if len(paths) > 1 else "")
    finally:
        records, agree, none = counts["records"], counts["agree"], counts["none"]
        others = f"; {none} {'texts are' if none > 1 else 'text is'} no record" if none else ""
        if records:
            print(f"{records} records, {agree} agree{others}")
    if records == none == 0:
        raise FormatError(f"{', '.join(map(str, paths))}: there is no record in this file")
    return 2 if none else 0 if agree == records else 1


def _check(path: Path, counts: Counter[str], named: str) -> None:
    for number, text in records_of(path):
        try:
            record = read(text)
        except FormatError as error:
            counts["none"] += 1
            print(f"{path}: line {number}: {error}", file=sys.stderr)
            continue
        faults = differences(record)
        counts["records"] += 1
        counts["agree"] += not faults
        if faults:
            print(f"{named}record {record.id} (line {number}): {'; '.join(faults)}")
        if counts["records"] % _PROGRESS == 0:
            print(f"{counts['records']} records, {counts['agree']} agree so far", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m search.scripted.skat.records", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    checking = commands.add_parser("check", help="replay records and compare them with our rules")
    converting = commands.add_parser("convert", help="write the games that agree with our rules as shards")
    for reading in (checking, converting):
        about = "records of the International Skat Server, or a directory of such files"
        reading.add_argument("paths", metavar="file", type=Path, nargs="+", help=about)
    converting.add_argument("--out", type=Path, required=True, help="a new directory")
    converting.add_argument("--records", type=int, default=0, help="stop after so many records; 0 for all")
    converting.add_argument("--min-rating", type=float, default=0.0, help="of all three players; 0 for anybody")
    converting.add_argument("--no-bots", action="store_true", help="leave out games of the server's programs")
    converting.add_argument("--since", default="", metavar="YYYY-MM-DD", help="leave out games before this day")
    converting.add_argument("--drop-duplicates", action="store_true", help="keep a deal with the same actions once")
    converting.add_argument("--partial", action="store_true", help="keep games that end early too, in DIR/partial")
    converting.add_argument("--deals-per-shard", type=int, default=10_000)
    converting.add_argument("--scoring", choices=SCORINGS, default=SCORINGS[0])
    return parser


def _do(given: argparse.Namespace) -> int:
    paths, notes = files_of(given.paths)
    for note in notes:
        print(note, file=sys.stderr)
    if given.command == "check":
        return check(paths)
    kept = Filter(given.records, given.min_rating, given.no_bots, given.since, given.drop_duplicates, given.partial)
    print(convert(paths, given.out, kept, given.deals_per_shard, given.scoring))
    return 0


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit status."""
    given = _parser().parse_args(arguments)
    try:
        check_lasts(getattr(given, "out", ""), "--out")
        return _do(given)
    except OSError as error:
        if error.filename is None and "out" in given:  # such as a full disk, met while it is written
            what = f"{given.out} cannot be written ({error.strerror}); mend that and repeat the command"
        else:
            what = f"{error.filename or given.command}: {error.strerror}"
        print(printable(what), file=sys.stderr)
    except ValueError as error:  # names what it is about
        print(printable(error), file=sys.stderr)
    return 2


if __name__ == "__main__":
    end_with_reader()
    sys.exit(main())
