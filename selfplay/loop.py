"""The iterations of a run: generate, train, evaluate, again and again (paper 001, section 6.1).

The loop reads the run directory and does the missing work. So the same command starts a run, resumes it after any
process was killed, and does nothing once all is done.
"""

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from cluster.files import storage
from cluster.watching.logs import span
from cluster.watching.metrics import MetricsLogger
from cluster.watching.progress import OnProgress, Progress
from games.registry import make_game
from games.rng import derive
from learner import kinds
from learner.config import LearnerConfig
from learner.task import SHOWN, TrainingTask, cut_short
from search.arena.tournament.evaluator import DealsTask
from search.arena.tournament.matches import Matches
from search.roster.kinds import brought
from selfplay.config import TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.first_network import take_over
from selfplay.generator import ShardReport
from selfplay.overlap import StoppedError, at_once
from selfplay.plan import ShardPlan, check_shard, known_networks, plan_shards, replayed
from selfplay.run_directory import RunDirectory
from selfplay.successes import counted


class Workers(Protocol):
    """Executors of the stages: actors on a cluster, or plain objects in this process.

    ``on_progress`` is called at intervals, with an empty mapping if nothing is known. An exception from it ends the
    stage. Two threads may run two stages at once.
    """

    def generate(self, plans: Iterable[tuple[ShardPlan, str]], on_progress: OnProgress) -> Iterator[ShardReport]:
        """Play shards, each to its path; yields reports in order of completion."""

    def train(self, task: TrainingTask, on_progress: OnProgress) -> Mapping[str, float]:
        """Train a network, or resume training it; returns its final metrics."""

    def evaluate(
        self, tasks: Iterable[DealsTask], on_progress: OnProgress
    ) -> Iterator[tuple[DealsTask, Matches | Exception]]:
        """Play parts of tournaments; yields in order of completion; see ``Evaluate``."""

    @property
    def lost_items(self) -> int:
        """Pieces of work done again because their worker died."""


