"""The decisions of all shards on the device, and which of them train.

States and legal actions are kept as bits. A decision takes ``(F + V) / 8`` bytes and 32 more: 100 in Hearts, 5.2 KB a
deal. With branches it takes ``2 V`` bytes more, 11.5 KB a deal. Shards are read one after the other and no copy of all
is made, so that a million deals fit 24 GiB of memory.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from cluster.errors import UserError
from games.game import Game
from games.shards import ShardError, read_shard
from learner.bits import unpacked
from learner.config import LearnerConfig
from learner.q_network.architecture import state_features
from learner.q_network.decisions import NONE, decisions_of, returns
from learner.training.data import check_branches, check_training, held_out, iteration_of


@dataclass(frozen=True)
class QData:
    """``N`` decisions, on the device."""

    sizes: tuple[int, int]
    """``F``, ``V``"""
    features: torch.Tensor
    """``uint8[N, F]`` as bits (``learner.bits``)."""
    legal: torch.Tensor
    """``bool[N, V]`` as bits."""
    action: torch.Tensor
    """``int64[N]``"""
    reward: torch.Tensor
    """``float32[N]``"""
    following: torch.Tensor
    """``int64[N]``; fields as ``Decisions`` has them."""
    returns: torch.Tensor
    """``float32[N]``: discounted return of each."""
    branches: torch.Tensor
    """``float16[N, V]``, or ``[N, 0]`` without; as ``Decisions`` has it."""
    training: np.ndarray
    """``int64[...]`` rows to train on, on the host."""
    validation: np.ndarray
    """``int64[...]`` held-out rows: whole deals. May be empty."""
    num_new: int
    """Number of training rows from shards of the newest iteration."""

    def states(self, rows: torch.Tensor) -> torch.Tensor:
        """``uint8[B, F]``: the states of decisions ``int64[B]``."""
        return unpacked(self.features[rows], self.sizes[0])

    def choices(self, rows: torch.Tensor) -> torch.Tensor:
        """``bool[B, V]``: legal actions at decisions ``int64[B]``."""
        return unpacked(self.legal[rows], self.sizes[1]).bool()


def load_decisions(
    game: Game, shards: Sequence[str], learner: LearnerConfig, discount: float, device: torch.device
) -> QData:
    """Read and replay shards, with branches if ``branch_weight`` is above 0, and split off validation deals.
    ``ValueError`` naming unsuitable shards."""
    columns, total, new = dict[str, np.ndarray](), Counter[str](), Counter[int]()
    for shard in shards:
        try:
            sequences = read_shard(shard, game)
            iteration = iteration_of(shard)
        except ShardError as error:
            raise UserError(f"{error}; remove a damaged file, and the command that made it makes it anew") from error
        part = decisions_of(game, sequences, shard, branches=learner.loss.branch_weight > 0)
        found = {name: getattr(part, name) for name in ("features", "legal", "action", "reward", "branches")}
        found["following"] = np.where(part.following == NONE, NONE, part.following + total["decisions"])
        found |= {"returns": returns(part, discount), "held_out": held_out(part.deal_seed)}
        _append(columns, found)
        new[iteration] += int((~found["held_out"]).sum())
        branches = 0 if sequences.branches is None else len(sequences.branches.with_outcomes.place)
        total.update(decisions=len(part), sequences=len(sequences), branches=branches)
    if learner.loss.branch_weight:
        check_branches(total["branches"], f"loss.branch_weight={learner.loss.branch_weight}", "0", shards)
    validation = columns.pop("held_out")
    check_training(validation, shards)
    return QData(
        sizes=(state_features(game).size, game.vocabulary.size),
        **{name: torch.from_numpy(column).to(device) for name, column in columns.items()},
        training=np.flatnonzero(~validation),
        validation=np.flatnonzero(validation),
        num_new=new[max(new)],
    )


def _append(columns: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> None:
    """Append rows to columns in place: joining a list of parts would need twice the memory."""
    for name, rows in found.items():
        column = columns.setdefault(name, np.empty((0, *rows.shape[1:]), rows.dtype))
        before = len(column)
        column.resize((before + len(rows), *rows.shape[1:]), refcheck=False)
        column[before:] = rows


def targets(data: QData, rows: torch.Tensor, values_BV: torch.Tensor, discount: float) -> torch.Tensor:
    """``float32[B]``: r + discount * max over legal a' of q(s', a') for decisions ``rows``, where s' is the same seat's
    next decision; r alone behind its last.

    Args:
        values_BV: q(s', .) of each; anything where there is no next decision.
    """
    following = data.following[rows]
    best = values_BV.masked_fill(~data.choices(following.clamp(min=0)), -torch.inf).amax(1)
    return data.reward[rows] + discount * torch.where(following == NONE, 0.0, best)
