"""The training loop of every objective, without Ray, in a process that can be killed.

Every random draw follows from the seed and the number of the step or epoch, so a killed and resumed training ends, on a
CPU, in the same bytes as an uninterrupted one. Several learners may train one network together
(``learner.training.parallel``): then each calls ``train``, and all make the same steps.
"""

import math
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from cluster.errors import UserError, WorkFailedError, blaming_input
from learner.config import LearnerConfig
from learner.model.architecture import same_value
from learner.model.checkpoint import NO_PLAYERS, Players, checkpoint_id, game_record
from learner.network_kind import TrainingSetup
from learner.training.objective import Objective
from learner.training.optimizer import Optimizer
from learner.training.parallel import FINISHED, Group
from learner.training.replayed import Replayed
from learner.training.resume import (
    Clock,
    Kept,
    TrainingState,
    find_partial,
    partial_path,
    read_finished,
    read_state,
    save_finished,
    save_partial,
)
from learner.training.sending import is_copied

Progress = Callable[[dict[str, float]], None]


def train(
    objective: Objective,
    out: str | Path,
    init_from: str | Path | None = None,
    on_progress: Progress | None = None,
    players: Players = NO_PLAYERS,
    stop: threading.Event | None = None,
) -> dict[str, float]:
    """Train, publish the checkpoint ``out``, and return the final metrics.

    Called again, with the same data, it returns the metrics if ``out`` is finished, and else resumes from
    ``<out>.partial``.

    Args:
        objective: the objective; only the first of its group reads and writes ``out``.
        out: directory of the checkpoint, a path or a URI.
        init_from: checkpoint whose weights training starts from; None for fresh weights from the seed.
        on_progress: called every ``log_every_steps`` steps with ``step``, ``num_steps``, ``learning_rate``, the mean
            losses since the last call and the speed. An exception from it ends the training, which can be resumed.
        players: settings that come with the network (``learner.model.checkpoint.read_players``).
        stop: another thread sets it to have the training end behind its next step, from which it can be resumed.

    Returns:
        The last of these, with the number of ``sequences`` or ``decisions``, ``train_seconds`` (of all calls) and, with
        held-out deals, ``validation_sequences``, ``validation_loss`` and so on. Empty for a learner that is not the
        first of its group.

    Raises ``UserError`` before any training: settings that differ from those of an unfinished ``out``, or ``init_from``
    that does not fit the game or the network. ``PeerLostError`` at any time when another learner of the group has died.
    ``WorkFailedError`` after ``stop``.
    """
    group = objective.group
    first = group is None or group.first
    with blaming_input():
        settings = _settings(objective, init_from)
        if first and (finished := read_finished(out, settings)):
            if group:  # the others learn that there is nothing to do
                group.join(objective.device)
                group.agree(FINISHED, settings)
            return finished.metrics
    partial = find_partial(out) if first else None
    with blaming_input():
        state = TrainingState(settings, pending=[0.0] * len(objective.names))
        if partial:
            state = read_state(partial, settings)
            if init_from:  # which is not loaded again
                checkpoint_id(init_from)
            _check_dropout(objective, partial_path(out), state.random_state.get("learners", 1))
        net = starting_network(objective.setup, partial or init_from).to(objective.device)
    if objective.config.num_threads:
        torch.set_num_threads(objective.config.num_threads)
    objective.begin(net)
    run = _Run(objective, state, out, players)
    if partial:
        run.kept.read_moments(partial)
    if group and not run.start_together(group):
        return {}
    return run.to_the_end(on_progress or (lambda metrics: None), stop or threading.Event())


def _settings(objective: Objective, init_from: str | Path | None) -> dict[str, Any]:
    """Everything the result depends on, by the name it has on the command line."""
    return {
        **game_record(objective.game),
        **objective.settings(),
        "seed": objective.seed,
        "init_from": checkpoint_id(init_from, loaded_later=True) if init_from else None,
        "data": objective.data_digest,
    }


