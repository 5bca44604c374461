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

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from games.rng import derive
from learner.network_kind import TrainingSetup
from learner.q_network.data import load_decisions, targets
from learner.q_network.network import QNet
from learner.training.objective import Objective


class QObjective(Objective):
    """Temporal differences between decisions and, with ``loss.branch_weight``, results of their branches' playouts.

    ``loss`` is Huber's, of points, and with branches ``branch_loss`` their part of it. ``validation_error`` is the mean
    absolute error of q in points, against the discounted return.
    """

    names = ("loss", "branch_loss")  # the first includes the second
    rows_are, in_epochs = "decisions", False
    net: QNet
    target: QNet

    def __init__(self, setup: TrainingSetup) -> None:
        super().__init__(setup)
        self.q_config = setup.model
        self.data = load_decisions(self.game, setup.shards, self.config, self.q_config.discount, self.device)
        self.training, self.validation = self.data.training, self.data.validation
        self.steps_per_epoch = max(self.data.num_new // self.q_config.states_per_step, 1)

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"learner.loss.branch_weight": self.config.loss.branch_weight}

    def begin(self, net: QNet) -> None:
        super().begin(net)
        self.target = deepcopy(net).requires_grad_(False)

    def rows(self, step: int) -> np.ndarray:
        rng = np.random.default_rng(derive(self.seed, "batch", step))
        return self.training[rng.integers(len(self.training), size=self.config.batch_size)]

    def losses(self, batch: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        parts, _ = self.errors(batch)
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
            known = ~goal.isnan()  # not indexed by it: the host would wait for their number
            errors = F.huber_loss(q, goal.nan_to_num(), reduction="none", delta=delta) * known
            branch_loss = errors.sum() / known.sum().clamp(min=1)
        return {"loss": loss + self.config.loss.branch_weight * branch_loss, "branch_loss": branch_loss}, values

    def after_step(self, step: int) -> None:
        if self.q_config.target_every_steps and step % self.q_config.target_every_steps == 0:
            self.target.load_state_dict(self.net.state_dict())

    def line(self, means: Mapping[str, float]) -> dict[str, float]:
        return {name: mean for name, mean in means.items() if name != "branch_loss" or self.config.loss.branch_weight}

    def measure(self, rows: np.ndarray) -> dict[str, tuple[torch.Tensor, int]]:
        """Errors against the targets, and against the returns."""
        there = self.batch(rows, 0).arrived()
        parts, values = self.errors(there)
        error = (values - self.data.returns[there]).abs().mean()
        return {"loss": (parts["loss"], len(rows)), "error": (error, len(rows))}

    def rates(self, per_second: float) -> dict[str, float]:
        return {"states_per_second": per_second}
