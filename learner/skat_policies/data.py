"""The decisions of all shards by network, in memory as bits: 60 bytes each, and two indices.

Letters: ``N`` decisions of all networks, one network's behind another's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cluster.errors import UserError
from games.game import Game
from games.shards import Sequences, ShardError, read_shard
from games.skat.policies.decisions import Decisions, decisions_of, soloist_values
from games.skat.records.marks import is_partial
from learner.config import LearnerConfig
from learner.skat_policies.architecture import NETWORKS, VALUES
from learner.training.data import check_training, held_out

_BLOCK = 4096
"""Histories whose features are spread out at once."""


@dataclass(frozen=True)
class PolicyData:
    """``N`` decisions; those of network ``k`` are ``first[k]`` to ``first[k + 1]``."""

    first: np.ndarray
    """``int64[19]``"""
    bits: np.ndarray
    """``uint8[N, 49]``"""
    numbers: np.ndarray
    """``uint8[N, 4]``"""
    target: np.ndarray
    """``int16[N]``: the action taken."""
    value: np.ndarray
    """``float32[N]``: what the game brought the soloist; NaN where the network learns no values."""
    censored: np.ndarray
    """``bool[N]``: whether the action is a bound alone, the least that the limit can be."""
    training: np.ndarray
    """``int64[...]``: rows to train on."""
    validation: np.ndarray
    """``int64[...]``: held-out rows, whole deals."""

    def of(self, network: int, rows: np.ndarray) -> np.ndarray:
        """Those of ascending ``rows`` that are of a network."""
        low, high = np.searchsorted(rows, self.first[network : network + 2])
        return rows[low:high]

    def known(self, network: int, rows: np.ndarray) -> np.ndarray:
        """Those of them whose action is known."""
        own = self.of(network, rows)
        return own[~self.censored[own]]


def load_policies(
    game: Game, shards: Sequence[str], learner: LearnerConfig, value_label: str, survivors: bool = False
) -> PolicyData:
    """Read the decisions of shards, limits of ``survivors`` of duels too where asked for, and hold out deals.
    ``ValueError`` naming unsuitable shards, or a network with too few decisions."""
    parts: list[dict[str, np.ndarray]] = []
    validation = list[np.ndarray]()
    for shard in shards:
        try:
            found = read_shard(shard, game)
        except ShardError as error:
            raise UserError(f"{error}; remove a damaged file, and the command that made it makes it anew") from error
        parts.append(_of_shard(game, shard, found, value_label, survivors))
        validation.append(held_out(found.deal_seed))
    check_training(np.concatenate(validation), shards)
    network = np.concatenate([part["network"] for part in parts])
    order, counts = np.argsort(network, kind="stable"), np.bincount(network, minlength=len(NETWORKS))
    columns = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0] if name != "network"}
    apart = columns.pop("held_out")
    data = PolicyData(np.append(0, counts.cumsum()), training=np.flatnonzero(~apart), validation=np.flatnonzero(apart),
                      **columns)  # fmt: skip
    _check_counts(data, learner, shards)
    return data


def _check_counts(data: PolicyData, learner: LearnerConfig, shards: Sequence[str]) -> None:
    """``ValueError`` for a network that has fewer decisions than a batch, or none that is held out; bounds count
    for none. Games that broke off have no values: they are for training beside others."""
    for network, point in enumerate(NETWORKS):
        rows, apart = (len(data.known(network, some)) for some in (data.training, data.validation))
        if rows < learner.batch_size or not apart:
            raise ValueError(
                f"shards {shards[0]}..{shards[-1]}: the network {point.name} has {rows} decisions to learn from and "
                f"{apart} held out; learner.batch_size={learner.batch_size} and one are needed: add games, or make "
                "batches smaller (docs/skat_policies.md)"
            )


def _of_shard(game: Game, shard: str, sequences: Sequences, value_label: str, survivors: bool) -> dict[str, np.ndarray]:
    """The columns of a shard's decisions, values' again behind their policies'."""
    lengths = (np.asarray(sequences.tokens) != game.vocabulary.eos).sum(axis=1)
    values = soloist_values(game.outcomes.points[sequences.outcome, 0], value_label)
    values[[is_partial(name) for name in sequences.player]] = np.nan
    apart, parts = held_out(sequences.deal_seed), list[dict[str, np.ndarray]]()
    for start in range(0, len(sequences), _BLOCK):
        block = slice(start, start + _BLOCK)
        possible = game.consistent(game.views(sequences.tokens[block], lengths[block]))
        if not possible.all():
            raise ValueError(f"{shard}: row {start + int(np.argmin(possible))} is no history of {game.name}")
        found = decisions_of(sequences.tokens[block], lengths[block], survivors)
        row = found.row + start
        parts += _columns(found, values[row], apart[row])
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _columns(found: Decisions, values: np.ndarray, apart: np.ndarray) -> list[dict[str, np.ndarray]]:
    """Columns of some decisions, first for the policies, then for each network of values."""
    every = {
        "network": found.point,
        "bits": found.bits,
        "numbers": found.numbers,
        "target": found.label,
        "value": np.full(len(found), np.nan, np.float32),
        "censored": found.censored,
        "held_out": apart,
    }
    parts = [every]
    for network, point in VALUES.items():
        which = (found.point == point) & ~np.isnan(values)
        some = {name: column[which] for name, column in every.items()}
        parts.append(some | {"network": np.full(which.sum(), network, np.int8), "value": values[which]})
    return parts
