"""Batches of training: sequences on the device, and what the network learns after their prefixes.

Letters: ``B`` sequences, ``T`` prefixes of the longest, ``P`` prefixes that are learned.
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch

from games.branches import Branches
from games.game import Game
from learner.model.rule_inputs import RuleInputs
from learner.training.data import TrainingData
from learner.training.leaves import Leaves


@dataclass(frozen=True)
class Targets:
    """What the policy learns in a batch; each way of learning one adds its own."""

    weights: torch.Tensor | None = None
    """``float32[P]``: weights of the prefixes in the observation loss; None for 1 each."""
    tokens: torch.Tensor | None = None
    """``int64[P]``: the tokens that they predict; None for the next tokens."""

    def to(self, device: torch.device) -> Self:
        """The same on a device."""
        parts: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: one.to(device) for name, one in parts.items() if isinstance(one, torch.Tensor)})


@dataclass(frozen=True)
class Batch:
    """``B`` sequences, on the device, columns cut to the longest."""

    tokens: torch.Tensor
    """``int64[B, T + 1]``, ``eos`` behind the end."""
    lengths: torch.Tensor
    """``int64[B]`` tokens of each sequence, ``eos`` included."""
    outcome: torch.Tensor
    """``int64[B]`` outcome labels, or with ``above`` the supports below the points."""
    prefixes: torch.Tensor
    """``int64[P]`` those that are learned, as indices into the flat ``[B * T]`` order, row after row: all that are no
    padding, or those at which the observer acts."""
    judged: torch.Tensor | None
    """``int64[B, k]`` prefixes of each sequence that train the outcome head; None for all."""
    inputs: RuleInputs
    """Types and features of every token (``[B, T]``), the tokens that can follow ``prefixes``, and the outcomes that
    can follow those that train the outcome head (without ``judged``: ``prefixes``)."""
    leaves: Leaves | None = None
    """Branches of the sequences; None where they are not trained on."""
    policy: Targets = Targets()
    above: torch.Tensor | None = None
    """``float32[B]``: share of the next support in the outcome; None where labels are exact."""
    whole: tuple[int, int] | None = None
    """Prefixes and leaves of the whole batch, if this is one learner's part of it; else None."""

    @property
    def counts(self) -> tuple[int, int]:
        """Prefixes and leaves of a step, other learners' included: the divisors of mean losses."""
        return self.whole or (max(len(self.prefixes), 1), 0 if self.leaves is None else len(self.leaves.real))


@dataclass
class Learned:
    """The prefixes that a batch learns, on the host; a policy makes their targets."""

    game: Game
    data: TrainingData
    rows: np.ndarray
    """``int64[B]``: the sequences."""
    width: int
    """``T``"""
    every: np.ndarray
    """``int64[...]``: all prefixes that are no padding, as indices into the flat ``[B * T]`` order."""
    prefixes: np.ndarray
    """``int64[P]``: those that are learned, likewise."""
    weights: np.ndarray | None
    """``float32[P]``: their weights so far; None for 1 each."""
    num_drawn: int
    """Actions with a probability in the whole batch."""

    @cached_property
    def views(self) -> np.ndarray:
        """``[B, T + 1]`` of all prefixes, the empty one first."""
        return prefixes_of(self.data, self.rows, self.width, self.game)

    def behind(self, columns_NL: np.ndarray) -> np.ndarray:
        """``[P]``: what ``columns_NL`` have for the tokens behind ``prefixes``."""
        first = self.data.first + 1
        return np.asarray(columns_NL[self.rows, first : first + self.width].ravel()[self.prefixes])

    def own_weights(self) -> np.ndarray:
        """``float32[P]``: ``weights``; the caller may change them."""
        return np.ones(len(self.prefixes), np.float32) if self.weights is None else self.weights


def prefixes_of(data: TrainingData, rows: np.ndarray, width: int, game: Game) -> np.ndarray:
    """Views ``[B, width + 1]`` of the prefixes of sequences ``rows``, the one of ``data.first`` tokens first."""
    return game.prefixes(data.host_tokens[rows, : data.first + width])[:, data.first :]


def branches_of(branches: Branches, data: TrainingData, rows: np.ndarray) -> Branches:
    """The branches of the sequences ``rows``, with places from ``data.first`` on."""
    taken = branches.take(rows)
    return replace(taken, place=taken.place - data.first)