def _check_dropout(objective: Objective, partial: str, before: int) -> None:
    """``UserError`` where dropout was drawn by another number of learners; only dropout depends on it."""
    now = objective.group.size if objective.group else 1
    if before != now and objective.has_dropout:
        raise UserError(
            f"{partial}: was trained with cluster.learners={before}, and {now} draw other dropout; use "
            f"{before} until this network is finished, or remove that directory to train it anew"
        )


def starting_network(setup: TrainingSetup, start: str | Path | None) -> Any:
    """The network to start or resume from, on the CPU: with fresh weights where ``start`` is None. ``ValueError``
    naming the first key in which the shape of ``start`` differs from the configuration."""
    kind = setup.kind
    net: Any = kind.build(setup.arch)
    kind.initialise(net, setup.game, setup.seed)
    if start is not None:
        weights = kind.load(start, setup.game)
        for key, wanted in asdict(setup.arch).items():
            found = getattr(weights.arch, key)
            if key not in kind.free_at_start and not same_value(found, wanted):
                raise ValueError(
                    f"{start}: has {key}={found}, but model.{key}={wanted} is asked for; start "
                    "from weights of the same shape"
                )
        net.load_state_dict(weights.state_dict())
    return net


class _Run:
    """The state and loop of one training."""

    def __init__(self, objective: Objective, state: TrainingState, out: str | Path, players: Players) -> None:
        config = objective.config
        self.objective, self.net, self.config, self.state, self.out = objective, objective.net, config, state, out
        self.first = objective.group is None or objective.group.first
        self.parameters = list(self.net.parameters())
        self.optimizer = Optimizer(self.net, config)
        self.kept = Kept(objective.game, self.net, self.optimizer, state, objective.target, players)
        self.num_steps = objective.num_steps
        pending = zip(objective.names, state.pending, strict=True)
        self.sums = {name: torch.tensor(total, device=objective.device) for name, total in pending}
        self.replayed: Replayed | None = None
        if is_copied(objective.device) and not objective.group and config.cuda_graphs:
            self.replayed = Replayed(self.follow, objective.generator)

    def start_together(self, group: Group) -> bool:
        """Take over the first learner's step and weights; whether there is anything left to train."""
        group.join(self.objective.device)
        step = group.agree(self.state.step, self.state.settings)
        if step == FINISHED:
            return False
        self.stand_at(step)
        moments = self.optimizer.moments(step).values() if step else ()
        group.take_from_first([*self.parameters, *moments])
        return True

    def stand_at(self, step: int) -> None:
        """Set the number of steps done."""
        self.state.step = step
        if self.objective.in_epochs:
            self.state.epoch, self.state.batch = divmod(step, self.objective.steps_per_epoch)

    def to_the_end(self, on_progress: Progress, stop: threading.Event) -> dict[str, float]:
        """Train the steps that are left and publish the checkpoint."""
        objective, config, state = self.objective, self.config, self.state
        clock, marked, amount = Clock(state, config.checkpoint_every_steps), time.perf_counter(), 0
        # A run that was killed during its final validation has only that left to do.
        metrics = {**(state.history[-1] if state.history else {}), "num_steps": self.num_steps, **objective.rates(0.0)}
        while state.step < self.num_steps and not objective.finished:
            amount += self.step()
            last = state.step == self.num_steps or objective.finished
            if state.step % config.log_every_steps == 0 or last:
                rates = objective.rates(amount / max(time.perf_counter() - marked, 1e-9))
                metrics = {**self.note(), "num_steps": self.num_steps, **rates}
                amount, marked = 0, time.perf_counter()
                on_progress(metrics)
            ends = stop.is_set()
            if self.first and clock.save_due(ends):
                state.pending = [total.item() for total in self.sums.values()]
                self.check_group()
                save_partial(self.out, self.kept)
            if ends:
                raise WorkFailedError(f"{self.out}: stopped at step {state.step}; the same command resumes")
        if not self.first:
            return {}
        metrics |= {**self.validate(), "train_seconds": clock.stop()}
        state.metrics = {**metrics, **objective.figures, objective.rows_are: len(objective.training)}
        save_finished(self.out, self.kept)
        return state.metrics

    def step(self) -> int:
        """Make one optimiser step and add its losses to ``sums``; returns the amount of data."""
        objective, config, state, group = self.objective, self.config, self.state, self.objective.group
        rate = learning_rate(config, state.step, self.num_steps)
        state.schedule = {"num_steps": self.num_steps, "learning_rate": rate}
        self.optimizer.set_rate(rate)
        rows = objective.rows(state.step)
        idle = group is not None and (part := group.part(len(rows))).start == part.stop
        batch = None if idle else objective.batch(rows, state.step)
        if self.replayed and batch:
            self.replayed(batch)
        else:
            self.follow(batch.arrived() if batch else None)
        self.stand_at(state.step + 1)
        state.random_state = {"seed": objective.seed, "step": state.step}
        if group:
            state.random_state["learners"] = group.size
        objective.after_step(state.step)
        return objective.amount(rows)

    def follow(self, batch: Any) -> None:
        """What the device does in a step: follow the gradients of a batch and add its losses to ``sums``."""
        self.optimizer.zero_grad()
        parts, group = self.backward(batch), self.objective.group
        if group:
            group.add_up([*parts.values(), *(p.grad for p in self.parameters if p.grad is not None)])
        if self.config.grad_clip:
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.config.grad_clip)
        self.optimizer.step()
        for name, part in parts.items():
            self.sums[name] += part

    def backward(self, batch: Any) -> dict[str, torch.Tensor]:
        """The gradients of this learner's part of a batch, None where it has none, and its share of the losses."""
        objective = self.objective
        if batch is None:
            for parameter in self.parameters:
                parameter.grad = torch.zeros_like(parameter)
            return {name: torch.zeros((), device=objective.device) for name in objective.names}
        loss, parts = objective.losses(batch)
        loss.backward()
        return {name: parts[name].detach() for name in objective.names}

    def note(self) -> dict[str, float]:
        """Add a line to the history and start new sums; ``UserError`` if the loss is NaN or infinite."""
        state = self.state
        count = state.step - (int(state.history[-1]["step"]) if state.history else 0)
        shown = self.objective.line({name: (total / count).item() for name, total in self.sums.items()})
        self.check_group()
        if not shown["loss"] < float("inf"):
            raise UserError(f"the loss is {shown['loss']} at step {state.step}; lower learner.learning_rate")
        for total in self.sums.values():
            total.zero_()
        epoch = {"epoch": state.step / self.objective.steps_per_epoch} if self.objective.in_epochs else {}
        line = {"step": state.step, **epoch, **shown, "learning_rate": state.schedule["learning_rate"]}
        state.history.append(line)
        return line

    def check_group(self) -> None:
        """``PeerLostError`` where a sum that the device has just handed over lacks another learner's part."""
        if self.objective.group:
            self.objective.group.check()

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Means over the held-out deals, without dropout; nothing where none are held out."""
        objective, sums, counts = self.objective, defaultdict[str, float](float), Counter[str]()
        rows, size = objective.validation, objective.rows_at_once
        if not len(rows):
            return {}
        for first in range(0, len(rows), size):
            for name, (mean, count) in objective.measure(rows[first : first + size]).items():
                sums[name] += mean.item() * count
                counts[name] += count
        means = objective.line({name: total / max(counts[name], 1) for name, total in sums.items()})
        return {
            f"validation_{objective.rows_are}": len(rows),
            **{f"validation_{name}": mean for name, mean in means.items()},
        }


def learning_rate(config: LearnerConfig, step: int, num_steps: int) -> float:
    """Rate of step number ``step`` (from 0) of ``num_steps``: rising over the warm-up, then falling to 0, which it
    reaches behind the last step or at ``schedule_steps``."""
    if step < config.warmup_steps:
        return config.learning_rate * (step + 1) / config.warmup_steps
    if config.schedule == "constant":
        return config.learning_rate
    end = config.schedule_steps or num_steps
    left = max(end - step, 0) / max(end - config.warmup_steps, 1)
    if config.schedule == "cosine":
        left = (1 - math.cos(math.pi * left)) / 2
    return config.learning_rate * left
