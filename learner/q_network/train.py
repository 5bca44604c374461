"""Training one Q-network on one data set (paper 002, "Multi-agent Reinforcement Learning" and "Further Work").

One-step temporal differences between the decisions of one seat: q(s, a) of the seat to act learns

    r + discount * max over legal a' of q_target(s', a')

where s' is where it decides next, after the others have played, and r is minus the points that it made until then. The
target network is a copy of the network that takes over its weights now and then. Adam, Huber loss; batches are drawn
evenly, with replacement, from the decisions of all shards.

What the paper leaves open, and how it is here:

- *Sign.* It calls q the points that are won and plays the highest; here q is minus the points still to come.
- *Reward.* Points when they are made, not all at the end; a moon is paid behind the seat's last decision.
- *Scale.* Points as they are, so a Huber delta of 1 is one point.
- *Target network.* Every ``target_every_steps`` steps, and at the start of a training.
- *How much is trained.* A batch "once per 4 states" is read as one step for four decisions that are new: of the newest
  iteration. Those of the two rounds before, which ``selfplay.replay_games`` keeps, are drawn from as well.
- *Double Q-learning*, priorities and n-step targets are not mentioned; there are none.

Beyond the paper, ``learner.branch_weight`` adds that much of the Huber loss of branches (``selfplay.branches``), a mean
over them: each action of a decision learns the points that a playout made after it, not discounted. Where the playouts
are random, that is q of random play, which learns fast; the temporal differences go on from there.

Every draw follows from the seed and the number of the step, so a run that is killed and called again ends, on a CPU, in
the same bytes as one that was left alone.
"""

import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from cluster.errors import UserError, blaming_input
from games.game import Game
from games.rng import derive
from learner.config import LearnerConfig, QNetworkConfig
from learner.model.checkpoint import checkpoint_id, game_record
from learner.model.network import device_of, dtype_of, precision_of
from learner.q_network.checkpoint import check_shape, load_q_network
from learner.q_network.data import QData, load_decisions, targets
from learner.q_network.network import QArchitecture, QNet, initialise, q_architecture
from learner.training.data import data_digest
from learner.training.resume import (
    Clock,
    TrainingState,
    find_partial,
    load_optimizer,
    load_target,
    read_finished,
    read_state,
    save_finished,
    save_partial,
)
from learner.training.start import HOLDING_OUT, check_initial
from learner.training.train import learning_rate

Progress = Callable[[dict[str, float]], None]

_LEARNER_KEYS = (
    *("learning_rate", "schedule", "warmup_steps", "num_epochs", "max_steps", "batch_size"),
    *("weight_decay", "betas", "grad_clip", "precision"),
)
"""Learner settings that decide what a Q-network learns; the others are the transformer's, or free to change."""
_VALIDATION_ROWS = 4096
"""Of one forward pass."""


