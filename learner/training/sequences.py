"""Objective of the transformer: next token and outcome of every prefix (paper 001, Table 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cluster.fields import flat
from games.game import Game
from games.rng import derive, derive_many
from learner.config import FREE_LEARNER_KEYS, LearnerConfig, TransformerConfig
from learner.model.architecture import architecture
from learner.model.checkpoint import load_weights
from learner.model.network import PolicyValueNet, initialise
from learner.model.outcome_init import start_outcome_head
from learner.model.rule_inputs import Rules
from learner.training.batch import Batch
from learner.training.batches import Recipe, counts, make_batch
from learner.training.data import TrainingData, epoch_order, load_data
from learner.training.loss import losses
from learner.training.objective import Objective
from learner.training.parallel import Group
from learner.training.policies.kinds import policy_of
from learner.training.prefetch import Prefetch
from learner.training.roofline import matmul_rate, training_flops


class SequenceObjective(Objective):
    """Next tokens and outcomes of sequences and, with ``branch_weight``, outcomes of their branches; the policy learns
    by ``learner.policy``.

    Its losses are in nats: ``observation_loss``, ``outcome_loss``, with branches ``branch_loss``, and ``loss``, their
    weighted sum. ``matmul_share`` is training's FLOP rate divided by that of large matrix products.
    """

    rows_are, in_epochs = "sequences", True
    free_at_start = ("embd_pdrop", "resid_pdrop", "outcome_init", "initializer_range")
    net: PolicyValueNet
    data: TrainingData

    def __init__(
        self, game: Game, model: TransformerConfig, learner: LearnerConfig, seed: int, group: Group | None = None
    ) -> None:
        super().__init__(game, learner, seed, group)
        self.arch, self.rows_at_once = architecture(game, model), self.config.batch_size
        self.rules, self.generator = Rules(game, self.arch), torch.Generator(self.device)
        self.has_dropout = bool(self.arch.embd_pdrop or self.arch.resid_pdrop)
        loss, self.policy = learner.loss, policy_of(game, learner.policy, self.device)
        weights = {"observation_loss": loss.observation_weight, "outcome_loss": loss.outcome_weight}
        weights |= {"branch_loss": loss.branch_weight} if loss.branch_weight else {}
        self.weights = weights | dict.fromkeys(self.policy.figures, 0.0)  # shown, not followed
        self.names = tuple(self.weights)
        self.recipe = Recipe(
            self.rules, self.policy, loss.others_weight, loss.outcome_positions, learner.targets == "actions"
        )
        if learner.augment and type(game).renamed is Game.renamed:
            raise ValueError(f"learner.augment=true: {game.name} has no tokens to rename; set it to false")
        self._orders, self._batches = dict[int, np.ndarray](), Prefetch[Batch](self.config.batch_threads)

    def settings(self) -> dict[str, Any]:
        learner: dict[str, Any] = {k: v for k, v in asdict(self.config).items() if k not in FREE_LEARNER_KEYS}
        learner["policy"] |= self.policy.settings()
        return {f"model.{key}": value for key, value in asdict(self.arch).items()} | flat(learner, "learner.")

    def load(self, shards: Sequence[str]) -> None:
        branches, first = self.config.loss.branch_weight, self.arch.first
        self.data = load_data(self.game, shards, self.device, self.policy, branches, first)
        self.figures = {"stale_shards": self.data.stale} if self.policy.figures else {}
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
        self.policy.begin()
        length = float(self.data.lengths.mean()) - 1
        judged = min(length, self.config.loss.outcome_positions or length)
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
        return make_batch(data, rows, self.recipe, seed, part)

    def _renamed(self, rows: np.ndarray, step: int) -> TrainingData:
        """These rows alone, with tokens renamed for this step."""
        drawn = derive_many(derive(self.seed, "renamed", step), len(rows))
        return self.data.with_tokens(rows, self.game.renamed(self.data.host_tokens[rows], drawn))

    def line(self, means: Mapping[str, float]) -> dict[str, float]:
        return {"loss": sum(weight * means[name] for name, weight in self.weights.items()), **means}

    def measure(self, rows: np.ndarray) -> dict[str, tuple[torch.Tensor, int]]:
        """At every prefix."""
        batch = make_batch(self.data, rows, replace(self.recipe, num_judged=0))
        prefixes, leaves = batch.counts
        drawn = 0 if self.data.columns.probabilities is None else (self.data.columns.probabilities[rows] > 0).sum()
        counts = {"branch_loss": leaves} | dict.fromkeys(self.policy.figures, int(drawn))
        return {name: (mean, counts.get(name, prefixes)) for name, mean in self._parts(batch).items()}

    def _parts(self, batch: Batch, generator: torch.Generator | None = None) -> dict[str, torch.Tensor]:
        return losses(self.net, batch, self.policy, dtype=self.dtype, generator=generator).named()

    def amount(self, rows: np.ndarray) -> int:
        """Tokens, those of branches included."""
        return sum(counts(self.data, rows))

    def rates(self, per_second: float) -> dict[str, float]:
        share = per_second * self.flops_per_token / self.matmul_rate
        return {"tokens_per_second": per_second, "matmul_share": share}
