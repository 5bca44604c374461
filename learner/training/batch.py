"""Batches of training: sequences on the device, and what the network learns after their prefixes.

Letters: ``B`` sequences, ``T`` prefixes of the longest, ``P`` prefixes that are learned.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from games.branches import Branches
from games.game import Game
from learner.model.rule_inputs import RuleInputs
from learner.model.shapes import lengthened
from learner.training.data import TrainingData
from learner.training.leaves import Leaves


@dataclass(frozen=True)
class Targets:
    """What the policy learns in a batch; each way of learning one adds its own."""

    weights: torch.Tensor | None = None
    """``float32[P]``: weights of the prefixes in the observation loss; None for 1 each."""
    tokens: torch.Tensor | None = None
    """``int64[P]``: the tokens that they predict; None for the next tokens."""


@dataclass(frozen=True)
class Batch:
    """``B`` sequences, columns cut to the longest. On a GPU it is padded, so that batches have few layouts: with
    prefixes behind the real ones that are the last of these again, and whose terms weigh 0."""

    tokens: torch.Tensor
    """``int64[B, T + 1]``, ``eos`` behind the end."""
    lengths: torch.Tensor
    """``int64[B]`` tokens of each sequence, ``eos`` included."""
    outcome: torch.Tensor
    """``int64[B]`` outcome labels, or with ``above`` the supports below the points."""
    prefixes: torch.Tensor
    """``int64[P]`` those that are learned, as indices into the flat ``[B * T]`` order, row after row: all of the
    sequences, or those at which the observer acts."""
    counts: torch.Tensor
    """``float32[2]``: prefixes and leaves of a step, other learners' included, at least 1 each: the divisors of mean
    losses."""
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
    real: torch.Tensor | None = None
    """``float32[P]``: 1 for real prefixes, 0 for padding; None without padding."""


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
    """``int64[P]``: those that are learned, likewise, ascending, padding included."""
    weights: np.ndarray | None
    """``float32[P]``: their weights so far; None for 1 each."""
    num_drawn: int
    """Actions with a probability in the whole batch."""
    padding: int = 0
    """How many of the ``prefixes`` are padding, the last ones."""

    @cached_property
    def views(self) -> np.ndarray:
        """``[B, T + 1]`` of all prefixes, the empty one first."""
        return prefixes_of(self.data, self.rows, self.width, self.game)

    def behind(self, columns_NL: np.ndarray) -> np.ndarray:
        """``[P]``: what ``columns_NL`` have for the tokens behind ``prefixes``."""
        first = self.data.first + 1
        return np.asarray(columns_NL[self.rows, first : first + self.width].ravel()[self.prefixes])

    @cached_property
    def last_token(self) -> np.ndarray:
        """``bool[V]``: the token behind the last of ``prefixes``, which alone is legal at padding; none without any."""
        return np.isin(np.arange(self.game.vocabulary.size), self.behind(self.data.tokens)[-1:])

    def filled_up(self, decisions: np.ndarray, fill: Any) -> torch.Tensor:
        """``decisions`` (``[D, ...]``), where the batch is padded with some that are ``fill`` behind them."""
        return torch.from_numpy(lengthened(decisions, fill) if self.padding else decisions)

    def own_weights(self) -> np.ndarray:
        """``float32[P]``: ``weights``; the caller may change them."""
        return np.ones(len(self.prefixes), np.float32) if self.weights is None else self.weights


def prefixes_of(data: TrainingData, rows: np.ndarray, width: int, game: Game) -> np.ndarray:
    """Views ``[B, width + 1]`` of the prefixes of sequences ``rows``, the one of ``data.first`` tokens first."""
    return game.prefixes(data.tokens[rows, : data.first + width])[:, data.first :]


def branches_of(branches: Branches, data: TrainingData, rows: np.ndarray) -> Branches:
    """The branches of the sequences ``rows``, with places from ``data.first`` on."""
    taken = branches.take(rows)
    return replace(taken, place=taken.place - data.first)