def train_q_network(
    game: Game,
    q_config: QNetworkConfig,
    learner_config: LearnerConfig,
    shards: Sequence[str],
    out: str | Path,
    init_from: str | Path | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> dict[str, float]:
    """Train, publish the checkpoint ``out``, and return the final metrics.

    Called again it returns the metrics where ``out`` is finished, and goes on from ``<out>.partial`` where it was
    killed; as ``learner.training.train.train``, whose arguments these are.

    Args:
        q_config: the network and its targets.
        learner_config: how to optimise; ``num_epochs`` times as many steps are made as ``states_per_step`` says.
        on_progress: called every ``log_every_steps`` steps with ``step``, ``num_steps``, mean ``loss`` since the last
            call (Huber, of points), with branches their ``branch_loss``, ``learning_rate`` and ``states_per_second``
            trained on.

    Returns:
        The last of these, with ``decisions`` to learn from, ``train_seconds`` and, where deals were held out,
        ``validation_decisions``, their ``validation_loss`` and ``validation_error``: the mean distance in points
        between q and what was then made of the decision, discounted.

    Raises ``UserError`` before any training: settings that differ from those ``out`` was begun with, shards or
    ``init_from`` that do not fit, too few sequences, deals that are not whole, no such device.
    """
    device = device_of(learner_config.device, "learner.device")
    learner_config = replace(learner_config, precision=precision_of(learner_config.precision, device))
    with blaming_input():
        arch = q_architecture(game, q_config)
        settings = _settings(game, arch, q_config, learner_config, seed, init_from, data_digest(shards))
        data = load_decisions(game, shards, learner_config, q_config.discount, device)
        if finished := read_finished(out, settings):
            return finished.metrics
        partial = find_partial(out)
        if partial:
            check_initial(init_from)
        state = read_state(partial, settings) if partial else TrainingState(settings)
        net = _first_network(game, arch, partial or init_from, seed).to(device)
    if learner_config.num_threads:
        torch.set_num_threads(learner_config.num_threads)
    run = _Run(game, net, data, q_config, learner_config, state, seed, out)
    if partial:
        load_optimizer(partial, net, run.optimizer, state.step)
        load_target(partial, run.target)
    return run.to_the_end(on_progress or (lambda metrics: None))


def _settings(
    game: Game,
    arch: QArchitecture,
    q_config: QNetworkConfig,
    learner: LearnerConfig,
    seed: int,
    init_from: str | Path | None,
    digest: str,
) -> dict[str, Any]:
    """Everything the result depends on, by the name it has on the command line."""
    learner_keys = (*_LEARNER_KEYS, "branch_weight") if learner.branch_weight else _LEARNER_KEYS
    return {
        **game_record(game),
        **HOLDING_OUT,
        **{f"q_network.{key}": value for key, value in (asdict(arch) | asdict(q_config)).items()},
        **{f"learner.{key}": getattr(learner, key) for key in learner_keys},
        "seed": seed,
        "init_from": checkpoint_id(init_from, loaded_later=True) if init_from else None,
        "data": digest,
    }


def _first_network(game: Game, arch: QArchitecture, start: str | Path | None, seed: int) -> QNet:
    """The network training starts or goes on from."""
    if start is not None:
        net = load_q_network(start, game)
        check_shape(start, net, arch)
        return net
    net = QNet(arch)
    initialise(net, derive(seed, "weights"))
    return net


class _Run:
    """One training under way: the loop and what it changes."""

    def __init__(
        self,
        game: Game,
        net: QNet,
        data: QData,
        q_config: QNetworkConfig,
        config: LearnerConfig,
        state: TrainingState,
        seed: int,
        out: str | Path,
    ) -> None:
        self.game, self.net, self.data, self.state, self.seed, self.out = game, net, data, state, seed, out
        self.q_config, self.config = q_config, config
        self.device, self.dtype = data.features.device, dtype_of(config.precision)
        self.target = deepcopy(net).requires_grad_(False)
        self.optimizer = torch.optim.AdamW(  # Adam, where nothing decays
            net.parameters(), lr=config.learning_rate, betas=config.betas, weight_decay=config.weight_decay, fused=True
        )
        self.num_steps = config.num_epochs * max(data.num_new // q_config.states_per_step, 1)
        self.num_steps = min(self.num_steps, config.max_steps or self.num_steps)

    def to_the_end(self, on_progress: Progress) -> dict[str, float]:
        """Train the steps that are left and publish the checkpoint."""
        config, state = self.config, self.state
        clock, marked = Clock(state, config.checkpoint_every_steps), time.perf_counter()
        counted, total = state.step, torch.tensor(state.pending, device=self.device)
        # A run killed while it validated its last step goes on with nothing left to measure but that.
        metrics = dict(state.history[-1]) if state.history else {}
        metrics |= {"num_steps": self.num_steps, "states_per_second": 0.0}
        while state.step < self.num_steps:
            total += self.step()
            if state.step % config.log_every_steps == 0 or state.step == self.num_steps:
                rate = (state.step - counted) * config.batch_size / max(time.perf_counter() - marked, 1e-9)
                metrics = {**self.note(total.tolist()), "num_steps": self.num_steps, "states_per_second": rate}
                total.zero_()
                counted, marked = state.step, time.perf_counter()
                on_progress(metrics)
            if clock.save_due():
                state.pending = total.tolist()
                save_partial(self.out, self.net, self.optimizer, state, self.game, self.target)
        metrics |= {**self.validate(), "train_seconds": clock.stop()}
        state.metrics = {**metrics, "decisions": len(self.data.training)}
        save_finished(self.out, self.net, self.optimizer, state, self.game)
        return state.metrics

    def step(self) -> torch.Tensor:
        """One optimiser step, and what belongs to its end; its losses as ``losses`` has them, on the device."""
        config, state = self.config, self.state
        rate = learning_rate(config, state.step, self.num_steps)
        self.optimizer.param_groups[0]["lr"] = rate
        rng = np.random.default_rng(derive(self.seed, "batch", state.step))
        rows = self.data.training[rng.integers(len(self.data.training), size=config.batch_size)]
        self.optimizer.zero_grad()
        losses, _ = self.losses(torch.from_numpy(rows).to(self.device))
        losses[0].backward()
        if config.grad_clip:
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), config.grad_clip)
        self.optimizer.step()
        state.step += 1
        state.schedule = {"num_steps": self.num_steps, "learning_rate": rate}
        state.random_state = {"seed": self.seed, "step": state.step}
        if self.q_config.target_every_steps and state.step % self.q_config.target_every_steps == 0:
            self.target.load_state_dict(self.net.state_dict())
        return losses.detach()

    def losses(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """``float32[2]``: the loss of decisions ``rows`` and the part of it that branches have; q of what was done."""
        data, delta = self.data, self.q_config.huber_delta
        q = self.net(data.states(rows), self.dtype)
        values = q.gather(1, data.action[rows, None])[:, 0]
        with torch.no_grad():
            next_values = self.target(data.states(data.following[rows].clamp(min=0)), self.dtype)
            goal = targets(data, rows, next_values, self.q_config.discount)
        loss, branch_loss = F.huber_loss(values, goal, delta=delta), q.new_zeros(())
        if self.config.branch_weight:
            goal = data.branches[rows].float()
            errors = F.huber_loss(q, goal.nan_to_num(), reduction="none", delta=delta)[~goal.isnan()]
            branch_loss = errors.sum() / max(len(errors), 1)
        return torch.stack([loss + self.config.branch_weight * branch_loss, branch_loss]), values

    def note(self, totals: list[float]) -> dict[str, float]:
        """Add a line to the history; ``UserError`` where the loss is no number any more."""
        state = self.state
        last = int(state.history[-1]["step"]) if state.history else 0
        loss, branch_loss = (total / (state.step - last) for total in totals)
        rate = state.schedule["learning_rate"]
        if not loss < float("inf"):
            raise UserError(f"the loss is {loss} at step {state.step}; lower learner.learning_rate")
        line = {"step": state.step, "loss": loss, "learning_rate": rate}
        if self.config.branch_weight:
            line["branch_loss"] = branch_loss
        state.history.append(line)
        return line

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """How far q of the held-out decisions is from its targets and from what was made of them; nothing where there
        are none."""
        rows, sums = torch.from_numpy(self.data.validation).to(self.device), np.zeros(2)
        if not len(rows):
            return {}
        for part in rows.split(_VALIDATION_ROWS):
            losses, values = self.losses(part)
            error = (values - self.data.returns[part]).abs().mean()
            sums += np.array([float(losses[0]), float(error)]) * len(part)
        loss_mean, error_mean = (sums / len(rows)).tolist()
        return {"validation_decisions": len(rows), "validation_loss": loss_mean, "validation_error": error_mean}
