"""What a player would have done at every decision of deals that were played: ``kibitz review FILE --out DIR``.

FILE: records of the International Skat Server (``.sgf``), a shard or a directory of shards, hands that ``kibitz play``
kept.
"""

import argparse
import sys
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
from rich.console import Console

from cluster.errors import UserError, say
from cluster.files import storage
from cluster.reader import end_with_reader
from cluster.watching.progress import Progress
from games.recorded_deals import Reader, RecordedDeals, read_deals
from games.registry import make_game
from search.review.decisions import judge_deals
from search.review.figures import figures, results_of
from search.review.hindsight import hindsight
from search.review.judges import seat_judge
from search.review.page import page
from search.review.perfect import with_perfect_play
from search.review.report import Review, deal_notes
from search.review.text import deal_lines, render
from search.roster.kinds import support_of
from search.values.report import unit_of

RECORD_GAMES = ("skat",)
"""Games that read files of records beside shards."""
RESULT, PAGE = "review.json", "review.html"
_PAGES = 30


def main(arguments: list[str] | None = None) -> int:
    """Entry point; 2 after one line on what is wrong."""
    given = _parser().parse_args(arguments)
    try:
        for name in ("deals", "pages"):
            if (getattr(given, name) or 0) < 0:
                raise UserError(f"--{name} {getattr(given, name)}: must be 0 or more")
        if given.pages is not None and not given.out:
            raise UserError(f"--pages {given.pages}: is of the page, so give --out too")
        _check_out(given)
        deals = _deals(given.file, given.deals, given.game)
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
    parser.add_argument("file", help="what to review")
    judges = "argmax_val@NET, go_mcts:num_runs=100@NET, pimc:worlds=40"
    player = f"who judges, any player that tells values, such as {judges}; the network that ships if left out"
    parser.add_argument("--player", default="", help=player)
    parser.add_argument("--seat", type=int, default=-1, help="the only seat to review, from 0; all if left out")
    parser.add_argument("--out", default="", help=f"directory for {RESULT} and {PAGE}; nothing is kept if left out")
    parser.add_argument("--deals", type=int, default=0, help="review only so many deals from the first on; 0 for all")
    parser.add_argument(
        "--pages", type=int, default=None, help="deals on the page, those in which the most was lost; 30 if left out"
    )
    parser.add_argument("--seed", type=int, default=0, help="of a judge that searches")
    parser.add_argument("--game", default="", help="a game of your own that the shards are of, as module:attribute")
    return parser


def _deals(file: str, most: int, own: str) -> RecordedDeals:
    """The deals in a file, whatever it is."""
    if not storage.exists(file) and not storage.is_directory(file):
        raise UserError(f"{file}: no such file")
    storage.check_regular(file)
    ending = Path(file).suffix
    if ending == ".parquet" or storage.is_directory(file):
        return read_deals(file, most, own)
    readers = {end: reader for name in RECORD_GAMES for end, reader in support_of(make_game(name)).records.items()}
    if ending not in readers:
        raise UserError(
            f"{file}: of a form that is not known; give a file that ends in .parquet or {' or '.join(readers)}"
        )
    if own:
        raise UserError(f"--game {own}: is for shards; {file} says itself what game it is of")
    reader: Reader = resolve_name(readers[ending])
    return reader(Path(file), most)


def _review(deals: RecordedDeals, given: argparse.Namespace, pages: int) -> Review:
    game, support = deals.game, support_of(deals.game)
    if not -1 <= given.seat < game.num_players:
        raise UserError(f"--seat {given.seat}: {game.name} has seats 0 to {game.num_players - 1}")
    rows = np.flatnonzero((deals.sequences.seat == given.seat) | (given.seat < 0))
    if not len(rows):
        raise UserError(f"{given.file}: has no history of seat {given.seat}")
    seated = seat_judge(given.player, game)
    with Progress("review", len(rows), "histories") as progress:
        judged = judge_deals(deals, rows, seated.judge, seated.scale, given.seed, progress.update)
    points = seated.utility * unit_of(game, seated.utility)[1]
    after = hindsight(deals, judged.decisions, support, points)
    results = results_of(judged, seated.utility, seated.scale) if seated.in_points else {}
    notes = deal_notes(judged, rows, after, results)
    return Review(
        file=Path(given.file).name,
        asked=_asked(given),
        game=game.name,
        player=seated.name,
        network=seated.network,
        unit=seated.unit,
        notes=deals.notes,
        figures=figures(judged),
        deals=with_perfect_play(deals, notes, support, points, pages),
    )


# ---- files


def _asked(given: argparse.Namespace) -> dict[str, str | int]:
    """What a review depends on."""
    file = given.file if storage.is_remote(given.file) else str(Path(given.file).resolve())
    return {"file": file, **{name: getattr(given, name) for name in ("player", "seat", "deals", "seed")}}


def _check_out(given: argparse.Namespace) -> None:
    """``UserError`` for a directory that holds another review, or cannot be written to."""
    out = given.out
    if not out:
        return
    if not storage.is_remote(out) and Path(storage.resolve(out)[1]).is_file():
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
