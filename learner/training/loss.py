"""The loss of paper 001, section 9.1: cross-entropy of the next token and of the outcome, padding masked.

A sequence of ``n`` tokens (``eos`` included) has ``n - 1`` prefixes to learn from: each predicts the token behind it,
up to and including ``eos``, and the outcome of the deal. Both means run over all prefixes of the batch.

The outcome head has thousands of labels (2,234 in Hearts), so that running it at every prefix costs a small network
more than all its layers do. With ``outcome_positions = k`` it runs at ``k`` prefixes of each sequence: the ``n - 1``
prefixes, laid out as an interval, are cut into ``k`` equal strata and one point is drawn uniformly from each. Every
prefix then carries an expected weight of exactly one prefix, whatever ``n`` and ``k``, so the loss and its gradient
are unbiased; and as neighbouring prefixes look alike, strata vary less than independent draws.

Shape letters: ``B`` sequences, ``T`` prefixes of the longest, ``E`` n_embd.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F

from learner.model.network import PolicyValueNet


class Losses(NamedTuple):
    """``float32[]`` each, in nats."""

    observation: torch.Tensor
    """Mean cross-entropy of the next token."""
    outcome: torch.Tensor
    """Mean cross-entropy of the outcome label, or its unbiased estimate."""


def losses(
    net: PolicyValueNet,
    tokens: torch.Tensor,
    lengths: torch.Tensor,
    outcome: torch.Tensor,
    *,
    num_prefixes: int,
    outcome_positions: int = 0,
    dtype: torch.dtype = torch.float32,
    generator: torch.Generator | None = None,
    regularise: bool = False,
) -> Losses:
    """Both losses of a batch.

    Args:
        net: the network.
        tokens: ``int64[B, T + 1]``, ``eos`` behind the end; no column that is padding in every row.
        lengths: ``int64[B]`` tokens of each sequence, ``eos`` included, at least 2.
        outcome: ``int64[B]`` outcome labels.
        num_prefixes: sum of ``lengths - 1``, known to the host so that a GPU need not be waited for.
        outcome_positions: prefixes of each sequence that train the outcome head, 0 for all.
        dtype: of the matrix products; cross-entropies are float32 always.
        generator: where positions and dropout draw from; needed for either.
        regularise: whether dropout is on.
    """
    batch, width = tokens.shape
    hidden = net.hidden(tokens[:, :-1], dtype, generator if regularise else None)
    flat = hidden.flatten(0, 1)
    targets = tokens[:, 1:].flatten()
    real = _real_prefixes(lengths, width - 1, num_prefixes)
    prefixes = flat if real is None else flat.index_select(0, real)
    targets = targets if real is None else targets[real]
    observation = F.cross_entropy(net.next_token_logits(prefixes, dtype).float(), targets)
    if outcome_positions == 0:
        row = torch.arange(batch, device=tokens.device).repeat_interleave(lengths - 1, output_size=num_prefixes)
        return Losses(observation, F.cross_entropy(net.outcome_logits(prefixes, dtype).float(), outcome[row]))
    if generator is None:
        raise ValueError(f"outcome_positions={outcome_positions} draws positions and needs a generator")
    draws = torch.rand(batch, outcome_positions, generator=generator, device=tokens.device)
    positions = stratified_positions(draws, lengths)
    row_start = torch.arange(batch, device=tokens.device)[:, None] * (width - 1)
    chosen = flat.index_select(0, (row_start + positions).flatten())
    labels = outcome[:, None].expand(batch, outcome_positions).flatten()
    each = F.cross_entropy(net.outcome_logits(chosen, dtype).float(), labels, reduction="none")
    weights = (lengths - 1)[:, None].expand_as(positions).flatten() / (outcome_positions * num_prefixes)
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


def _real_prefixes(lengths: torch.Tensor, width: int, num_prefixes: int) -> torch.Tensor | None:
    """Indices of the prefixes that are no padding in the flat ``[B * T]`` order; None where all are real."""
    if num_prefixes == len(lengths) * width:
        return None
    row = torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths - 1, output_size=num_prefixes)
    before = torch.cumsum(lengths - 1, 0) - (lengths - 1)
    return row * width + torch.arange(num_prefixes, device=lengths.device) - before[row]
