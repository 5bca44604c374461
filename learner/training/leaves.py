"""Branches in training: leaves in the same pass as their sequences, like candidates in the query engine.

A *leaf* is one token after the first ``place`` tokens of a sequence: it has position ``place``, attends to these tokens
and itself, and trains only the outcome head. Leaves are packed behind the columns of their sequence. An action with
several outcomes is one leaf, and learns their mean.

Shape letters: ``B`` sequences, ``T`` columns of tokens, ``S`` most leaves of a sequence, ``Z`` leaves of the batch,
``Y`` their outcomes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from games.branches import Branches
from learner.model.rule_inputs import NO_INPUTS, RuleInputs, Rules
from learner.model.shapes import few_widths, lengthened


@dataclass(frozen=True)
class Leaves:
    """The leaves of a batch."""

    tokens: torch.Tensor
    """``int64[B, S]``, anything where a sequence has fewer."""
    places: torch.Tensor
    """``int64[B, S]``: tokens that each attends to besides itself, 0 where a sequence has fewer."""
    real: torch.Tensor
    """``int64[Z]`` those that are learned, as indices into the flat ``[B * S]`` order; row after row. Where the batch
    is padded (``learner.training.batch.Batch``), the last one is there again, with an outcome of weight 0."""
    outcome: torch.Tensor
    """``int64[Y]`` outcome labels, leaf after leaf."""
    inputs: RuleInputs
    """Types and features of all ``[B, S]``, and the outcomes that can follow the ``Z`` real ones."""
    leaf: torch.Tensor | None = None
    """``int64[Y]``: the leaf of each outcome, as an index into ``real``; None for one outcome each."""
    weights: torch.Tensor | None = None
    """``float32[Y]``: weights of the outcomes, which add up to 1 in a leaf; None for one outcome each."""

    def behind(
        self, tokens_BT: torch.Tensor, inputs: RuleInputs
    ) -> tuple[torch.Tensor, RuleInputs, torch.Tensor, torch.Tensor]:
        """Inputs of the trunk for sequences and their leaves in one pass.

        Returns:
            tokens ``[B, T + S]``, their types and features, positions ``int64[B, T + S]``, and the attention mask
            ``bool[B, T + S, T + S]``, every query's keys.
        """
        batch, length = tokens_BT.shape
        columns = torch.arange(length, device=tokens_BT.device)
        tokens = torch.cat([tokens_BT, self.tokens], dim=1)
        seen = torch.eye(tokens.shape[1], dtype=torch.bool, device=tokens.device).repeat(batch, 1, 1)
        seen[:, :length, :length] = columns <= columns[:, None]
        seen[:, length:, :length] = columns < self.places[..., None]
        both = zip(inputs[:2], self.inputs[:2], strict=True)
        joined = RuleInputs(
            *(None if one is None or other is None else torch.cat([one, other], dim=1) for one, other in both)
        )
        return tokens, joined, torch.cat([columns.expand(batch, -1), self.places], dim=1), seen


def make_leaves(branches: Branches, rules: Rules, views: np.ndarray | None, padded: bool = False) -> Leaves:
    """The leaves of a batch.

    Args:
        branches: of the ``B`` sequences.
        rules: what the network reads of the rules.
        views: ``[B, T + 1]`` of the prefixes of the sequences; may be None for a network without rule inputs.
        padded: whether the batch is padded.
    """
    first = branches.first
    row, place, token = branches.row[first], branches.place[first], branches.token[first]
    counts = np.bincount(row, minlength=len(branches.starts) - 1)
    most = int(counts.max(initial=0))
    shape = (len(counts), few_widths(most) if padded else most)
    real = row * shape[1] + np.arange(len(row)) - (np.cumsum(counts) - counts)[row]
    leaf = weights = None
    if padded or not first.all():
        leaf = np.cumsum(first) - 1
        weights = (1.0 / np.bincount(leaf)[leaf]).astype(np.float32)

    def spread(values: np.ndarray) -> torch.Tensor:
        """``[B, S, ...]``: what belongs to the real leaves, 0 for the others."""
        flat = np.zeros((shape[0] * shape[1], *values.shape[1:]), values.dtype)
        flat[real] = values
        return torch.from_numpy(flat.reshape(*shape, *values.shape[1:]))

    def filled_up(values: np.ndarray, fill: Any = None) -> torch.Tensor:
        """``values`` of leaves or outcomes; where the batch is padded the last again, or ``fill``, behind them."""
        return torch.from_numpy(lengthened(values, fill) if padded else values)

    inputs = NO_INPUTS
    if rules and views is not None:
        before = views[row, place]
        after = before.copy()
        rules.game.advance(after, token)
        inputs = RuleInputs(
            types=spread(np.stack([rules.next_types(before), rules.next_types(after)], -1)) if rules.types else None,
            features=spread(rules.encode(after)) if rules.features else None,
            outcomes=filled_up(rules.game.view_outcomes(after)) if rules.outcomes else None,
        )
    return Leaves(
        tokens=spread(token.astype(np.int64)),
        places=spread(place.astype(np.int64)),
        real=filled_up(real),
        outcome=filled_up(branches.outcome.astype(np.int64)),
        inputs=inputs,
        leaf=None if leaf is None else filled_up(leaf),
        weights=None if weights is None else filled_up(weights, 0),
    )
