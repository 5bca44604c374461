"""The iterations of a run: generate, train, evaluate, again and again (paper 001, section 6.1).

The loop reads the run directory and does the missing work. So the same command starts a run, resumes it after any
process was killed, and does nothing once all is done.
"""

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
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
from selfplay.config import SelfplayConfig, TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.first_network import take_over
from selfplay.generator import ShardReport
from selfplay.overlap import StoppedError, at_once
from selfplay.plan import ShardPlan, check_shards, known_networks, plan_shards, replayed
from selfplay.run_directory import RunDirectory
from selfplay.shard_sizes import sized
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
        self._sizes: dict[int, SelfplayConfig] = {}
        self._steps: list[int] = []  # of the iterations so far
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
        there = storage.existing(path for _, path in (*earlier, *plans))
        lost = [(plan, path) for plan, path in earlier if path not in there]
        missing = [*lost, *((plan, path) for plan, path in plans if path not in there)]
        total = sum(plan.num_games for plan, _ in (*lost, *plans))
        before, began = total - sum(plan.num_games for plan, _ in missing), time.monotonic()
        played, title = _Played(), f"iteration {iteration}: playing"
        with span(title), Progress(title, total, "games", done=before) as progress:

            def show(under_way: Mapping[str, float]) -> None:
                self._go_on()
                rate = (played.decisions + under_way.get("decisions", 0)) / max(time.monotonic() - began, 1e-9)
                progress.update(before + played.games, {"decisions/s": rate})

            for report in self._workers.generate(missing, show):
                played.add(report)
                show({})
                self._totals.update(games_total=report.games, decisions_total=report.decisions)
                self._log_totals()
        if self._game.scenarios and not any(plan.source for plan, _ in plans):  # those do not say how deals ended
            check_shards(plans)
            own = [path for plan, path in plans if not plan.of_teacher]
            storage.write_json_atomic(self._run.successes(iteration), counted(own))
        if not played.games:
            return {}
        figures = played.figures(time.monotonic() - began)
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
        selfplay = self._sized(iteration)
        plans = plan_shards(selfplay, iteration, seed, cooperative, self._run.checkpoint, accepted)
        return [(plan, self._path_of(plan)) for plan in plans]

    def _sized(self, iteration: int) -> SelfplayConfig:
        if iteration not in self._sizes:
            self._sizes[iteration] = sized(self._config.selfplay, self._run, iteration, self._config.cluster.generators)
        return self._sizes[iteration]

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
        check_shards(learned_from)
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
        """Optimiser steps of all earlier iterations, so that curves continue. Each is read once."""
        for earlier in range(len(self._steps), iteration):
            path = self._run.metrics(earlier)
            self._steps.append(int(storage.read_json(path).get("train/step", 0)) if storage.exists(path) else 0)
        return sum(self._steps[:iteration])


@dataclass
class _Played:
    """Sums over shards, so that figures of thousands cost no more than of one."""

    games: int = 0
    decisions: int = 0
    asked: int = 0
    """Games in which networks were asked; the others measure nothing of them."""
    illegal_mass: float = 0.0
    batch_fill: float = 0.0
    """Sums over these games, as the one above."""

    def add(self, report: ShardReport) -> None:
        self.games += report.games
        self.decisions += report.decisions
        if report.decisions:
            self.asked += report.games
            self.illegal_mass += report.illegal_mass * report.games
            self.batch_fill += report.batch_fill * report.games

    def figures(self, seconds: float) -> dict[str, float]:
        """Rates over ``seconds``, and means."""
        seconds, asked = max(seconds, 1e-9), max(self.asked, 1)
        return {
            "games_per_second": self.games / seconds,
            "decisions_per_second": self.decisions / seconds,
            "illegal_mass": self.illegal_mass / asked,
            "batch_fill": self.batch_fill / asked,
        }
