"""Objective of the transformer: next token and outcome of every prefix (paper 001, Table 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from games.game import Game
from games.rng import derive, derive_many
from learner.config import CRITIC_KEYS, FREE_LEARNER_KEYS, GRADIENT_KEYS, LearnerConfig, TransformerConfig
from learner.model.architecture import architecture
from learner.model.checkpoint import checkpoint_id, load_weights
from learner.model.network import PolicyValueNet, initialise
from learner.model.outcome_init import start_outcome_head
from learner.model.rule_inputs import Rules
from learner.training.batches import Batch, counts, make_batch
from learner.training.critic import Critic
from learner.training.data import TrainingData, epoch_order, load_data
from learner.training.loss import losses
from learner.training.objective import Objective
from learner.training.parallel import Group
from learner.training.policy_gradient import CRITIC_FIGURE, FIGURES, PolicyGradient
from learner.training.policy_targets import PolicyOperator
from learner.training.prefetch import Prefetch
from learner.training.roofline import matmul_rate, training_flops

_LATER_KEYS = {
    "branch_weight": 0.0,
    "label_weight": 0.0,
    "others_weight": 1.0,
    "policy_targets": "none",
    "optimizer": "adamw",
    "targets": "all",
    "augment": False,
    "schedule_steps": 0,
    "schedule_floor": 0.0,
}
"""Settings that are not recorded with these values, so that trainings begun before there were any can go on."""


class SequenceObjective(Objective):
    """Next tokens and outcomes of sequences and, with ``branch_weight``, outcomes of their branches; with
    ``policy_targets`` the values of these teach the policy.

    Its losses are in nats: ``observation_loss``, ``outcome_loss``, with branches ``branch_loss``, and ``loss``, their
    weighted sum. ``matmul_share`` is training's FLOP rate divided by that of large matrix products.
    """

    rows_are, in_epochs = "sequences", True
    free_at_start = ("embd_pdrop", "resid_pdrop", "outcome_init", "initializer_range")
    net: PolicyValueNet
    data: TrainingData
    critic: Critic | None

    def __init__(
        self, game: Game, model: TransformerConfig, learner: LearnerConfig, seed: int, group: Group | None = None
    ) -> None:
        super().__init__(game, learner, seed, group)
        self.arch, self.rows_at_once = architecture(game, model), self.config.batch_size
        self.rules, self.generator = Rules(game, self.arch), torch.Generator(self.device)
        self.has_dropout = bool(self.arch.embd_pdrop or self.arch.resid_pdrop)
        weights = {"observation_loss": learner.observation_weight, "outcome_loss": learner.outcome_weight}
        self.weights = weights | ({"branch_loss": learner.branch_weight} if learner.branch_weight else {})
        self.policy = PolicyOperator.of(game, learner)
        self.gradient = PolicyGradient.of(game, learner, self.device)
        self.magnet: PolicyValueNet | None = None
        if self.gradient and learner.magnet_weight and not learner.magnet:
            weight = learner.magnet_weight
            raise ValueError(
                f"learner.magnet: give the checkpoint that magnet_weight={weight} pulls to, or set it to 0"
            )
        if self.gradient:  # shown, not followed
            self.weights |= dict.fromkeys(FIGURES, 0.0)
        self.critic = Critic.of(game, learner, seed)
        if self.critic:
            self.critic.to(self.device)
            self.weights[CRITIC_FIGURE] = 1.0
        self.names = tuple(self.weights)
        self._make_batch = partial(
            make_batch,
            others_weight=learner.others_weight,
            label_weight=learner.label_weight,
            policy=self.policy,
            gradient=self.gradient,
            actions_only=learner.targets == "actions",
        )
        if learner.augment and type(game).renamed is Game.renamed:
            raise ValueError(f"learner.augment=true: {game.name} has no tokens to rename; set it to false")
        self._orders, self._batches = dict[int, np.ndarray](), Prefetch[Batch](self.config.batch_threads)

    def settings(self) -> dict[str, Any]:
        learner = {
            f"learner.{key}": value for key, value in asdict(self.config).items() if key not in FREE_LEARNER_KEYS
        }
        off = [key for key, unset in _LATER_KEYS.items() if getattr(self.config, key) == unset]
        off += [] if self.policy or self.gradient else ["policy_temperature", "policy_weight"]
        off += ["magnet_iterations", *([] if self.gradient else GRADIENT_KEYS), *([] if self.critic else CRITIC_KEYS)]
        for key in off:
            del learner[f"learner.{key}"]
        if self.gradient:
            learner["learner.magnet"] = checkpoint_id(self.config.magnet) if self.config.magnet_weight else ""
        return {f"model.{key}": value for key, value in self.arch.record().items()} | learner

    def load(self, shards: Sequence[str]) -> None:
        config = self.config
        asked = config.branch_weight, config.label_weight, config.policy_targets, config.max_staleness
        width, first = config.critic_width, self.arch.first
        self.data = load_data(self.game, shards, config.min_rows, self.device, *asked, width, first)
        self.figures = {"stale_shards": self.data.stale} if self.gradient else {}
        # The last batch of an epoch may be smaller.
        self.steps_per_epoch = -(-len(self.data.training) // self.config.batch_size)

    def fresh(self) -> PolicyValueNet:
        net, arch = PolicyValueNet(self.arch), self.arch
        initialise(net, derive(self.seed, "weights"))
        if arch.outcome_init == "points":
            points, seed = self.game.outcomes.points, derive(self.seed, "outcome head")
            start_outcome_head(net.val_head.weight, points, arch.initializer_range, seed)
        return net

    def read(self, start: str | Path) -> PolicyValueNet:
        return load_weights(start, self.game)

    def begin(self, net: PolicyValueNet) -> None:
        super().begin(net)
        if self.gradient and self.config.magnet_weight:
            self.magnet = load_weights(self.config.magnet, self.game).to(self.device)
        length = float(self.data.lengths.mean()) - 1
        judged = min(length, self.config.outcome_positions or length)
        leaves = float(self.data.num_leaves.mean())
        self.flops_per_token = training_flops(self.arch, length, (judged + leaves) / (length + leaves))
        self.matmul_rate = matmul_rate(self.device, self.dtype) * (self.group.size if self.group else 1)

    def rows(self, step: int) -> np.ndarray:
        epoch, batch = divmod(step, self.steps_per_epoch)
        if epoch not in self._orders:  # threads may still make batches of the epoch before
            earlier = {known: order for known, order in self._orders.items() if known == epoch - 1}
            self._orders = earlier | {epoch: epoch_order(self.data, self.seed, epoch)}
        return self._orders[epoch][batch * self.config.batch_size :][: self.config.batch_size]

    def losses(self, rows: np.ndarray, step: int) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        batch, group = self._batches.get(self._batch, step, self.num_steps), self.group
        own = (group.rank,) if group and not group.first else ()  # dropout differs between learners
        self.generator.manual_seed(derive(self.seed, "step", step, *own))
        parts = self._parts(batch, self.generator)
        weighted = [weight * parts[name] for name, weight in self.weights.items()]
        return sum(weighted[1:], weighted[0]), parts

    def _batch(self, step: int) -> Batch:
        """This learner's part of the batch of a step."""
        rows, data, group = self.rows(step), self.data, self.group
        part, seed = group.part(len(rows)) if group else None, derive(self.seed, "positions", step)
        if self.config.augment:
            data, rows = self._renamed(rows, step), np.arange(len(rows))
        return self._make_batch(data, rows, self.rules, self.config.outcome_positions, seed, part)

    def _renamed(self, rows: np.ndarray, step: int) -> TrainingData:
        """These rows alone, with tokens renamed for this step."""
        drawn = derive_many(derive(self.seed, "renamed", step), len(rows))
        return self.data.with_tokens(rows, self.game.renamed(self.data.host_tokens[rows], drawn))

    def line(self, means: Mapping[str, float]) -> dict[str, float]:
        return {"loss": sum(weight * means[name] for name, weight in self.weights.items()), **means}

    def measure(self, rows: np.ndarray) -> dict[str, tuple[torch.Tensor, int]]:
        """At every prefix."""
        batch = self._make_batch(self.data, rows, self.rules)
        prefixes, leaves = batch.counts
        counts = {"branch_loss": leaves} | dict.fromkeys((*FIGURES, CRITIC_FIGURE), batch.num_drawn)
        return {name: (mean, counts.get(name, prefixes)) for name, mean in self._parts(batch).items()}

    def _parts(self, batch: Batch, generator: torch.Generator | None = None) -> dict[str, torch.Tensor]:
        beside = self.gradient, self.magnet, self.critic
        return losses(self.net, batch, *beside, dtype=self.dtype, generator=generator).named()

    def amount(self, rows: np.ndarray) -> int:
        """Tokens, those of branches included."""
        return sum(counts(self.data, rows))

    def rates(self, per_second: float) -> dict[str, float]:
        share = per_second * self.flops_per_token / self.matmul_rate
        return {"tokens_per_second": per_second, "matmul_share": share}
