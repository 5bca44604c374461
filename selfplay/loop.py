"""The iterations of a run: generate, train, evaluate, again and again (paper 001, section 6.1).

The loop reads the run directory and does the missing work. So the same command starts a run, resumes it after any
process was killed, and does nothing once all is done.
"""

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
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
from selfplay.config import SelfplayConfig, TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.first_network import take_over
from selfplay.generator import ShardReport
from selfplay.overlap import Milestones, at_once
from selfplay.plan import ShardPlan, check_shards, known_networks, plan_shards, replayed
from selfplay.playing import Planned, Playing
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

    def idle_shares(self) -> Mapping[str, float]:
        """Shares of the time since the last call in which workers had nothing to do: of each stage that has some, and
        of the machines' GPUs, as ``gpu``, where there are any."""


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
        self._figures: dict[int, dict[str, float]] = {}  # iteration -> figures over its games
        self._sizes: dict[int, SelfplayConfig] = {}
        self._steps: list[int] = []  # of the iterations so far
        self._milestones = Milestones()

    def run(self) -> None:
        """Do all missing work."""
        reached = max(self._metrics.last_step("iteration"), 0)
        self._metrics.log(reached, {"iteration": reached})  # report/contents.py reads where a command resumed the run
        iterations = range(self._config.selfplay.iterations + 1)
        if self._config.selfplay.staleness:
            at_once(lambda: self._play_all(iterations), lambda: self._learn_all(iterations), self._milestones)
        else:
            for iteration in iterations:
                self._begin(iteration)
                self._play([iteration])
                self._learn(iteration)
        self._evaluation.play_final(self._workers.evaluate, self._metrics)
        self._run.write_state(iterations[-1], "finished")

    def _play_all(self, iterations: range) -> None:
        """Play iterations as far ahead as ``selfplay.staleness`` allows; a thread of its own."""
        left = iter(iterations)
        for iteration in left:
            self._milestones.wait_for_networks(self._known(iteration))
            self._play(self._playable(iteration, iterations[-1], left))

    def _playable(self, first: int, last: int, left: Iterator[int]) -> Iterator[int]:
        """``first``, and of those ``left`` all whose players are known when the one before has been handed out."""
        yield first
        while first < last and self._milestones.knows(self._known(first + 1)):
            first = next(left)
            yield first

    def _learn_all(self, iterations: range) -> None:
        """Train and measure iterations as their games arrive."""
        for iteration in iterations:
            self._begin(iteration)
            self._milestones.wait_for_games(iteration)
            self._learn(iteration)

    def _begin(self, iteration: int) -> None:
        self._metrics.log_new(iteration, {"iteration": iteration})
        if not self._run.trained(iteration):
            self._run.write_state(iteration, "generate")

    def _learn(self, iteration: int) -> None:
        """Train the network of an iteration whose games are there, unless it is there too, and measure it."""
        if not self._run.trained(iteration):
            path = self._run.metrics(iteration)
            figures = dict(storage.read_json(path)) if storage.exists(path) else {}
            if self._taken_over(iteration):
                take_over(self._config, self._run)
            else:
                self._count_successes(iteration)
                figures |= self._figures.pop(iteration, {}) | self._train(iteration) | self._idle(iteration)
            storage.write_json_atomic(path, figures)
        self._evaluation.play_gate(iteration, self._evaluate, self._metrics)
        self._milestones.learned(iteration)
        self._evaluation.play_curve(iteration, self._evaluate, self._metrics)
        self._metrics.flush()

    def _evaluate(
        self, tasks: Iterable[DealsTask], on_progress: OnProgress
    ) -> Iterator[tuple[DealsTask, Matches | Exception]]:
        """Play parts of tournaments, which end where the games beside them fail."""

        def show(progress: Mapping[str, float]) -> None:
            self._milestones.check()
            on_progress(progress)

        return self._workers.evaluate(tasks, show)

    def _idle(self, iteration: int) -> dict[str, float]:
        """Shares of the time since the network before in which workers had nothing to do."""
        idle = {f"idle/{name}": share for name, share in self._workers.idle_shares().items()}
        if idle:
            self._metrics.log(iteration, idle)
        return idle

    def _taken_over(self, iteration: int) -> bool:
        """Whether the iteration's network is ``selfplay.first_network``, which has no games."""
        return iteration == 0 and bool(self._config.selfplay.first_network)

    # ---- playing

    def _play(self, iterations: Iterable[int]) -> None:
        """Play the missing shards that iterations learn from, one iteration after the other without a pause between
        them."""
        with ExitStack() as ends:
            under_way: dict[tuple[int, int], Playing] = {}

            def shards() -> Iterator[Planned]:
                for iteration in iterations:
                    playing = self._to_play(iteration, under_way)
                    if playing is None or playing.complete:
                        self._milestones.played(iteration)
                    else:
                        ends.enter_context(playing)
                        under_way.update((plan.number, playing) for plan, _ in playing.missing)
                        yield from playing.missing

            def show(progress: Mapping[str, float]) -> None:
                self._milestones.check()
                if under_way:
                    next(iter(under_way.values())).show(progress)  # the oldest

            planned: Iterable[Planned] = shards()
            if not self._config.selfplay.staleness and not (planned := [*planned]):
                return  # a list, as its length says how many actors it can occupy
            for report in self._workers.generate(planned, show):
                self._milestones.check()
                playing = under_way.pop(report.plan.number)
                playing.add(report)
                playing.show({})
                self._totals.update(games_total=report.games, decisions_total=report.decisions)
                self._log_totals()
                if playing.complete:
                    self._end_playing(playing)

    def _to_play(self, iteration: int, under_way: Collection[tuple[int, int]]) -> Playing | None:
        """The missing shards that an iteration learns from, replayed ones included; None where it learns no more."""
        if self._taken_over(iteration) or self._run.trained(iteration):
            return None
        plans = self._plans(iteration)
        earlier = [(plan, path) for plan, path in self._learned_from(iteration) if plan.iteration < iteration]
        return Playing(iteration, earlier, plans, under_way)

    def _end_playing(self, playing: Playing) -> None:
        playing.__exit__()
        figures = playing.figures()
        self._metrics.log(playing.iteration, figures)
        self._figures[playing.iteration] = {f"generate/{name}": value for name, value in figures.items()}
        self._milestones.played(playing.iteration)

    def _count_successes(self, iteration: int) -> None:
        """Write how the deals of each kind ended, for games with kinds of deal whose shards say so."""
        plans = self._plans(iteration)
        if self._game.scenarios and not any(plan.source for plan, _ in plans):
            check_shards(plans)
            storage.write_json_atomic(self._run.successes(iteration), counted(path for _, path in plans))

    def _log_totals(self) -> None:
        """Log the run's totals, over all its commands."""
        lost = self._lost_before + self._workers.lost_items
        self._metrics.log(self._totals["games_total"], {**self._totals, "lost_items_total": lost})

    def _known(self, iteration: int) -> int:
        """Number of first iterations whose networks may play this one."""
        return known_networks(iteration, self._config.selfplay.staleness)

    def _plans(self, iteration: int) -> list[tuple[ShardPlan, str]]:
        """Every shard of an iteration and its path."""
        config = self._config
        accepted = self._evaluation.accepted(self._known(iteration))
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

    def _train(self, iteration: int) -> dict[str, float]:
        self._run.write_state(iteration, "train")
        before = self._steps_before(iteration)
        title = f"iteration {iteration}: training"
        with span(title), Progress(title, 1, "") as progress:

            def show(metrics: Mapping[str, float]) -> None:
                self._milestones.check()
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
