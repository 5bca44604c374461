"""The loss of paper 001, section 9.1: cross-entropy of the next token and of the outcome, padding masked.

A sequence of ``n`` tokens (``eos`` included) has ``n - 1`` prefixes to learn from: each predicts the token behind it,
up to and including ``eos``, and the outcome of the deal. Both means run over all prefixes of the batch. Where a batch
is one learner's part of a larger one, they are its share of the means over that: the parts' losses add up to it.

With ``outcome_positions`` the outcome head runs at a few prefixes of each sequence, drawn so that the loss and its
gradient stay unbiased (docs/learner.md). With masks both are over what can still come. With ``learner.targets=actions``
both means run over the prefixes at which the observer acts.

Beyond the paper, branches (``learner.training.leaves``) train the outcome head too: a third mean, over leaves. Where
the policy learns from their values, or from what its own actions led to, other terms replace cross-entropies
(``learner.training.policy_targets``, ``learner.training.policy_gradient``).

Shape letters: ``B`` sequences, ``T`` prefixes of the longest, ``Z`` leaves, ``K`` outcome labels, ``E`` n_embd.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F

from learner.model.network import PolicyValueNet
from learner.training.batches import Batch
from learner.training.critic import Critic
from learner.training.leaves import Leaves
from learner.training.policy_gradient import CRITIC_FIGURE, FIGURES, PolicyGradient, Terms


class Losses(NamedTuple):
    """``float32[]`` each, in nats."""

    observation: torch.Tensor
    """Mean cross-entropy of the next token, or term of the policy's, times its weight in the batch."""
    outcome: torch.Tensor
    """Mean cross-entropy of the outcome label, or its unbiased estimate."""
    branch: torch.Tensor | None = None
    """Mean cross-entropy of the outcome label behind branches, 0 where a batch has none; None without them."""
    terms: Terms | None = None
    """Of a policy gradient's decisions."""
    num_drawn: int = 0
    """These decisions in the whole batch."""

    def named(self) -> dict[str, torch.Tensor]:
        """By the names that metrics have."""
        parts = {"observation_loss": self.observation, "outcome_loss": self.outcome}
        if self.branch is not None:
            parts["branch_loss"] = self.branch
        if self.terms is not None:
            each = {name: getattr(self.terms, name) for name in FIGURES}
            each |= {} if self.terms.errors is None else {CRITIC_FIGURE: self.terms.errors}
            parts |= {name: figures.sum() / max(self.num_drawn, 1) for name, figures in each.items()}
        return parts


def losses(
    net: PolicyValueNet,
    batch: Batch,
    gradient: PolicyGradient | None = None,
    magnet: PolicyValueNet | None = None,
    critic: Critic | None = None,
    *,
    dtype: torch.dtype = torch.float32,
    generator: torch.Generator | None = None,
) -> Losses:
    """The losses of a batch.

    Args:
        net: the network.
        batch: sequences of at least 2 tokens.
        gradient: where the batch has drawn decisions.
        magnet: its magnet, if it has one.
        critic: its critic, if it has one; the decisions then have states.
        dtype: of the matrix products; cross-entropies are float32 always.
        generator: where dropout draws from; None for no dropout.
    """
    width, inputs, leaves, branch = batch.tokens.shape[1] - 1, batch.inputs, batch.leaves, None
    num_prefixes, num_leaves = batch.counts
    if leaves is None:
        hidden = net.hidden(batch.tokens[:, :-1], dtype, generator, inputs).flatten(0, 1)
    else:
        tokens, both, positions, seen = leaves.behind(batch.tokens[:, :-1], inputs)
        packed = net.hidden(tokens, dtype, generator, both, positions, seen)
        hidden, behind = packed[:, :width].flatten(0, 1), packed[:, width:].flatten(0, 1)
        branch = _branch_loss(net, behind.index_select(0, leaves.real), leaves, dtype) / max(num_leaves, 1)
    prefixes = hidden.index_select(0, batch.prefixes)
    targets = batch.tokens[:, 1:].flatten()[batch.prefixes] if batch.targets is None else batch.targets
    logits = net.next_token_logits(prefixes, dtype, inputs).float()
    each = F.cross_entropy(logits, targets, reduction="none")
    if batch.policy:
        at = batch.policy.at
        each = each.index_copy(0, at, batch.policy.losses(logits.index_select(0, at)))
    terms = outcomes = None
    if batch.drawn and gradient:
        at, outcomes = batch.drawn.at, net.outcome_logits(prefixes, dtype, inputs).float()
        theirs = None if magnet is None else _magnet_logits(magnet, batch, at, dtype)
        given = logits.index_select(0, at), outcomes.index_select(0, at)
        told = None if critic is None or batch.drawn.states is None else critic.corrections(batch.drawn.states, dtype)
        terms = gradient.terms(batch.drawn, *given, batch.outcome, theirs, told)
        each = each.index_copy(0, at, terms.loss)
    observation = (each if batch.weights is None else each * batch.weights).sum() / num_prefixes
    if batch.judged is None:
        outcomes = net.outcome_logits(prefixes, dtype, inputs).float() if outcomes is None else outcomes
        each = _outcome_losses(outcomes, batch, batch.prefixes // width)
        return Losses(observation, each.sum() / num_prefixes, branch, terms, batch.num_drawn)
    count, k = batch.judged.shape
    rows = torch.arange(count, device=hidden.device)
    chosen = hidden.index_select(0, (rows[:, None] * width + batch.judged).flatten())
    each = _outcome_losses(net.outcome_logits(chosen, dtype, inputs).float(), batch, rows.repeat_interleave(k))
    shares = (batch.lengths - 1).repeat_interleave(k) / (k * num_prefixes)
    return Losses(observation, (each * shares).sum(), branch)


@torch.no_grad()
def _magnet_logits(magnet: PolicyValueNet, batch: Batch, at: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """``float32[D, V]``: next-token logits of a frozen network behind some of the ``prefixes``."""
    hidden = magnet.hidden(batch.tokens[:, :-1], dtype, None, batch.inputs).flatten(0, 1)
    return magnet.next_token_logits(hidden[batch.prefixes[at]], dtype, batch.inputs.at(at)).float()


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
    """Sum over leaves, of a leaf with several outcomes the mean over them: the cross-entropy of their shares."""
    logits_ZK = net.outcome_logits(hidden_ZE, dtype, leaves.inputs).float()
    if leaves.weights is None:
        return F.cross_entropy(logits_ZK, leaves.outcome, reduction="sum")
    # Not of dense shares: those of impossible outcomes would be 0 times infinity.
    logs = F.log_softmax(logits_ZK, dim=-1)[leaves.leaf, leaves.outcome]
    return -(logs * leaves.weights).sum()
