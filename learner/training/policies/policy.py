"""What the policy learns at the observer's decisions: one object for each ``learner.policy.kind``.

An object owns its settings, says which columns of shards it reads and refuses shards that lack them, makes the targets
of a batch, and turns the network's answers into losses. This one is ``played``: the action played, as any other token
(paper 001).
"""

from typing import Any

import torch
import torch.nn.functional as F

from learner.model.network import PolicyValueNet
from learner.training.batch import Batch, Learned, Targets
from learner.training.data import ReadsShards


class Policy(ReadsShards):
    """``learner.policy.kind=played``, and the base of the others."""

    figures: tuple[str, ...] = ()
    """Names of what ``losses`` shows beside the loss: means over the decisions drawn from a policy."""
    needs_outcomes = False
    """Whether ``losses`` is given the outcome logits of all prefixes that are learned."""

    def settings(self) -> dict[str, Any]:
        """What decides the result and differs from the configuration, by its key below ``learner.policy``."""
        return {}

    def begin(self, net: PolicyValueNet) -> None:
        """Load what it needs beside the network in training. ``UserError`` where that does not fit it."""
        return

    def targets(self, learned: Learned) -> Targets:
        """The targets of a batch."""
        return Targets(None if learned.weights is None else torch.from_numpy(learned.weights))

    def losses(
        self, batch: Batch, logits_PV: torch.Tensor, outcomes_PK: torch.Tensor | None, dtype: torch.dtype
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """``float32[P]``: the term of every prefix, and ``figures``, ``float32[]`` each.

        Args:
            logits_PV: ``float32`` next-token logits, minus infinity for impossible tokens.
            outcomes_PK: ``float32`` outcome logits, with ``needs_outcomes``.
            dtype: of the matrix products of other networks.
        """
        wanted = batch.policy.tokens
        if wanted is None:
            wanted = batch.tokens[:, 1:].flatten()[batch.prefixes]
        return F.cross_entropy(logits_PV, wanted, reduction="none"), {}


PLAYED = Policy()
