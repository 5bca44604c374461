"""Objective of the transformer: next token and outcome of every prefix (paper 001, Table 6)."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch

from cluster.fields import flat
from games.game import Game
from games.rng import derive, derive_many
from learner.config import FREE_LEARNER_KEYS, PolicyConfig
from learner.model.network import PolicyValueNet
from learner.model.rule_inputs import Rules
from learner.network_kind import TrainingSetup
from learner.training.batch import Batch
from learner.training.batches import Recipe, counts, make_batch
from learner.training.data import TrainingData, load_data
from learner.training.loss import losses
from learner.training.objective import Objective
from learner.training.policies.gradient import Gradient
from learner.training.policies.labels import Labels
from learner.training.policies.policy import Policy
from learner.training.policies.values import Values
from learner.training.prefetch import Prefetch
from learner.training.roofline import matmul_rate, training_flops
from learner.training.sending import Sent, is_copied, on_a_stream_of_its_own

POLICIES: Mapping[str, Callable[[Game, PolicyConfig, torch.device], Policy]] = {
    "played": lambda game, config, device: Policy(),
    "labels": lambda game, config, device: Labels(game, config),
    "values": lambda game, config, device: Values(game, config),
    "gradient": Gradient,
}
"""``learner.policy.kind`` -> what learns it; ``ValueError`` for settings that do not fit the game."""


class SequenceObjective(Objective):
    """Next tokens and outcomes of sequences and, with ``branch_weight``, outcomes of their branches; the policy learns
    by ``learner.policy``.

    Its losses are in nats: ``observation_loss``, ``outcome_loss``, with branches ``branch_loss``, and ``loss``, their
    weighted sum. ``matmul_share`` is training's FLOP rate divided by that of large matrix products.
    """

    rows_are = "sequences"
    net: PolicyValueNet

    def __init__(self, setup: TrainingSetup) -> None:
        super().__init__(setup)
        game, learner, self.rows_at_once = self.game, self.config, self.config.batch_size
        self.rules = Rules(game, self.arch)
        self.has_dropout = bool(self.arch.embd_pdrop or self.arch.resid_pdrop)
        loss, self.policy = learner.loss, POLICIES[learner.policy.kind](game, learner.policy, self.device)
        weights = {"observation_loss": loss.observation_weight, "outcome_loss": loss.outcome_weight}
        weights |= {"branch_loss": loss.branch_weight} if loss.branch_weight else {}
        self.weights = weights | dict.fromkeys(self.policy.figures, 0.0)  # shown, not followed
        self.names = tuple(self.weights)
        self.recipe = Recipe(
            self.rules,
            self.policy,
            loss.others_weight,
            loss.outcome_positions,
            actions_only=learner.targets == "actions",
            padded=is_copied(self.device),
        )
        if learner.augment and type(game).renamed is Game.renamed:
            raise ValueError(f"learner.augment=true: {game.name} has no tokens to rename; set it to false")
        self._batches = Prefetch[Sent[Batch]](learner.batch_threads, lambda: on_a_stream_of_its_own(self.device))
        self._policy_settings = self.policy.settings()
        self.data = load_data(game, setup.shards, self.policy, loss.branch_weight, self.arch.first)
        self.training, self.validation = self.data.training, self.data.validation
        self.figures = {"stale_shards": self.data.stale} if self.policy.figures else {}

    def settings(self) -> dict[str, Any]:
        learner: dict[str, Any] = {k: v for k, v in asdict(self.config).items() if k not in FREE_LEARNER_KEYS}
        learner["policy"] |= self._policy_settings
        return {f"model.{key}": value for key, value in asdict(self.arch).items()} | flat(learner, "learner.")

    def begin(self, net: PolicyValueNet) -> None:
        super().begin(net)
        self.policy.begin(net)
        length = float(self.data.lengths.mean()) - 1
        judged = min(length, self.config.loss.outcome_positions or length)
        leaves = float(self.data.num_leaves.mean())
        self.flops_per_token = training_flops(self.arch, length, (judged + leaves) / (length + leaves))
        self.matmul_rate = matmul_rate(self.device, self.dtype) * (self.group.size if self.group else 1)

    def batch(self, rows: np.ndarray, step: int) -> Sent[Batch]:
        group = self.group
        own = (group.rank,) if group and not group.first else ()  # dropout differs between learners
        self.generator.manual_seed(derive(self.seed, "step", step, *own))
        return self._batches.get(self._batch, step, self.num_steps)

    def losses(self, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        parts = self._parts(batch, self.generator)
        weighted = [weight * parts[name] for name, weight in self.weights.items()]
        return sum(weighted[1:], weighted[0]), parts

    def _batch(self, step: int) -> Sent[Batch]:
        """This learner's part of the batch of a step."""
        rows, data, group = self.rows(step), self.data, self.group
        part, seed = group.part(len(rows)) if group else None, derive(self.seed, "positions", step)
        if self.config.augment:
            data, rows = self._renamed(rows, step), np.arange(len(rows))
        return Sent(make_batch(data, rows, self.recipe, seed, part), self.device)

    def _renamed(self, rows: np.ndarray, step: int) -> TrainingData:
        """These rows alone, with tokens renamed for this step."""
        drawn = derive_many(derive(self.seed, "renamed", step), len(rows))
        return self.data.with_tokens(rows, self.game.renamed(self.data.tokens[rows], drawn))

    def line(self, means: Mapping[str, float]) -> dict[str, float]:
        return {"loss": sum(weight * means[name] for name, weight in self.weights.items()), **means}

    def measure(self, rows: np.ndarray) -> dict[str, tuple[torch.Tensor, int]]:
        """At every prefix."""
        batch = Sent(make_batch(self.data, rows, replace(self.recipe, num_judged=0)), self.device).arrived()
        prefixes, leaves = counts(self.data, rows, self.game if self.recipe.actions_only else None)
        drawn = 0 if self.data.probabilities is None else (self.data.probabilities[rows] > 0).sum()
        summands = {"branch_loss": leaves} | dict.fromkeys(self.policy.figures, int(drawn))
        return {name: (mean, summands.get(name, prefixes)) for name, mean in self._parts(batch).items()}

    def _parts(self, batch: Batch, generator: torch.Generator | None = None) -> dict[str, torch.Tensor]:
        return losses(self.net, batch, self.policy, dtype=self.dtype, generator=generator).named()

    def amount(self, rows: np.ndarray) -> int:
        """Tokens, those of branches included."""
        return sum(counts(self.data, rows))

    def rates(self, per_second: float) -> dict[str, float]:
        share = per_second * self.flops_per_token / self.matmul_rate
        return {"tokens_per_second": per_second, "matmul_share": share}
