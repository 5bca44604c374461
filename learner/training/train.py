"""Training one network on one data set (paper 001, Table 6), without Ray: a plain function that can be killed.

Every random draw follows from the seed and the number of the step or epoch, so a run that is killed and called again
ends, on a CPU, in the same bytes as one that was left alone.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import torch

from cluster.errors import blaming_input
from games.game import Game
from games.rng import derive
from learner.config import LearnerConfig, ModelConfig
from learner.model.architecture import Architecture, architecture
from learner.model.checkpoint import checkpoint_id, game_record, load_weights
from learner.model.network import (
    PolicyValueNet,
    device_of,
    dtype_of,
    initialise,
    precision_of,
)
from learner.model.outcome_init import start_outcome_head
from learner.model.told import Rules
from learner.training.data import Batch, TrainingData, data_digest, epoch_order, load_data, make_batch
from learner.training.loss import losses
from learner.training.resume import (
    TrainingState,
    find_finished,
    find_partial,
    load_optimizer,
    read_state,
    save_finished,
    save_partial,
)
from learner.training.roofline import matmul_rate, training_flops

Progress = Callable[[dict[str, float]], None]

_FREE_TO_CHANGE = ("device", "num_threads", "checkpoint_every_steps", "log_every_steps", "min_rows")
"""Learner settings that a resumed run may change: they do not decide what is learned."""
_LOSSES = ("observation_loss", "outcome_loss", "branch_loss")
"""Names of the losses, in the order of ``learner.training.loss.Losses``."""
_FREE_AT_START = ("embd_pdrop", "resid_pdrop", "outcome_init", "initializer_range")
"""Model settings in which a run may differ from the weights it starts from."""


def train(
    game: Game,
    model_config: ModelConfig,
    learner_config: LearnerConfig,
    shards: Sequence[str],
    out: str | Path,
    init_from: str | Path | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> dict[str, float]:
    """Train, publish the checkpoint ``out``, and return the final metrics.

    Called again it returns the metrics at once where ``out`` is finished, and goes on from ``<out>.partial`` where it
    was killed.

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

    Returns:
        The last of these, with ``sequences``, ``train_seconds`` (of this call) and, where deals were held out,
        ``validation_sequences`` and every loss as ``validation_loss`` and so on.

    Raises ``UserError`` before any training: settings that differ from those ``out`` was begun with, shards or
    ``init_from`` that do not fit the game or the model, too few sequences, no such device.
    """
    device = device_of(learner_config.device, "learner.device")
    learner_config = replace(learner_config, precision=precision_of(learner_config.precision, device))
    arch = architecture(game, model_config)
    with blaming_input():
        settings = _settings(game, arch, learner_config, seed, init_from, data_digest(shards))
        sizes = learner_config.batch_size, learner_config.min_rows
        # First of all: a damaged shard is called one, and not another data set than training was begun with.
        data = load_data(game, shards, seed, *sizes, device, learner_config.branch_weight)
        if finished := find_finished(out):
            return read_state(finished, settings).metrics
    partial = find_partial(out)
    num_losses = 3 if learner_config.branch_weight else 2
    with blaming_input():
        state = read_state(partial, settings) if partial else TrainingState(settings, pending=[0.0] * num_losses)
        net = _first_network(game, arch, partial or init_from, seed).to(device)
    if learner_config.num_threads:
        torch.set_num_threads(learner_config.num_threads)
    run = _Run(game, net, data, learner_config, state, seed, out)
    if partial:
        load_optimizer(partial, net, run.optimizer, state.step)
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
    ) -> None:
        self.game, self.net, self.data, self.config, self.state = game, net, data, config, state
        self.seed, self.out = seed, out
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
        self.matmul_rate = matmul_rate(self.device, self.dtype)

    @property
    def batches_per_epoch(self) -> int:
        """The last batch of an epoch may be smaller."""
        return -(-len(self.data.training) // self.config.batch_size)

    def to_the_end(self, on_progress: Progress) -> dict[str, float]:
        """Train the steps that are left and publish the checkpoint."""
        config, state = self.config, self.state
        began = marked = time.perf_counter()
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
            seed = derive(self.seed, "positions", state.step)
            batch = make_batch(self.data, rows, self.rules, config.outcome_positions, seed)
            sums += self.step(batch)
            tokens += batch.num_tokens
            if state.epoch != (epoch := self.move_cursor()):
                order = epoch_order(self.data, self.seed, epoch)
            if state.step % config.log_every_steps == 0 or state.step == self.num_steps:
                metrics = self.note(sums, tokens, time.perf_counter() - marked)
                sums.zero_()
                tokens, marked = 0, time.perf_counter()
                on_progress(metrics)
            if config.checkpoint_every_steps and state.step % config.checkpoint_every_steps == 0:
                state.pending = sums.tolist()
                save_partial(self.out, self.net, self.optimizer, state, self.game)
        metrics = {**metrics, **self.validate(), "train_seconds": time.perf_counter() - began}
        state.metrics = {**metrics, "sequences": len(self.data.training)}
        save_finished(self.out, self.net, self.optimizer, state, self.game)
        return state.metrics

    def step(self, batch: Batch) -> torch.Tensor:
        """One optimiser step; its losses, ``float32[2]`` or with branches ``float32[3]``, left on the device."""
        config, state = self.config, self.state
        rate = learning_rate(config, state.step, self.num_steps)
        self.optimizer.param_groups[0]["lr"] = rate
        state.schedule = {"num_steps": self.num_steps, "learning_rate": rate}
        self.generator.manual_seed(derive(self.seed, "step", state.step))
        parts = losses(self.net, batch, dtype=self.dtype, generator=self.generator)
        loss = config.observation_weight * parts.observation + config.outcome_weight * parts.outcome
        if parts.branch is not None:
            loss = loss + config.branch_weight * parts.branch
        self.optimizer.zero_grad()
        loss.backward()
        if config.grad_clip:
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), config.grad_clip)
        self.optimizer.step()
        return parts.stacked()

    def move_cursor(self) -> int:
        """Count the step that was just made; the epoch the next one belongs to."""
        state = self.state
        state.step += 1
        state.epoch, state.batch = divmod(state.step, self.batches_per_epoch)
        state.random_state = {"seed": self.seed, "step": state.step}
        return state.epoch

    def note(self, sums: torch.Tensor, tokens: int, seconds: float) -> dict[str, float]:
        """Add a line to the history; ``FloatingPointError`` where the loss is no number any more."""
        state = self.state
        last = int(state.history[-1]["step"]) if state.history else 0
        line = {
            "step": state.step,
            "epoch": state.step / self.batches_per_epoch,
            **self.named((sums / (state.step - last)).tolist()),
            "learning_rate": state.schedule["learning_rate"],
        }
        if not line["loss"] < float("inf"):
            raise FloatingPointError(f"the loss is {line['loss']} at step {state.step}; lower learner.learning_rate")
        state.history.append(line)
        rate = tokens / max(seconds, 1e-9)
        share = rate * self.flops_per_token / self.matmul_rate
        return {**line, "num_steps": self.num_steps, "tokens_per_second": rate, "matmul_share": share}

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Losses on the held-out deals, at every prefix, without dropout; nothing where none are held out."""
        rows, size = self.data.validation, self.config.batch_size
        if not len(rows):
            return {}
        sums, counts = torch.zeros(2, len(self.state.pending), dtype=torch.float64)
        for first in range(0, len(rows), size):
            batch = make_batch(self.data, rows[first : first + size], self.rules)
            leaves = batch.num_tokens - batch.num_prefixes
            share = torch.tensor([batch.num_prefixes, batch.num_prefixes, leaves][: len(sums)])
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


