"""Play a tournament: ``python -m search.arena.tournament game=hearts players=[argmax_val,random] checkpoint=DIR``.

With ``--multirun`` all points of a sweep are played together, on one set of evaluators, and one table compares them.
"""

from collections.abc import Sequence
from contextlib import ExitStack

from cluster import cli
from cluster.errors import UserError, about
from cluster.sweeps import Point
from cluster.watching.progress import Progress
from search.arena.tournament.checks import checked
from search.arena.tournament.config import TournamentConfig
from search.arena.tournament.parts import Evaluate, Tournament, play_tournaments
from search.arena.tournament.report import render, signed, wide_console
from search.arena.tournament.result import TournamentResult
from search.arena.tournament.sweep import report_sweep
from search.arena.tournament.workers import tournament_workers


class Tournaments:
    """Plays tournaments and keeps the workers from one call to the next, as a sweeper may hand out few at a time."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._evaluate: Evaluate | None = None

    def one(self, config: TournamentConfig) -> float:
        """Play one tournament and print its table; returns A's lead."""
        (result,) = self.play([Point(config)])
        if isinstance(result, Exception):
            raise result
        wide_console().print(render(result))
        if config.out:
            print(f"result: {config.out}")
        if config.keep:
            print(f"histories: {config.keep}")
        return result.advantage

    def sweep(self, points: Sequence[Point[TournamentConfig]]) -> list[float | Exception]:
        """Play the missing points of a sweep from one queue."""
        results = self.play(points)
        return [result if isinstance(result, Exception) else result.advantage for result in results]

    def play(self, points: Sequence[Point[TournamentConfig]]) -> list[TournamentResult | Exception]:
        """The result of every point, or its error; each result is written as soon as it is known."""
        results: list[TournamentResult | Exception | None] = []
        missing: dict[int, Tournament] = {}
        for index, point in enumerate(points):
            try:
                tournament = checked(point.config, point.overrides)
                before = tournament.stored(point.config.out)
                if before is None:
                    missing[index] = tournament.with_parts(point.config.out)
                else:
                    print(f"{point.config.out}: played before")
                results.append(before)
            except UserError as error:
                results.append(_failed(point, error))
        if missing:
            title = f"{len(missing)} tournaments" if len(points) > 1 else " against ".join(points[0].config.players)
            order, left = list(missing), list(missing.values())
            done = sum(one.deals_played for one in left)
            with Progress(title, sum(one.deals.count for one in left), "deals", done=done) as progress:
                evaluate = self._workers(points[order[0]].config)
                for place, result in play_tournaments(left, evaluate, progress.update):
                    results[order[place]] = _kept(points[order[place]], result)
        return [result for result in results if result is not None]

    def _workers(self, config: TournamentConfig) -> Evaluate:
        if self._evaluate is None:
            self._evaluate = self._stack.enter_context(tournament_workers(config.cluster))
        return self._evaluate


def _kept(point: Point[TournamentConfig], result: TournamentResult | Exception) -> TournamentResult | Exception:
    """Write a point's result; returns it, or the error."""
    if isinstance(result, Exception):
        return _failed(point, result)
    if point.config.out:
        result.write(point.config.out)
    if point.overrides:
        print(f"{_name(point)}: {signed(result.advantage)}", flush=True)
    return result


def _failed(point: Point[TournamentConfig], error: Exception) -> Exception:
    """A point's error, with the point's name in a sweep."""
    return about(_name(point), error) if point.overrides else error


def _name(point: Point[TournamentConfig]) -> str:
    return ", ".join(f"{key}={value}" for key, value in point.overrides.items())


if __name__ == "__main__":
    with ExitStack() as stack:
        tournaments = Tournaments(stack)
        cli.run(
            "tournament",
            TournamentConfig,
            tournaments.one,
            output_key="out",
            output_ending=".json",
            sweep=tournaments.sweep,
            after_sweep=report_sweep,
        )
