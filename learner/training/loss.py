"""The loss of paper 001, section 9.1: cross-entropy of the next token and of the outcome, padding masked.

A sequence of ``n`` tokens (``eos`` included) has ``n - 1`` prefixes to learn from: each predicts the token behind it,
up to and including ``eos``, and the outcome of the deal. Both means run over all prefixes of the batch. Where a batch
is one learner's part of a larger one, they are its share of the means over that: the parts' losses add up to it.

With ``learner.loss.outcome_positions`` the outcome head runs at a few prefixes of each sequence, drawn so that the loss
and its gradient stay unbiased (docs/learner.md). With masks both are over what can still come. With
``learner.targets=actions`` both means run over the prefixes at which the observer acts.

Beyond the paper, branches (``learner.training.leaves``) train the outcome head too: a third mean, over leaves. Where
the policy learns something else than the actions played, its terms replace cross-entropies
(``learner.training.policies``).

Shape letters: ``B`` sequences, ``T`` prefixes of the longest, ``Z`` leaves, ``K`` outcome labels, ``E`` n_embd.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
import torch.nn.functional as F

from learner.model.network import PolicyValueNet
from learner.training.batch import Batch
from learner.training.leaves import Leaves
from learner.training.policies.policy import PLAYED, Policy


class Losses(NamedTuple):
    """``float32[]`` each, in nats."""

    observation: torch.Tensor
    """Mean cross-entropy of the next token, or term of the policy's, times its weight in the batch."""
    outcome: torch.Tensor
    """Mean cross-entropy of the outcome label, or its unbiased estimate."""
    branch: torch.Tensor | None = None
    """Mean cross-entropy of the outcome label behind branches, 0 where a batch has none; None without them."""
    figures: Mapping[str, torch.Tensor] = {}
    """What the policy shows beside its terms (``Policy.figures``)."""

    def named(self) -> dict[str, torch.Tensor]:
        """Figures for the metrics, by name."""
        branch = {} if self.branch is None else {"branch_loss": self.branch}
        return {"observation_loss": self.observation, "outcome_loss": self.outcome, **branch, **self.figures}


def losses(
    net: PolicyValueNet,
    batch: Batch,
    policy: Policy = PLAYED,
    *,
    dtype: torch.dtype = torch.float32,
    generator: torch.Generator | None = None,
) -> Losses:
    """The losses of a batch.

    Args:
        net: the network.
        batch: sequences of at least 2 tokens.
        policy: what made the batch's targets.
        dtype: of the matrix products; cross-entropies are float32 always.
        generator: where dropout draws from; None for no dropout.
    """
    width, inputs, leaves, branch = batch.tokens.shape[1] - 1, batch.inputs, batch.leaves, None
    num_prefixes, num_leaves = batch.counts.unbind()
    if leaves is None:
        hidden = net.hidden(batch.tokens[:, :-1], dtype, generator, inputs).flatten(0, 1)
    else:
        tokens, both, positions, seen = leaves.behind(batch.tokens[:, :-1], inputs)
        packed = net.hidden(tokens, dtype, generator, both, positions, seen)
        hidden, behind = packed[:, :width].flatten(0, 1), packed[:, width:].flatten(0, 1)
        branch = _branch_loss(net, behind.index_select(0, leaves.real), leaves, dtype) / num_leaves
    prefixes = hidden.index_select(0, batch.prefixes)
    logits = net.next_token_logits(prefixes, dtype, inputs).float()
    everywhere = batch.judged is None or policy.needs_outcomes
    outcomes = net.outcome_logits(prefixes, dtype, inputs).float() if everywhere else None
    each, figures = policy.losses(batch, logits, outcomes, dtype)
    weights = batch.policy.weights
    observation = (each if weights is None else each * weights).sum() / num_prefixes
    if batch.judged is None:
        assert outcomes is not None
        each = _outcome_losses(outcomes, batch, batch.prefixes // width)
        each = each if batch.real is None else each * batch.real
        return Losses(observation, each.sum() / num_prefixes, branch, figures)
    count, k = batch.judged.shape
    rows = torch.arange(count, device=hidden.device)
    chosen = hidden.index_select(0, (rows[:, None] * width + batch.judged).flatten())
    each = _outcome_losses(net.outcome_logits(chosen, dtype, inputs).float(), batch, rows.repeat_interleave(k))
    shares = (batch.lengths - 1).repeat_interleave(k) / (k * num_prefixes)
    return Losses(observation, (each * shares).sum(), branch, figures)


def _outcome_losses(logits_NK: torch.Tensor, batch: Batch, rows_N: torch.Tensor) -> torch.Tensor:
    """``float32[N]``: cross-entropy of the outcomes of sequences ``rows_N``. Where labels are supports, a score between
    two of them is shared, so that the mean of what is predicted is the mean score."""
    labels = batch.outcome[rows_N]
    each = F.cross_entropy(logits_NK, labels, reduction="none")
    if batch.above is None:
        return each
    share = batch.above[rows_N]
    return (1 - share) * each + share * F.cross_entropy(logits_NK, labels + 1, reduction="none")


def _branch_loss(net: PolicyValueNet, hidden_ZE: torch.Tensor, leaves: Leaves, dtype: torch.dtype) -> torch.Tensor:
    """Sum of the cross-entropies of leaves; a leaf with several outcomes has the mean over them."""
    logits_ZK = net.outcome_logits(hidden_ZE, dtype, leaves.inputs).float()
    if leaves.weights is None:
        return F.cross_entropy(logits_ZK, leaves.outcome, reduction="sum")
    # Not of dense shares: those of impossible outcomes would be 0 times infinity.
    logs = F.log_softmax(logits_ZK, dim=-1)[leaves.leaf, leaves.outcome]
    return -(logs * leaves.weights).sum()
