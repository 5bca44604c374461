"""Training one network on one data set (paper 001, Table 6), without Ray: a plain function that can be killed.

Every random draw follows from the seed and the number of the step or epoch, so a run that is killed and called again
ends, on a CPU, in the same bytes as one that was left alone. Several learners may train it together
(``learner.training.parallel``): then each calls this function, and all go through the same steps.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from cluster.errors import UserError, blaming_input
from games.game import Game
from games.rng import derive
from learner.config import LearnerConfig, ModelConfig
from learner.model.architecture import architecture
from learner.model.network import PolicyValueNet, device_of, dtype_of, precision_of
from learner.model.told import Rules
from learner.training.data import TrainingData, counts, data_digest, epoch_order, load_data, make_batch
from learner.training.loss import losses
from learner.training.parallel import FINISHED, Group
from learner.training.resume import (
    Clock,
    TrainingState,
    find_partial,
    load_optimizer,
    moments,
    partial_path,
    read_finished,
    read_state,
    save_finished,
    save_partial,
)
from learner.training.roofline import matmul_rate, training_flops
from learner.training.start import check_dropout, check_initial, first_network, training_settings

Progress = Callable[[dict[str, float]], None]

_LOSSES = ("observation_loss", "outcome_loss", "branch_loss")
"""Names of the losses, in the order of ``learner.training.loss.Losses``."""


def train(
    game: Game,
    model_config: ModelConfig,
    learner_config: LearnerConfig,
    shards: Sequence[str],
    out: str | Path,
    init_from: str | Path | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    group: Group | None = None,
) -> dict[str, float]:
    """Train, publish the checkpoint ``out``, and return the final metrics.

    Called again it reads the data, which must be the same, returns the metrics where ``out`` is finished, and goes on
    from ``<out>.partial`` where it was killed.

    Args:
        game: whose sequences these are.
        model_config: the network; ``init_from`` must have the same shape.
        learner_config: how to train.
        shards: paths or URIs of shards, in order.
        out: directory of the checkpoint, a path or a URI.
        init_from: checkpoint whose weights training starts from; None for fresh weights from the seed.
        seed: of everything random.
        on_progress: called every ``log_every_steps`` steps with ``step``, ``num_steps``, ``epoch``, mean ``loss``,
            ``observation_loss``, ``outcome_loss`` and with branches ``branch_loss`` (nats) since the last call,
            ``learning_rate``, ``tokens_per_second`` and ``matmul_share``, the part of this machine's rate of large
            matrix products that they make. What it raises ends the training, which can be resumed.
        group: this learner's place among those that train the network together; None if it does so alone. The first
            of them alone reads and writes ``out``.

    Returns:
        The last of these, with ``sequences``, ``train_seconds`` (of all calls) and, where deals were held out,
        ``validation_sequences`` and every loss as ``validation_loss`` and so on. Nothing for a learner that is not the
        first of its group.

    Raises ``UserError`` before any training: settings that differ from those ``out`` was begun with, shards or
    ``init_from`` that do not fit the game or the model, too few sequences, no such device. ``PeerLostError`` at any
    time where another learner of the group has gone.
    """
    device = device_of(learner_config.device, "learner.device")
    learner_config = replace(learner_config, precision=precision_of(learner_config.precision, device))
    arch = architecture(game, model_config)
    first = group is None or group.first
    with blaming_input():
        settings = training_settings(game, arch, learner_config, seed, init_from, data_digest(shards))
        # First of all: a damaged shard is called one, and not another data set than training was begun with.
        data = load_data(game, shards, learner_config.min_rows, device, learner_config.branch_weight)
        if first and (finished := read_finished(out, settings)):
            if group:  # is told that there is nothing to do
                group.join(device)
                group.agree(FINISHED, settings)
            return finished.metrics
    partial = find_partial(out) if first else None
    num_losses = 3 if learner_config.branch_weight else 2
    with blaming_input():
        state = read_state(partial, settings) if partial else TrainingState(settings, pending=[0.0] * num_losses)
        if partial:
            check_initial(init_from)
            check_dropout(partial_path(out), arch, state.random_state.get("learners", 1), group.size if group else 1)
        net = first_network(game, arch, partial or init_from, seed).to(device)
    if learner_config.num_threads:
        torch.set_num_threads(learner_config.num_threads)
    run = _Run(game, net, data, learner_config, state, seed, out, group)
    if partial:
        load_optimizer(partial, net, run.optimizer, state.step)
    if group and not run.start_together(group):
        return {}
    return run.to_the_end(on_progress or (lambda metrics: None))


class _Run:
    """One training under way: the loop and what it changes."""

    def __init__(
        self,
        game: Game,
        net: PolicyValueNet,
        data: TrainingData,
        config: LearnerConfig,
        state: TrainingState,
        seed: int,
        out: str | Path,
        group: Group | None,
    ) -> None:
        self.game, self.net, self.data, self.config, self.state = game, net, data, config, state
        self.seed, self.out, self.group = seed, out, group
        self.first = group is None or group.first
        self.device, self.dtype = data.tokens.device, dtype_of(config.precision)
        self.generator = torch.Generator(self.device)
        self.rules = Rules(game, net.arch)
        self.optimizer = torch.optim.AdamW(
            net.parameters(), lr=config.learning_rate, betas=config.betas, weight_decay=config.weight_decay, fused=True
        )
        self.num_steps = self.batches_per_epoch * config.num_epochs
        self.num_steps = min(self.num_steps, config.max_steps or self.num_steps)
        length = float(data.lengths.mean()) - 1
        judged = min(length, config.outcome_positions or length)
        leaves = len(data.branches.place) / len(data.lengths) if data.branches else 0.0
        self.flops_per_token = training_flops(net.arch, length, (judged + leaves) / (length + leaves))
        self.matmul_rate = matmul_rate(self.device, self.dtype) * (group.size if group else 1)

    @property
    def batches_per_epoch(self) -> int:
        """The last batch of an epoch may be smaller."""
        return -(-len(self.data.training) // self.config.batch_size)

    def start_together(self, group: Group) -> bool:
        """Stand where the first learner of the group stands; whether there is anything left to train."""
        group.join(self.device)
        step = group.agree(self.state.step, self.state.settings)
        if step == FINISHED:
            return False
        self.state.step = step
        self.state.epoch, self.state.batch = divmod(step, self.batches_per_epoch)
        start = list(self.net.parameters())
        group.take_from_first(start + moments(self.net, self.optimizer, step) if step else start)
        return True

    def to_the_end(self, on_progress: Progress) -> dict[str, float]:
        """Train the steps that are left and publish the checkpoint."""
        config, state = self.config, self.state
        clock, marked = Clock(state, config.checkpoint_every_steps), time.perf_counter()
        sums = torch.tensor(state.pending, device=self.device)
        # A run killed while it validated its last step goes on with nothing left to measure but that.
        metrics = {
            **(state.history[-1] if state.history else {}),
            "num_steps": self.num_steps,
            "tokens_per_second": 0.0,
            "matmul_share": 0.0,
        }
        tokens, order = 0, epoch_order(self.data, self.seed, state.epoch)
        while state.step < self.num_steps:
            rows = order[state.batch * config.batch_size :][: config.batch_size]
            sums += self.step(rows)
            tokens += sum(counts(self.data, rows))
            if state.epoch != (epoch := self.move_cursor()):
                order = epoch_order(self.data, self.seed, epoch)
            if state.step % config.log_every_steps == 0 or state.step == self.num_steps:
                metrics = self.note(sums, tokens, time.perf_counter() - marked)
                sums.zero_()
                tokens, marked = 0, time.perf_counter()
                on_progress(metrics)
            if self.first and clock.save_due():
                state.pending = sums.tolist()
                save_partial(self.out, self.net, self.optimizer, state, self.game)
        if not self.first:
            return {}
        metrics = {**metrics, **self.validate(), "train_seconds": clock.stop()}
        state.metrics = {**metrics, "sequences": len(self.data.training)}
        save_finished(self.out, self.net, self.optimizer, state, self.game)
        return state.metrics

    def step(self, rows: np.ndarray) -> torch.Tensor:
        """One optimiser step on the sequences ``rows``; its losses, ``float32[2]`` or with branches ``float32[3]``, on
        the device."""
        config, state = self.config, self.state
        rate = learning_rate(config, state.step, self.num_steps)
        self.optimizer.param_groups[0]["lr"] = rate
        state.schedule = {"num_steps": self.num_steps, "learning_rate": rate}
        self.optimizer.zero_grad()
        parts = self.backward(rows)
        if self.group:
            self.group.add_up([parts, *(p.grad for p in self.net.parameters() if p.grad is not None)])
        if config.grad_clip:
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), config.grad_clip)
        self.optimizer.step()
        return parts

    def backward(self, rows: np.ndarray) -> torch.Tensor:
        """The gradients of this learner's part of a batch, and its share of the losses."""
        config, step, group = self.config, self.state.step, self.group
        part = group.part(len(rows)) if group else None
        if part and part.start == part.stop:
            for parameter in self.net.parameters():
                parameter.grad = torch.zeros_like(parameter)
            return torch.zeros(len(self.state.pending), device=self.device)
        seed = derive(self.seed, "positions", step)
        batch = make_batch(self.data, rows, self.rules, config.outcome_positions, seed, part, config.others_weight)
        own = (group.rank,) if group and not group.first else ()  # dropout differs between learners
        self.generator.manual_seed(derive(self.seed, "step", step, *own))
        parts = losses(self.net, batch, dtype=self.dtype, generator=self.generator)
        loss = config.observation_weight * parts.observation + config.outcome_weight * parts.outcome
        if parts.branch is not None:
            loss = loss + config.branch_weight * parts.branch
        loss.backward()
        return parts.stacked()

    def move_cursor(self) -> int:
        """Count the step that was just made; the epoch the next one belongs to."""
        state = self.state
        state.step += 1
        state.epoch, state.batch = divmod(state.step, self.batches_per_epoch)
        state.random_state = {"seed": self.seed, "step": state.step}
        if self.group:
            state.random_state["learners"] = self.group.size
        return state.epoch

    def note(self, sums: torch.Tensor, tokens: int, seconds: float) -> dict[str, float]:
        """Add a line to the history; ``UserError`` where the loss is no number any more."""
        state = self.state
        last = int(state.history[-1]["step"]) if state.history else 0
        line = {
            "step": state.step,
            "epoch": state.step / self.batches_per_epoch,
            **self.named((sums / (state.step - last)).tolist()),
            "learning_rate": state.schedule["learning_rate"],
        }
        if not line["loss"] < float("inf"):
            raise UserError(f"the loss is {line['loss']} at step {state.step}; lower learner.learning_rate")
        state.history.append(line)
        rate = tokens / max(seconds, 1e-9)
        share = rate * self.flops_per_token / self.matmul_rate
        return {**line, "num_steps": self.num_steps, "tokens_per_second": rate, "matmul_share": share}

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Losses on the held-out deals, at every prefix, without dropout; nothing where none are held out."""
        rows, size, weight = self.data.validation, self.config.batch_size, self.config.others_weight
        if not len(rows):
            return {}
        sums, counts = torch.zeros(2, len(self.state.pending), dtype=torch.float64)
        for first in range(0, len(rows), size):
            batch = make_batch(self.data, rows[first : first + size], self.rules, others_weight=weight)
            prefixes, leaves = batch.counts
            share = torch.tensor([prefixes, prefixes, leaves][: len(sums)])
            sums += losses(self.net, batch, dtype=self.dtype).stacked().cpu().double() * share
            counts += share
        means = (sums / counts.clamp(min=1)).tolist()
        return {"validation_sequences": len(rows), **self.named(means, "validation_")}

    def named(self, means: list[float], prefix: str = "") -> dict[str, float]:
        """Mean losses by name, their weighted sum before them."""
        weights = (self.config.observation_weight, self.config.outcome_weight, self.config.branch_weight)
        loss = sum(weight * mean for weight, mean in zip(weights, means, strict=False))
        return {f"{prefix}loss": loss} | {f"{prefix}{name}": mean for name, mean in zip(_LOSSES, means, strict=False)}


def learning_rate(config: LearnerConfig, step: int, num_steps: int) -> float:
    """Rate of step number ``step`` (from 0) of ``num_steps``: rising over the warm-up, then falling linearly to 0
    behind the last step."""
    if step < config.warmup_steps:
        return config.learning_rate * (step + 1) / config.warmup_steps
    if config.schedule == "constant":
        return config.learning_rate
    return config.learning_rate * (num_steps - step) / max(num_steps - config.warmup_steps, 1)
