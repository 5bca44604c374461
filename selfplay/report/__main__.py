"""A page about a run: ``python -m selfplay.report RUN``, several side by side: ``RUN RUN2``, live: ``RUN --serve``."""

import argparse
import sys

from cluster.errors import UserError, blaming_input, in_one_line
from cluster.reader import end_with_reader
from search.arena.recorded import check_out
from selfplay.report.contents import read_run
from selfplay.report.page import write_comparison, write_page
from selfplay.report.serve import HOST, LivePage, server
from selfplay.run_directory import RunDirectory

_LAST_PORT = 65535


@in_one_line
def main(arguments: list[str] | None = None) -> int:
    """Entry point; 0 when the page is written, 2 after one line on what is wrong."""
    given = _parser().parse_args(arguments)
    for option in ("deals", "searched", "port"):
        if getattr(given, option) < 0:
            raise UserError(f"--{option} {getattr(given, option)}: must be at least 0")
    if given.port > _LAST_PORT:
        raise UserError(f"--port {given.port}: must be at most {_LAST_PORT}")
    for root in given.runs:
        with blaming_input():
            read_run(root)
    if given.serve:
        if len(given.runs) > 1 or given.out:
            raise UserError("--serve shows one run and writes no file; leave out the other runs and --out")
        _serve(given)
        return 0
    several = len(given.runs) > 1
    if several and (given.game or given.player):
        raise UserError("--game and --player say who plays the deals of one run; leave them out with several")
    out = given.out or ("comparison.html" if several else RunDirectory(given.runs[0]).result("report.html"))
    check_out(out, "--out")
    with blaming_input():
        written = (
            write_comparison(given.runs, out)
            if several
            else write_page(given.runs[0], out, given.deals, given.searched, given.game, given.player)
        )
    print(written)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kibitz report", description="A page of HTML about a run, or about several.")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run directory, path or URI; several are compared")
    parser.add_argument("--out", default="", help="the page (RUN/results/report.html; of several runs comparison.html)")
    parser.add_argument("--deals", type=int, default=2, help="sample deals that the newest network plays (2)")
    parser.add_argument("--searched", type=int, default=0, help="of how many deals GO-MCTS searches every decision (0)")
    parser.add_argument("--game", default="", help="a game of your own that the run is of, as module:attribute")
    parser.add_argument("--player", default="", help="who plays the deals (the run's selfplay.newest_player)")
    parser.add_argument("--serve", action="store_true", help=f"keep the page up to date, at http://{HOST}:PORT")
    parser.add_argument("--port", type=int, default=8501, help="8501; 0 for any free one")
    return parser


def _serve(given: argparse.Namespace) -> None:
    live = LivePage(given.runs[0], given.deals, given.searched, given.game, given.player)
    with server(live, given.port) as serving:
        print(f"http://{HOST}:{serving.server_port}  (Ctrl-C ends it)", flush=True)
        try:
            serving.serve_forever()
        except KeyboardInterrupt:
            print("ended", file=sys.stderr)


if __name__ == "__main__":
    end_with_reader()
    sys.exit(main())
