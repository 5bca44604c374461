"""XSkat's log as records of the International Skat Server, which ``games.skat.records`` reads.

The log has the last bid of an auction alone. The rest is filled in with the fewest calls, and every record says so
(``games.skat.records.marks``), those of deals that all passed too: who learned bids from these alone would never bid.
"""

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from games.skat.records.iss import FormatError
from games.skat.records.marks import XSKAT
from games.skat.records.splitting import lines_in
from games.skat.records.unfinished import unfinished
from games.skat.records.writing import record_line
from games.skat.replay import new_state
from games.skat.xskat.agreement import differences
from games.skat.xskat.log import parse

_HEAD = re.compile(r"Computer1\s+Computer2\s+Computer3")
_SCORES = re.compile(r"-?\d+ -?\d+ -?\d+")
"""What XSkat prints behind the last deal."""
_MOST_LINES = 64
"""Of a deal, which has some thirty."""
_PROGRESS_SECONDS = 5.0


def convert(path: Path, out: Path) -> tuple[int, int]:
    """Write every deal of a log that agrees with our rules to a file, a record per line; returns how many there are,
    and how many were rejected: ``<path>.rejected`` (``<out>.rejected`` for a pipe) has the line where each of these
    begins, and the reason.

    Raises ``FormatError`` where no deal is left, or where both are one file.
    """
    if out.exists() and path.exists() and out.samefile(path):
        raise FormatError(f"--out {out} is this file; name another")
    beside = path if path.is_file() else out
    rejected = beside.with_name(f"{beside.name}.rejected")
    deals = broken = 0
    began = reported = time.monotonic()
    with path.open("rb") as file, unfinished(out) as records:
        with unfinished(rejected) as reasons:
            for number, text in deals_of(file):
                try:
                    records.write(record_of(text, deals + 1) + "\n")
                    deals += 1
                except FormatError as error:
                    reasons.write(f"line {number}: {error}\n")
                    broken += 1
                if time.monotonic() - reported > _PROGRESS_SECONDS:
                    reported = time.monotonic()
                    print(f"{deals:,} deals, {deals / (reported - began):,.0f} a second", file=sys.stderr)
        if not broken:
            rejected.unlink()
        if not deals:
            why = f"{rejected.name} says why" if broken else "it is empty"
            raise FormatError(f"no deal of this log can be used; {why}; write one with xskat -lang english -unfmt")
    return deals, broken


def deals_of(file: BinaryIO) -> Iterator[tuple[int, str]]:
    """The deals of a log, each with the number of its first line; holds one of them at a time. What a deal that was
    not finished left behind comes as one of its own."""
    first, lines = 0, list[str]()
    for line in lines_in(file):
        ends = line.text.startswith("====")
        if lines and (ends or _HEAD.fullmatch(line.text)):
            yield first, "".join(lines)
            lines = []
        if not ends and not (not lines and _SCORES.fullmatch(line.text)) and len(lines) < _MOST_LINES:
            first = first if lines else line.number
            lines.append(f"{line.text}\n")
    if lines:
        yield first, "".join(lines)


def record_of(text: str, number: int) -> str:
    """A deal of a log as a record; ``FormatError`` where it is none, or not by our rules."""
    deal, state = parse(text), new_state()
    if faults := differences(deal, state=state):
        raise FormatError(f"differs from our rules: {'; '.join(faults)}")
    seen_through = [seat for seat in range(3) if seat != deal.soloist and state["public"]["turn"] >= 0]
    return record_line(number, "XSkat", [XSKAT] * 3, state, deal.tokens, deal.seats, seen_through, filled=True)
