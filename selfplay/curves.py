"""Strength over iterations of several runs in one picture: ``kibitz curves RUN RUN2`` (paper 002, Figures 5 and 11).

Of run directories it reads only ``iterations/NNN/tournament.json``. Runs whose tournaments have the same opponent and
seating share a panel, whatever their network's player. ``--level`` adds players that do not learn: a teacher, or the
cheating twin of a search as a ceiling.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from cluster.errors import UserError, blaming_input, in_one_line
from cluster.files import storage
from cluster.foreign import printable
from cluster.reader import end_with_reader
from search.arena.recorded import check_out
from search.arena.tournament.report import ahead_text, marked, matched, wide_console
from search.arena.tournament.result import TournamentResult
from search.arena.tournament.seatings import PAIRS
from selfplay.report.contents import Run, labels, read_run
from selfplay.report.pictures import Line, Panel, draw_curves
from selfplay.report.terminal import curve_table


@in_one_line
def main(arguments: list[str] | None = None) -> int:
    """Entry point; 0 when the picture is written, 2 after one line on what is wrong."""
    parser = argparse.ArgumentParser(prog="kibitz curves", description="The learning curves of runs in one picture.")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run directory, path or URI")
    parser.add_argument("--out", default="curves.png", help="the picture, a PNG file (curves.png)")
    parser.add_argument(
        "--level",
        metavar="FILE",
        action="append",
        default=[],
        help="a tournament's JSON file: its first player is a level line where the opponent is its second; repeatable",
    )
    given = parser.parse_args(arguments)
    with blaming_input():
        check_out(given.out, "--out")
        _check_distinct(given.runs)
        runs = {label: read_run(root) for label, root in zip(labels(given.runs), given.runs, strict=True)}
        panels = panels_of(runs)
        levels = levels_of(panels, given.level)
    for note in (note for run in runs.values() for note in run.notes):
        print(printable(note), file=sys.stderr)
    print("points a hand ahead (95 % interval)")
    for title, panel in panels.items():
        wide_console().print(curve_table(title, panel))
        for name, result in levels.get(title, {}).items():
            print(f"{name}: {ahead_text(result)}")
    storage.write_bytes_atomic(given.out, draw_curves(panels, levels))
    print(f"curves: {given.out}")
    return 0


def _check_distinct(roots: Sequence[str]) -> None:
    names = [root.rstrip("/") for root in roots]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"{twice}: is given twice; give every run once")


def panels_of(runs: Mapping[str, Run]) -> dict[str, Panel]:
    """Title -> the lines of all runs against one opponent. ``UserError`` naming a run without tournaments.

    A line is named after its run; where the lines of a panel differ in the network's player or in deals, also after
    these. Of several such results of one iteration the last counts.
    """
    opponents = dict[tuple[str, str], dict[tuple[str, str, int], dict[int, TournamentResult]]]()
    for label, run in runs.items():
        if not run.curve:
            raise UserError(
                f"{run.root}: no iteration has played a tournament; give evaluation.curve and the run's command again"
            )
        for iteration, results in sorted(run.curve.items()):
            for result in results:
                lines = opponents.setdefault(_opponent(result), {})
                line = lines.setdefault((label, marked(result, result.players[0]), result.deals), {})
                line[iteration] = result
    return dict(_panel(*found) for found in opponents.items())


def levels_of(panels: Mapping[str, Panel], files: Sequence[str]) -> dict[str, dict[str, TournamentResult]]:
    """Title of a panel -> name of a level line -> its tournament, which has the panel's game, opponent and seating.
    ``UserError`` naming a file that no panel is for."""
    levels = dict[str, dict[str, TournamentResult]]()
    _check_distinct(files)
    for file in files:
        result = TournamentResult.read(file)
        title = next((title for title, panel in panels.items() if _comparable(_some(panel), result)), None)
        if title is None or len(result.players) > 2:
            raise UserError(
                f"--level {file}: it is {matched(result)} in {result.game}; the curves are {'; '.join(panels)}; give a "
                "tournament of two players with the game, opponent and seating of one of them"
            )
        name, lines = f"{marked(result, result.players[0])}, {result.deals} deals", levels.setdefault(title, {})
        lines[f"{name} ({file})" if name in lines else name] = result
    return levels


def _comparable(one: TournamentResult, other: TournamentResult) -> bool:
    return one.game == other.game and one.game_options == other.game_options and _opponent(one) == _opponent(other)


def _opponent(result: TournamentResult) -> tuple[str, str]:
    """Whom the first player of a tournament meets, and the seating."""
    other = marked(result, result.players[1]) if len(result.players) > 1 else "nobody"
    return f"{other} on {result.dealt}" if result.dealt else other, result.seating


def _some(panel: Mapping[Any, Line]) -> TournamentResult:
    return next(iter(next(iter(panel.values())).values()))


def _panel(
    opponent: tuple[str, str], lines: Mapping[tuple[str, str, int], dict[int, TournamentResult]]
) -> tuple[str, Panel]:
    """The title of a panel, and its lines by name."""
    if len({line[1:] for line in lines}) == 1:
        return matched(_some(lines)), {label: line for (label, *_), line in lines.items()}
    name, seating = opponent
    title = f"against {name}{' of pairs' if seating == PAIRS else ''}"
    return title, {f"{label}: {player}, {deals} deals": line for (label, player, deals), line in lines.items()}


if __name__ == "__main__":
    end_with_reader()
    sys.exit(main())
