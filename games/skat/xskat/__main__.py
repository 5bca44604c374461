"""XSkat as a witness of our rules, and its games as records.

``python -m games.skat.xskat --games 10000 [--seed 1]``: XSkat, a program of its own, plays deals against itself
(``apt-get install xskat``; no display is needed). Every deal of its log is replayed by the kernels that self-play uses:
legality, who won each trick, card points, value and winner must agree. Each deal that differs is printed with what
differs. The last line is ``N deals, M agree``. Exits 1 if any differs, 2 without XSkat.

``python -m games.skat.xskat FILE.log --out FILE.sgf``: the deals of a log (``xskat -auto N -log FILE.log``) as records
for ``games.skat.records``; those that cannot be used are named in ``FILE.log.rejected``. Exits 2 if none can.
"""

import argparse
import sys
from pathlib import Path

from cluster.reader import check_lasts, end_with_reader
from games.skat.records.iss import FormatError
from games.skat.xskat.agreement import differences
from games.skat.xskat.conversion import convert
from games.skat.xskat.log import parse
from games.skat.xskat.program import XSkatError, self_play


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m games.skat.xskat", description=__doc__)
    parser.add_argument("log", type=Path, nargs="?", help="a log to write as records; without it XSkat plays")
    parser.add_argument("--out", type=Path, help="with a log: the file of records to write")
    parser.add_argument("--games", type=int, help="without a log: deals to play; 1000 if left out")
    parser.add_argument("--seed", type=int, help="without a log: of XSkat's deals; 1 if left out")
    asked = parser.parse_args(arguments)
    if (asked.log is None) != (asked.out is None):
        parser.error("a log and --out FILE belong together; for games that XSkat plays now, give neither")
    if asked.log is not None and (asked.games, asked.seed) != (None, None):
        parser.error("--games and --seed are for games that XSkat plays now; leave them out with a log")
    games, seed = 1000 if asked.games is None else asked.games, 1 if asked.seed is None else asked.seed
    if games < 1:
        parser.error(f"--games {games}: at least 1 is needed")
    return _witness(games, seed) if asked.log is None else _records(asked.log, asked.out)


def _witness(games: int, seed: int) -> int:
    deals = agree = 0
    try:
        for text, value in self_play(games, seed):
            faults = differences(parse(text), value)
            deals += 1
            agree += not faults
            if faults:
                print(f"deal {deals}: {'; '.join(faults)}\n{text}")
    except (XSkatError, FormatError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{deals} deals, {agree} agree")
    return 0 if agree == deals else 1


def _records(log: Path, out: Path) -> int:
    try:
        check_lasts(out, "--out")
        deals, rejected = convert(log, out)
    except OSError as error:
        print(f"{error.filename or out}: {error.strerror}", file=sys.stderr)
        return 2
    except FormatError as error:
        print(f"{log}: {error}", file=sys.stderr)
        return 2
    except ValueError as error:  # names what it is about
        print(error, file=sys.stderr)
        return 2
    print(f"{out}: {deals:,} deals; rejected: {rejected:,}")
    return 0


if __name__ == "__main__":
    end_with_reader()
    sys.exit(main())
