"""The decisions of all shards on the device, and which of them train.

A decision takes ``F + V`` bytes and a few more: half a kilobyte in Hearts, 28 KB a deal. With branches it takes ``2 V``
bytes more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from cluster.errors import UserError
from games.game import Game
from games.shards import ShardError, read_shard, shard_info
from learner.config import LearnerConfig
from learner.q_network.decisions import NONE, Decisions, decisions_of, returns
from learner.training.data import check_branches, check_training, held_out


@dataclass(frozen=True)
class QData:
    """``N`` decisions, on the device."""

    features: torch.Tensor
    """``uint8[N, F]``"""
    legal: torch.Tensor
    """``bool[N, V]``"""
    action: torch.Tensor
    """``int64[N]``"""
    reward: torch.Tensor
    """``float32[N]``"""
    following: torch.Tensor
    """``int64[N]``; fields as ``Decisions`` has them."""
    returns: torch.Tensor
    """``float32[N]``: what was then made of each, discounted."""
    branches: torch.Tensor
    """``float16[N, V]``, or ``[N, 0]`` without; as ``Decisions`` has it."""
    training: np.ndarray
    """``int64[...]`` rows to train on, on the host."""
    validation: np.ndarray
    """``int64[...]`` held-out rows: whole deals. May be empty."""
    num_new: int
    """Those to train on from shards of the newest iteration."""


def load_decisions(
    game: Game, shards: Sequence[str], learner: LearnerConfig, discount: float, device: torch.device
) -> QData:
    """Read and replay shards, with their branches if they weigh anything, and set validation deals apart.
    ``ValueError`` naming what cannot be trained on."""
    parts, iterations, num_sequences, num_branches = list[Decisions](), list[int](), 0, 0
    for shard in shards:
        try:
            sequences = read_shard(shard, game)
            iterations.append(int(shard_info(shard).provenance.get("iteration", 0)))
        except ShardError as error:
            raise UserError(f"{error}; remove a damaged file, and the command that made it makes it anew") from error
        parts.append(decisions_of(game, sequences, shard, branches=learner.branch_weight > 0))
        num_sequences += len(sequences)
        num_branches += len(sequences.branches.place) if sequences.branches else 0
    if num_sequences < learner.min_rows:
        asked = f"learner.min_rows={learner.min_rows}"
        raise ValueError(f"{asked}: the {len(shards)} shards hold only {num_sequences} sequences")
    if learner.branch_weight:
        check_branches(num_branches, learner.branch_weight, shards)
    decisions = Decisions.concat(parts)
    validation = held_out(decisions.deal_seed)
    check_training(validation, shards)
    new = np.repeat(np.array(iterations) == max(iterations), [len(part) for part in parts])
    return QData(
        features=torch.from_numpy(decisions.features).to(device),
        legal=torch.from_numpy(decisions.legal).to(device),
        action=torch.from_numpy(decisions.action).to(device),
        reward=torch.from_numpy(decisions.reward).to(device),
        following=torch.from_numpy(decisions.following).to(device),
        returns=torch.from_numpy(returns(decisions, discount)).to(device),
        branches=torch.from_numpy(decisions.branches).to(device),
        training=np.flatnonzero(~validation),
        validation=np.flatnonzero(validation),
        num_new=int((new & ~validation).sum()),
    )


def targets(data: QData, rows: torch.Tensor, values_BV: torch.Tensor, discount: float) -> torch.Tensor:
    """``float32[B]``: r + discount * max over legal a' of q(s', a') for decisions ``rows``, where s' is the same seat's
    next decision; r alone behind its last.

    Args:
        values_BV: q(s', .) of each; anything where there is no next decision.
    """
    following = data.following[rows]
    best = values_BV.masked_fill(~data.legal[following.clamp(min=0)], -torch.inf).amax(1)
    return data.reward[rows] + discount * torch.where(following == NONE, 0.0, best)
