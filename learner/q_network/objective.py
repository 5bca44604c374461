"""Objective of a Q-network (paper 002, "Multi-agent Reinforcement Learning" and "Further Work").

One-step temporal differences between the decisions of one seat: q(s, a) of the seat to act learns

    r + discount * max over legal a' of q_target(s', a')

where s' is the seat's next decision, after the others have played, and r is minus the points that it made until then.
The target network is a copy of the network whose weights are updated at intervals. Adam, Huber loss; batches are drawn
uniformly, with replacement, from the decisions of all shards.

Choices where the paper leaves something open:

- *Sign.* It calls q the points that are won and plays the highest; here q is minus the points still to come.
- *Reward.* Points when they are made, not all at the end; a moon is scored after the seat's last decision.
- *Scale.* Points. The paper's reward is (26 - points) / 26, so its Huber loss, linear from 1, is linear
  from 26 points (``model.huber_delta``).
- *Target network.* Every ``target_every_steps`` steps, and at the start of a training.
- *How much is trained.* A batch "once per 4 states" is read as one step for four decisions that are new: of the newest
  iteration. Batches also draw from the two rounds before, which ``selfplay.replay_games`` keeps.
- *Double Q-learning*, priorities and n-step targets are not mentioned, and not used.

Beyond the paper, ``learner.loss.branch_weight`` weighs the mean Huber loss over branches (``selfplay.branches``): each
action of a decision learns the points of a playout after it, not discounted. With random playouts that is q of random
play, which is learned fast; the temporal differences improve on it.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from games.game import Game
from games.rng import derive
from learner.config import LearnerConfig, QNetworkConfig
from learner.q_network.architecture import q_architecture
from learner.q_network.checkpoint import load_q_network
from learner.q_network.data import QData, load_decisions, targets
from learner.q_network.network import QNet, initialise
from learner.training.objective import Objective
from learner.training.parallel import Group

_LEARNER_KEYS = (
    *("learning_rate", "schedule", "warmup_steps", "num_epochs", "max_steps", "batch_size"),
    *("weight_decay", "betas", "grad_clip", "precision"),
)
"""Learner settings that change a Q-network's training; the others are the transformer's, or free to change."""


class QObjective(Objective):
    """Temporal differences between decisions and, with ``loss.branch_weight``, results of their branches' playouts.

    ``loss`` is Huber's, of points, and with branches ``branch_loss`` their part of it. ``validation_error`` is the mean
    absolute error of q in points, against the discounted return.
    """

    names = ("loss", "branch_loss")  # the first includes the second
    rows_are, rows_at_once = "decisions", 4096
    net: QNet
    target: QNet
    data: QData

    def __init__(
        self, game: Game, q_config: QNetworkConfig, learner: LearnerConfig, seed: int, group: Group | None = None
    ) -> None:
        super().__init__(game, learner, seed, group)
        self.arch, self.q_config = q_architecture(game, q_config), q_config

    def settings(self) -> dict[str, Any]:
        network = asdict(self.arch) | asdict(self.q_config)
        del network["kind"]
        return {
            **{f"model.{key}": value for key, value in network.items()},
            **{f"learner.{key}": getattr(self.config, key) for key in _LEARNER_KEYS},
            "learner.loss.branch_weight": self.config.loss.branch_weight,
        }

    def load(self, shards: Sequence[str]) -> None:
        self.data = load_decisions(self.game, shards, self.config, self.q_config.discount, self.device)
        self.steps_per_epoch = max(self.data.num_new // self.q_config.states_per_step, 1)

    def fresh(self) -> QNet:
        net = QNet(self.arch)
        initialise(net, derive(self.seed, "weights"))
        return net

    def read(self, start: str | Path) -> QNet:
        return load_q_network(start, self.game)

    def begin(self, net: QNet) -> None:
        super().begin(net)
        self.target = deepcopy(net).requires_grad_(False)

    def rows(self, step: int) -> np.ndarray:
        rng = np.random.default_rng(derive(self.seed, "batch", step))
        return self.data.training[rng.integers(len(self.data.training), size=self.config.batch_size)]

    def losses(self, rows: np.ndarray, step: int) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        parts, _ = self.errors(torch.from_numpy(rows).to(self.device))
        return parts["loss"], parts

    def errors(self, rows: torch.Tensor) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """The losses of decisions ``rows``, and ``float32[B]``: q of the played actions."""
        data, delta = self.data, self.q_config.huber_delta
        q = self.net(data.states(rows), self.dtype)
        values = q.gather(1, data.action[rows, None])[:, 0]
        with torch.no_grad():
            next_values = self.target(data.states(data.following[rows].clamp(min=0)), self.dtype)
            goal = targets(data, rows, next_values, self.q_config.discount)
        loss, branch_loss = F.huber_loss(values, goal, delta=delta), q.new_zeros(())
        if self.config.loss.branch_weight:
            goal = data.branches[rows].float()
            errors = F.huber_loss(q, goal.nan_to_num(), reduction="none", delta=delta)[~goal.isnan()]
            branch_loss = errors.sum() / max(len(errors), 1)
        return {"loss": loss + self.config.loss.branch_weight * branch_loss, "branch_loss": branch_loss}, values

    def after_step(self, step: int) -> None:
        if self.q_config.target_every_steps and step % self.q_config.target_every_steps == 0:
            self.target.load_state_dict(self.net.state_dict())

    def line(self, means: Mapping[str, float]) -> dict[str, float]:
        return {name: mean for name, mean in means.items() if name != "branch_loss" or self.config.loss.branch_weight}

    def measure(self, rows: np.ndarray) -> dict[str, tuple[torch.Tensor, int]]:
        """Errors against the targets, and against the returns."""
        there = torch.from_numpy(rows).to(self.device)
        parts, values = self.errors(there)
        error = (values - self.data.returns[there]).abs().mean()
        return {"loss": (parts["loss"], len(rows)), "error": (error, len(rows))}

    def rates(self, per_second: float) -> dict[str, float]:
        return {"states_per_second": per_second}
