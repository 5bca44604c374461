"""The loss of paper 001, section 9.1: cross-entropy of the next token and of the outcome, padding masked.

A sequence of ``n`` tokens (``eos`` included) has ``n - 1`` prefixes to learn from: each predicts the token behind it,
up to and including ``eos``, and the outcome of the deal. Both means run over all prefixes of the batch.

With ``outcome_positions`` the outcome head runs at a few prefixes of each sequence, drawn so that the loss and its
gradient stay unbiased (docs/learner.md).

Shape letters: ``B`` sequences, ``T`` prefixes of the longest, ``E`` n_embd.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F

from learner.model.network import PolicyValueNet
from learner.training.data import Batch


class Losses(NamedTuple):
    """``float32[]`` each, in nats."""

    observation: torch.Tensor
    """Mean cross-entropy of the next token."""
    outcome: torch.Tensor
    """Mean cross-entropy of the outcome label, or its unbiased estimate."""


def losses(
    net: PolicyValueNet,
    batch: Batch,
    *,
    outcome_positions: int = 0,
    dtype: torch.dtype = torch.float32,
    generator: torch.Generator | None = None,
) -> Losses:
    """Both losses of a batch.

    Args:
        net: the network.
        batch: sequences of at least 2 tokens.
        outcome_positions: prefixes of each sequence that train the outcome head, 0 for all.
        dtype: of the matrix products; cross-entropies are float32 always.
        generator: where dropout and positions draw from; None for no dropout, and then positions must be 0.
    """
    count, width = len(batch.tokens), batch.tokens.shape[1] - 1
    sequence = torch.arange(count, device=batch.tokens.device)
    hidden = net.hidden(batch.tokens[:, :-1], dtype, generator).flatten(0, 1)
    row, real = _real_prefixes(batch, sequence, width)
    prefixes, targets = hidden.index_select(0, real), batch.tokens[:, 1:].flatten()[real]
    observation = F.cross_entropy(net.next_token_logits(prefixes, dtype).float(), targets)
    if outcome_positions == 0:
        return Losses(observation, F.cross_entropy(net.outcome_logits(prefixes, dtype).float(), batch.outcome[row]))
    if generator is None:
        raise ValueError(f"outcome_positions={outcome_positions} draws positions and needs a generator")
    draws = torch.rand(count, outcome_positions, generator=generator, device=sequence.device)
    positions = stratified_positions(draws, batch.lengths)
    chosen = hidden.index_select(0, (sequence[:, None] * width + positions).flatten())
    labels = batch.outcome.repeat_interleave(outcome_positions)
    each = F.cross_entropy(net.outcome_logits(chosen, dtype).float(), labels, reduction="none")
    weights = (batch.lengths - 1).repeat_interleave(outcome_positions) / (outcome_positions * batch.num_prefixes)
    return Losses(observation, (each * weights).sum())


def stratified_positions(draws: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """``int64[B, k]``: one prefix from each of k equal strata of a sequence's prefixes.

    Args:
        draws: ``float32[B, k]`` uniform in [0, 1).
        lengths: ``int64[B]`` tokens of each sequence.

    Giving each drawn prefix the weight ``(length - 1) / k`` makes any weighted sum over them an unbiased estimate of
    the sum over all ``length - 1`` prefixes.
    """
    k = draws.shape[1]
    prefixes = (lengths - 1)[:, None]
    points = (torch.arange(k, device=draws.device) + draws) * (prefixes / k)
    return torch.minimum(points.long(), prefixes - 1)


def _real_prefixes(batch: Batch, sequence: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """``int64[num_prefixes]`` twice: the prefixes that are no padding, as rows of the batch and as indices into the
    flat ``[B * T]`` order."""
    counts = batch.lengths - 1
    row = sequence.repeat_interleave(counts, output_size=batch.num_prefixes)
    before = torch.cumsum(counts, 0) - counts
    return row, row * width + torch.arange(batch.num_prefixes, device=row.device) - before[row]
