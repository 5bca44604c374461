"""Play a tournament: ``python -m search.tournament game=hearts players=[argmax_val,random] checkpoint=DIR``.

With ``--multirun`` all points of a sweep are played together, on one set of evaluators, and one table compares them.
"""

import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict

from rich.console import Console

from cluster import cli
from cluster.errors import UserError, WorkFailedError, blaming_input
from cluster.sweeps import Point
from cluster.watching.progress import Progress
from games.registry import make_game
from learner.devices import check_devices, on_lent_device
from search.players.engines import check_cache
from search.players.registry import check_entrants, checkpoint_record
from search.tournament.config import TournamentConfig
from search.tournament.evaluator import EvaluatorSettings
from search.tournament.matches import seatings
from search.tournament.parts import Evaluate, Tournament, play_tournaments
from search.tournament.report import render, signed
from search.tournament.result import TournamentResult
from search.tournament.stored import check_out, stored_result, write_result
from search.tournament.sweep import report_sweep
from search.tournament.workers import tournament_workers


class Tournaments:
    """Plays tournaments and keeps the workers from one call to the next, as a sweeper may hand out few at a time."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._evaluate: Evaluate | None = None

    def one(self, config: TournamentConfig) -> float:
        """Play one tournament and print its table; returns how far A is ahead."""
        (result,) = self.play([Point(config)])
        if isinstance(result, Exception):
            raise result
        Console().print(render(result))
        if config.out:
            print(f"result: {config.out}")
        return result.advantage

    def sweep(self, points: Sequence[Point[TournamentConfig]]) -> list[float | Exception]:
        """Play all points of a sweep from one queue, those that are not in their files yet."""
        results = self.play(points)
        return [result if isinstance(result, Exception) else result.advantage for result in results]

    def play(self, points: Sequence[Point[TournamentConfig]]) -> list[TournamentResult | Exception]:
        """The result of every point, or what is wrong with it; each is in its file as soon as it is known."""
        results: list[TournamentResult | Exception | None] = []
        missing: dict[int, Tournament] = {}
        for index, point in enumerate(points):
            try:
                tournament = _checked(point)
                results.append(stored_result(point.config.out, tournament))
                if results[index] is None:
                    missing[index] = tournament
                else:
                    print(f"{point.config.out}: played before")
            except UserError as error:
                results.append(_failed(point, error))
        if missing:
            title = f"{len(missing)} tournaments" if len(points) > 1 else " against ".join(points[0].config.players)
            order = list(missing)
            with Progress(title, sum(one.deals for one in missing.values()), "deals") as progress:
                evaluate = self._workers(points[order[0]].config)
                for place, result in play_tournaments(list(missing.values()), evaluate, progress.update):
                    results[order[place]] = _kept(points[order[place]], result)
        return [result for result in results if result is not None]

    def _workers(self, config: TournamentConfig) -> Evaluate:
        if self._evaluate is None:
            self._evaluate = self._stack.enter_context(tournament_workers(config.cluster))
        return self._evaluate


def _checked(point: Point[TournamentConfig]) -> Tournament:
    """The tournament of a point; ``UserError`` for whatever would fail later."""
    config = point.config
    with blaming_input():
        game = make_game(config.game.name, config.game.options)
        seatings(len(config.players), game.num_players, game.cooperative)
        networks = check_entrants(config.players, game, config.search, config.checkpoint)
    check_out(config.out)
    engine = config.engine
    if config.cluster.place != "process":
        check_devices(config.cluster, evaluator=engine)
        engine = on_lent_device(engine, config.cluster.evaluator_gpus)
    elif engine.device == "cuda":  # asked for, so it must be there even if nobody has a network
        from learner.model.network import device_of

        with blaming_input():
            device_of("cuda")
    record = {
        "checkpoints": checkpoint_record(config.players, config.checkpoint),
        "search": asdict(config.search),
        "engine": asdict(config.engine),
        "table_size": config.table_size,
        "overrides": point.overrides,
    }
    settings = EvaluatorSettings(config.game, config.search, engine, config.table_size)
    tournament = Tournament(
        settings, tuple(config.players), config.checkpoint, config.deals, config.seed, config.deals_per_task, record
    )
    with blaming_input():
        histories = tournament.matches_at_once() * game.num_players
        for arch in networks:
            check_cache(arch, engine, histories, f"table_size={config.table_size}")
    return tournament


def _kept(point: Point[TournamentConfig], result: TournamentResult | Exception) -> TournamentResult | Exception:
    """The result of a point, in its file from now on, or what is wrong with it."""
    if isinstance(result, Exception):
        return _failed(point, result)
    if point.config.out:
        write_result(point.config.out, result)
    if point.overrides:
        print(f"{_name(point)}{signed(result.advantage)}", flush=True)
    return result


def _failed(point: Point[TournamentConfig], error: Exception) -> Exception:
    """What is wrong with a point of a sweep, in a line that names it, with the traceback behind that of a bug."""
    if not point.overrides:
        return error
    if isinstance(error, UserError):
        return UserError(f"{_name(point)}{error}")
    if isinstance(error, WorkFailedError):
        return WorkFailedError(f"{_name(point)}{error}")
    failed = WorkFailedError(f"{_name(point)}{' '.join(repr(error).split())}")
    failed.add_note("".join(traceback.format_exception(error)).rstrip())
    return failed


def _name(point: Point[TournamentConfig]) -> str:
    return ", ".join(f"{key}={value}" for key, value in point.overrides.items()) + (": " if point.overrides else "")


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