class Loop:
    """One run, from the present state of its directory to its end."""

    def __init__(self, config: TrainConfig, run: RunDirectory, workers: Workers, metrics: MetricsLogger) -> None:
        self._config = config
        self._run = run
        self._workers = workers
        self._metrics = metrics
        self._game = make_game(config.game.name, config.game.options)
        self._evaluation = Evaluation(config, run)
        self._totals: Counter[str] = Counter(metrics.totals)
        self._lost_before = metrics.totals["lost_items_total"]
        self._ahead: dict[int, dict[str, float]] = {}  # iteration whose games were played early -> figures over them
        self._stop = threading.Event()

    def run(self) -> None:
        """Do all missing work."""
        reached = max(self._metrics.last_step("iteration"), 0)
        self._metrics.log(reached, {"iteration": reached})  # report/contents.py reads where a command resumed the run
        for iteration in range(self._config.selfplay.iterations + 1):
            self._metrics.log_new(iteration, {"iteration": iteration})
            if not self._run.trained(iteration):
                self._run.write_state(iteration, "generate")
                path = self._run.metrics(iteration)
                figures = dict(storage.read_json(path)) if storage.exists(path) else {}
                if iteration == 0 and self._config.selfplay.first_network:
                    take_over(self._config, self._run)
                else:
                    figures |= self._ahead.pop(iteration) if iteration in self._ahead else self._generate(iteration)
                    figures |= self._train_and_play_ahead(iteration)
                storage.write_json_atomic(path, figures)
            self._evaluation.play_gate(iteration, self._workers.evaluate, self._metrics)
            self._evaluation.play_curve(iteration, self._workers.evaluate, self._metrics)
            self._metrics.flush()
        self._evaluation.play_final(self._workers.evaluate, self._metrics)
        self._run.write_state(self._config.selfplay.iterations, "finished")

    # ---- generating

    def _generate(self, iteration: int) -> dict[str, float]:
        """Play the missing shards that the iteration learns from, replayed ones included; figures over those played
        now."""
        plans = self._plans(iteration)
        earlier = [(plan, path) for plan, path in self._learned_from(iteration) if plan.iteration < iteration]
        lost = [(plan, path) for plan, path in earlier if not storage.exists(path)]
        missing = [*lost, *((plan, path) for plan, path in plans if not storage.exists(path))]
        total = sum(plan.num_games for plan, _ in (*lost, *plans))
        before, began = total - sum(plan.num_games for plan, _ in missing), time.monotonic()
        reports: list[ShardReport] = []
        title = f"iteration {iteration}: playing"
        with span(title), Progress(title, total, "games", done=before) as progress:

            def show(under_way: Mapping[str, float]) -> None:
                self._go_on()
                rate = _figures(reports, began, under_way.get("decisions", 0))["decisions_per_second"]
                progress.update(before + sum(report.games for report in reports), {"decisions/s": rate})

            for report in self._workers.generate(missing, show):
                reports.append(report)
                show({})
                self._totals.update(games_total=report.games, decisions_total=report.decisions)
                self._log_totals()
        if self._game.scenarios and not any(plan.source for plan, _ in plans):  # those do not say how deals ended
            for plan, path in plans:
                check_shard(plan, path)
            own = [path for plan, path in plans if not plan.of_teacher]
            storage.write_json_atomic(self._run.successes(iteration), counted(own))
        if not reports:
            return {}
        figures = _figures(reports, began)
        self._metrics.log(iteration, figures)
        return {f"generate/{name}": value for name, value in figures.items()}

    def _log_totals(self) -> None:
        """Log the run's totals, over all its commands."""
        lost = self._lost_before + self._workers.lost_items
        self._metrics.log(self._totals["games_total"], {**self._totals, "lost_items_total": lost})

    def _plans(self, iteration: int) -> list[tuple[ShardPlan, str]]:
        """Every shard of an iteration and its path."""
        config = self._config
        accepted = self._evaluation.accepted(known_networks(iteration, config.selfplay.overlap))
        seed, cooperative = config.run.seed, self._game.cooperative
        plans = plan_shards(config.selfplay, iteration, seed, cooperative, self._run.checkpoint, accepted)
        return [(plan, self._path_of(plan)) for plan in plans]

    def _learned_from(self, iteration: int) -> list[tuple[ShardPlan, str]]:
        """Every shard that an iteration's network learns from and its path."""
        plans = replayed(self._config.selfplay, iteration, lambda i: [plan for plan, _ in self._plans(i)])
        return [(plan, self._path_of(plan)) for plan in plans]

    def _path_of(self, plan: ShardPlan) -> str:
        return plan.source or self._run.shard(plan.iteration, plan.name)

    # ---- training

    def _train_and_play_ahead(self, iteration: int) -> dict[str, float]:
        """Train an iteration's network; with ``selfplay.overlap`` the next iteration's games are played meanwhile."""
        self._run.write_state(iteration, "train")
        following = iteration + 1
        if not self._config.selfplay.overlap or iteration == 0 or following > self._config.selfplay.iterations:
            return self._train(iteration)
        figures, self._ahead[following] = at_once(
            lambda: self._train(iteration), lambda: self._generate(following), self._stop
        )
        return figures

    def _train(self, iteration: int) -> dict[str, float]:
        before = self._steps_before(iteration)
        title = f"iteration {iteration}: training"
        with span(title), Progress(title, 1, "") as progress:

            def show(metrics: Mapping[str, float]) -> None:
                self._go_on()
                if not metrics:
                    return
                learning = {name: metrics[name] for name in SHOWN if name in metrics}
                progress.update(metrics["step"] / metrics["num_steps"], {"step": metrics["step"], **learning})
                self._metrics.log_new(before + int(metrics["step"]), learning)

            metrics = dict(self._workers.train(self._task(iteration), show))
            show({"num_steps": metrics["step"], **metrics})  # a short training ends before its first progress query
        if few := cut_short(metrics):
            print(f"iteration {iteration}: {few}", file=sys.stderr)
        held_out = {name: value for name, value in metrics.items() if name.startswith("validation_")}
        if held_out:
            self._metrics.log_new(before + int(metrics["step"]), held_out)
        return {f"train/{name}": value for name, value in metrics.items()}

    def _go_on(self) -> None:
        """Raise ``StoppedError`` if the concurrent stage has failed."""
        if self._stop.is_set():
            raise StoppedError

    def _task(self, iteration: int) -> TrainingTask:
        config, learned_from = self._config, self._learned_from(iteration)
        for plan, path in learned_from:
            check_shard(plan, path)
        learner = self._with_magnet(config.learner, iteration) if iteration else config.first_learner
        return TrainingTask(
            game=config.game,
            model=config.model,
            learner=learner,
            shards=tuple(path for _, path in learned_from),
            out=self._run.checkpoint(iteration),
            init_from=self._run.checkpoint(self._evaluation.accepted(iteration)[-1]) if iteration else None,
            seed=derive(config.run.seed, "train", iteration) % 2**63,
            players=brought(config.search, kinds.find(config.model.kind).input),
        )

    def _with_magnet(self, learner: LearnerConfig, iteration: int) -> LearnerConfig:
        """The newest network that iteration n began with, n the last multiple of ``magnet_iterations`` so far."""
        policy = learner.policy
        if policy.kind != "gradient" or not policy.magnet_weight or policy.magnet:
            return learner
        since = 1 + (iteration - 1) // policy.magnet_iterations * policy.magnet_iterations
        magnet = self._run.checkpoint(self._evaluation.accepted(since)[-1])
        return replace(learner, policy=replace(policy, magnet=magnet))

    def _steps_before(self, iteration: int) -> int:
        """Optimiser steps of all earlier iterations, so that curves continue."""
        earlier = (self._run.metrics(i) for i in range(iteration))
        return sum(int(storage.read_json(path).get("train/step", 0)) for path in earlier if storage.exists(path))


def _figures(reports: Sequence[ShardReport], began: float, under_way: float = 0.0) -> dict[str, float]:
    """Figures of generating since ``began``; ``under_way``: decisions in unfinished shards."""
    seconds = max(time.monotonic() - began, 1e-9)
    games = sum(report.games for report in reports)
    asked = [report for report in reports if report.decisions]  # by games without networks nothing is measured
    networks = max(sum(report.games for report in asked), 1)
    return {
        "games_per_second": games / seconds,
        "decisions_per_second": (sum(report.decisions for report in reports) + under_way) / seconds,
        "illegal_mass": sum(report.illegal_mass * report.games for report in asked) / networks,
        "batch_fill": sum(report.batch_fill * report.games for report in asked) / networks,
    }