def _settings(
    game: Game, arch: Architecture, config: LearnerConfig, seed: int, init_from: str | Path | None, digest: str
) -> dict[str, Any]:
    """Everything the result depends on, by the name it has on the command line."""
    learner = {f"learner.{key}": value for key, value in asdict(config).items() if key not in _FREE_TO_CHANGE}
    if not config.branch_weight:
        del learner["learner.branch_weight"]  # so that trainings begun before there was such a setting can go on
    return {
        **game_record(game),
        **{f"model.{key}": value for key, value in arch.record().items()},
        **learner,
        "seed": seed,
        "init_from": checkpoint_id(init_from) if init_from else None,
        "data": digest,
    }


def _first_network(game: Game, arch: Architecture, start: str | Path | None, seed: int) -> PolicyValueNet:
    """The network training starts or goes on from."""
    net = PolicyValueNet(arch)
    if start is None:
        initialise(net, derive(seed, "weights"))
        if arch.outcome_init == "points":
            start_outcome_head(
                net.val_head.weight, game.outcomes.points, arch.initializer_range, derive(seed, "outcome head")
            )
        return net
    weights = load_weights(start, game)
    for key in (field.name for field in fields(Architecture) if field.name not in _FREE_AT_START):
        if getattr(weights.arch, key) != getattr(arch, key):
            raise ValueError(
                f"{start}: has {key}={getattr(weights.arch, key)}, but model.{key}={getattr(arch, key)} is asked for; "
                "start from weights of the same shape"
            )
    net.load_state_dict(weights.state_dict())
    return net
