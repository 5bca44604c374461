"""What a player would have done at every decision of deals that were played: ``kibitz review FILE... --out DIR``.

FILE: records of the International Skat Server (``.sgf``, also packed as ``.gz`` or ``.bz2``), a shard, hands that
``kibitz play`` kept, a directory of shards or of records. Several files are of one game.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

from cluster.errors import UserError, say
from cluster.files import storage, uris
from cluster.foreign import shown
from cluster.reader import end_with_reader
from cluster.watching.progress import Progress
from games.recorded_deals import Reader, RecordedDeals, joined, read_deals
from games.registry import make_game
from search.apps.review.page import page
from search.apps.review.report import Review
from search.apps.review.review import review_of
from search.apps.review.text import deal_lines, render
from search.arena.judges import load_judge
from search.roster.kinds import support_of

RECORD_GAMES = ("skat",)
"""Games that read files of records beside shards."""
RESULT, PAGE = "review.json", "review.html"
_PAGES = 30


def main(arguments: list[str] | None = None) -> int:
    """Entry point; 2 after one line on what is wrong, 130 after Ctrl-C: a review that was there stays as it is."""
    given = _parser().parse_args(arguments)
    try:
        for name in ("deals", "pages"):
            if (getattr(given, name) or 0) < 0:
                raise UserError(f"--{name} {getattr(given, name)}: must be 0 or more")
        if given.pages is not None and not given.out:
            raise UserError(f"--pages {given.pages}: is of the page, so give --out too")
        _check_out(given)
        deals = _deals(given.files, given.deals, given.game)
        pages = _PAGES if given.pages is None else given.pages
        review = _review(deals, given, pages)
        for line in deal_lines(review):
            print(line)
        Console().print(render(review))
        if given.out:
            _write(given.out, review, deals, pages)
    except (ValueError, OSError) as error:
        return say(error)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kibitz review", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", metavar="file", nargs="+", help="what to review")
    judges = "argmax_val@NET, go_mcts:num_runs=100@NET, pimc:worlds=40"
    player = f"who judges, any player that values actions, such as {judges}; the network that ships if left out"
    parser.add_argument("--player", default="", help=player)
    seat = "the only seat to review, from 0, or the name of a player, wherever it sits; all if left out"
    parser.add_argument("--seat", type=_seat, default=-1, help=seat)
    parser.add_argument("--out", default="", help=f"directory for {RESULT} and {PAGE}; nothing is kept if left out")
    parser.add_argument("--deals", type=int, default=0, help="review only so many deals from the first on; 0 for all")
    parser.add_argument(
        "--pages", type=int, default=None, help="deals on the page, those in which the most was lost; 30 if left out"
    )
    parser.add_argument("--seed", type=int, default=0, help="of a judge that searches")
    parser.add_argument("--game", default="", help="a game of your own that the shards are of, as module:attribute")
    return parser


def _seat(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdecimal() else text


def _deals(files: Sequence[str], most: int, own: str) -> RecordedDeals:
    """The deals in files, whatever they are, ``most`` of them; files without any are noted where others have some."""
    paths, empty = list[str](), list[str]()
    for file in files:
        found, others = _files(file)
        paths += found
        if others:
            more = f" and {len(others) - 3} more" if len(others) > 3 else ""
            empty.append(f"{file}: left out {', '.join(others[:3])}{more}, of a form that is not known")
    base = Counter(path.rpartition("/")[2] for path in paths)
    parts, left = dict[str, RecordedDeals](), most
    for path in dict.fromkeys(paths):
        name = path.rpartition("/")[2]
        try:
            parts[name if base[name] == 1 else path] = part = _read(path, left, own)
        except UserError:
            raise
        except ValueError as error:
            empty.append(str(error))
            continue
        left -= len(part.titles) if most else 0
        if most and not left:
            break
    if not parts:
        raise UserError("; ".join(empty))
    deals = joined(parts)
    return replace(deals, left_out=(*deals.left_out, *(shown(one, 1000) for one in empty))) if empty else deals


def _files(file: str) -> tuple[list[str], list[str]]:
    """A file, a directory of shards, or the files of records in another with the names of what else is there."""
    if not storage.exists(file):
        raise UserError(f"{file}: no such file")
    names = storage.list_names(file) if storage.is_directory(file) and not uris.is_remote(file) else []
    records = [name for name in names if _ending(name) in _readers()]
    if not records or any(name.endswith(".parquet") for name in names):
        return [file], records
    return [f"{file.rstrip('/')}/{name}" for name in records], [name for name in names if name not in records]


def _ending(file: str) -> str:
    """The ending that says how a file is read, in small letters, without that of its compression."""
    return Path(file.lower().removesuffix(".gz").removesuffix(".bz2")).suffix


def _readers() -> Mapping[str, Reader]:
    return {end: reader for name in RECORD_GAMES for end, reader in support_of(make_game(name)).records.items()}


def _read(file: str, most: int, own: str) -> RecordedDeals:
    storage.check_regular(file)
    if file.endswith(".parquet") or storage.is_directory(file):
        return read_deals(file, most, own)
    readers, ending = _readers(), _ending(file)
    if ending not in readers:
        raise UserError(
            f"{file}: of a form that is not known; give a file that ends in .parquet or {' or '.join(readers)}"
        )
    if own:
        raise UserError(f"--game {own}: is for shards; {file} says itself what game it is of")
    return readers[ending](Path(file), most)


def _rows(deals: RecordedDeals, seat: int | str) -> np.ndarray:
    """``int64[...]``: the histories to review."""
    game, players = deals.game, deals.sequences.player
    if isinstance(seat, str):
        rows = np.flatnonzero(players == shown(seat))
        if not len(rows):
            names = sorted(set(map(str, players)))
            more = f" and {len(names) - 9} more" if len(names) > 9 else ""
            raise UserError(f"--seat {shown(seat)}: nobody is called so; there are {', '.join(names[:9])}{more}")
        return rows
    if not -1 <= seat < game.num_players:
        raise UserError(f"--seat {seat}: {game.name} has seats 0 to {game.num_players - 1}")
    rows = np.flatnonzero((deals.sequences.seat == seat) | (seat < 0))
    if not len(rows):
        raise UserError(f"--seat {seat}: there is no history of this seat")
    return rows


def _review(deals: RecordedDeals, given: argparse.Namespace, pages: int) -> Review:
    rows, setup = _rows(deals, given.seat), load_judge(given.player, deals.game)
    more = f" and {len(given.files) - 1} more" if len(given.files) > 1 else ""
    with Progress("review", len(rows), "histories") as progress:
        file = Path(given.files[0]).name + more
        return review_of(deals, rows, setup, pages, given.seed, file, _asked(given), progress.update)


# ---- files


def _asked(given: argparse.Namespace) -> dict[str, str | int]:
    """What a review depends on."""
    files = [file if uris.is_remote(file) else str(Path(file).resolve()) for file in given.files]
    return {"file": ", ".join(files), **{name: getattr(given, name) for name in ("player", "seat", "deals", "seed")}}


def _check_out(given: argparse.Namespace) -> None:
    """``UserError`` for a directory that holds another review, or cannot be written to."""
    out = given.out
    if not out:
        return
    if not uris.is_remote(out) and Path(uris.resolve(out)[1]).is_file():
        raise UserError(f"--out {out}: is a file; name a directory")
    storage.check_writable(out)
    there = f"{out.rstrip('/')}/{RESULT}"
    if not storage.exists(there):
        return
    try:
        before = dict(storage.read_json(there)["asked"])
    except (ValueError, TypeError, KeyError):
        raise UserError(f"{there}: is no review; remove it, or choose another --out") from None
    for name, value in _asked(given).items():
        if before.get(name) != value:
            was = f"{name} {before.get(name)!r}"
            raise UserError(f"{there}: is another review, of {was}; remove it, or choose another --out")


def _write(out: str, review: Review, deals: RecordedDeals, pages: int) -> None:
    root = out.rstrip("/")
    storage.write_json_atomic(f"{root}/{RESULT}", review.record())
    storage.write_bytes_atomic(f"{root}/{PAGE}", page(review, deals, pages).encode())
    print(f"page: {root}/{PAGE}\nresult: {root}/{RESULT}")


if __name__ == "__main__":
    end_with_reader()
    sys.exit(main())
