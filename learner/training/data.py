"""The training set: all sequences of an iteration in memory, one byte a token (docs/learner.md)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cluster.errors import UserError
from cluster.files import storage
from games.branches import Branches
from games.game import Game
from games.rng import derive, mix
from games.shards import Sequences, ShardError, read_shards, shard_info

HELD_OUT = 100
"""One deal in this many is held out."""
_BLOCK = 65536
"""Sequences processed together."""


class ReadsShards:
    """What a policy (``learner.training.policies``) reads of shards: here nothing but the actions played."""

    reads: frozenset[str] = frozenset()
    """Columns of shards beside what every training reads: ``labels``, ``branches``, ``probabilities``."""

    def split(self, shards: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """The shards to learn from, and those that are too old."""
        return shards, ()

    def check(self, sequences: Sequences, shards: Sequence[str]) -> None:
        """``ValueError`` where shards lack what it reads."""
        return


@dataclass(frozen=True)
class TrainingData:
    """``N`` sequences of at most ``L`` tokens."""

    tokens: np.ndarray
    """``uint8[N, L]`` (``uint16`` for more than 256 tokens), ``eos`` behind the end."""
    outcome: np.ndarray
    """``int64[N]`` outcome labels, or with ``above`` the supports below the points."""
    lengths: np.ndarray
    """``int64[N]``: tokens of each sequence from ``first`` on, ``eos`` included."""
    longest: int
    """Tokens of the longest sequence of the whole set from ``first`` on, also where these are some of them."""
    training: np.ndarray
    """``int64[...]`` rows to train on."""
    validation: np.ndarray
    """``int64[...]`` held-out rows: whole deals, so that no seat of them is ever trained on. May be empty."""
    branches: Branches | None = None
    """Branches whose outcomes are trained on; None without any."""
    policy_branches: Branches | None = None
    """Branches that the policy learns from; None where it reads none, like the next two."""
    labels: np.ndarray | None = None
    """``[N, L]``, as ``games.shards.Sequences`` has them."""
    probabilities: np.ndarray | None = None
    """``float32[N, L]``, likewise."""
    above: np.ndarray | None = None
    """``float32[N]``: share of the next support (``OutcomeTable.between``); None where labels are exact."""
    stale: int = 0
    """Shards that were left out because they are too old."""
    first: int = 0
    """Place of the first token that the network reads (``Architecture.first``); all before it are left out."""

    @cached_property
    def num_leaves(self) -> np.ndarray:
        """``int64[N]``: actions with branches of each sequence whose outcomes are trained on."""
        if self.branches is None:
            return np.zeros(len(self.lengths), np.int64)
        return np.bincount(self.branches.row[self.branches.first], minlength=len(self.lengths))

    def with_tokens(self, rows: np.ndarray, tokens: np.ndarray) -> "TrainingData":
        """The sequences ``rows`` (``int64[B]``) alone, with other ``tokens`` (``[B, L]``)."""
        taken: dict[str, Any] = {}
        for name in ("outcome", "lengths", "branches", "policy_branches", "labels", "probabilities", "above"):
            part = getattr(self, name)
            taken[name] = part.take(rows) if isinstance(part, Branches) else None if part is None else part[rows]
        return replace(self, tokens=tokens, **taken)


def load_data(
    game: Game,
    shards: Sequence[str],
    policy: ReadsShards,
    branch_weight: float = 0.0,
    first: int = 0,
) -> TrainingData:
    """Read shards, with what the policy and ``learner.loss.branch_weight`` ask for, and split off validation deals.
    ``ValueError`` naming unsuitable shards or rows."""
    labels, probabilities = ("labels" in policy.reads), ("probabilities" in policy.reads)
    try:
        shards, stale = policy.split(shards)
        sequences = read_shards(shards, game, with_labels=labels, with_probabilities=probabilities)
    except ShardError as error:
        raise UserError(f"{error}; remove a damaged file, and the command that made it makes it anew") from error
    ended = sequences.branches.with_outcomes if branch_weight and sequences.branches else None
    if branch_weight:
        check_branches(0 if ended is None else len(ended.place), f"loss.branch_weight={branch_weight}", "0", shards)
    policy.check(sequences, shards)
    lengths = _lengths(sequences.tokens, game.vocabulary.eos) - first
    if (lengths < 2).any():
        row = int(np.argmax(lengths < 2))
        raise ValueError(f"sequence {row} of shards {shards[0]}..{shards[-1]} is no finished history of {game.name}")
    validation = held_out(sequences.deal_seed)
    check_training(validation, shards)
    outcome, above = sequences.outcome.astype(np.int64), None
    if sequences.points is not None:
        outcome, above = game.outcomes.between(sequences.points)
    return TrainingData(
        tokens=np.asarray(sequences.tokens),
        outcome=outcome,
        above=above,
        lengths=lengths,
        longest=int(lengths.max()),
        training=np.nonzero(~validation)[0],
        validation=np.nonzero(validation)[0],
        branches=ended,
        policy_branches=sequences.branches if "branches" in policy.reads else None,
        labels=sequences.labels,
        probabilities=sequences.probabilities,
        stale=len(stale),
        first=first,
    )


def iteration_of(shard: str) -> int:
    """The iteration whose games a shard holds; 0 where it does not say."""
    return int(shard_info(shard).provenance.get("iteration", 0))


def check_branches(count: int, setting: str, off: str, shards: Sequence[str]) -> None:
    """``ValueError`` for a ``setting`` of ``learner`` (``key=value``) without branches; ``off``: its value that reads
    none."""
    if not count:
        raise ValueError(
            f"learner.{setting}: shards {shards[0]}..{shards[-1]} hold no branches; make some with selfplay.branches "
            f"(branches of python -m selfplay.generate), or set it to {off}"
        )


def data_digest(shards: Sequence[str]) -> str:
    """16 hex digits over the bytes of all shards in their order; a shard's bytes depend on its content alone.
    ``ValueError`` naming a shard that is not there."""
    digest = hashlib.blake2b(digest_size=8)
    for shard in shards:
        try:
            digest.update(storage.read_bytes(shard))
        except FileNotFoundError as error:
            raise ValueError(f"{shard}: no such file") from error
    return digest.hexdigest()


def held_out(deal_seeds: np.ndarray) -> np.ndarray:
    """``bool[N]``: the rows whose deals are held out, by the deal's seed alone. So a deal that one iteration holds out
    has not trained the weights that it starts from."""
    keys = mix(np.uint64(derive(0, "held out")), deal_seeds)
    return np.asarray(keys % np.uint64(HELD_OUT) == 0)


def check_training(validation: np.ndarray, shards: Sequence[str]) -> None:
    """``ValueError`` where all rows are held out (``bool[N]``)."""
    if validation.all():
        raise ValueError(
            f"shards {shards[0]}..{shards[-1]} hold no deal to train on: one in {HELD_OUT} is held out, and these are; "
            "add deals"
        )


def _lengths(tokens: np.ndarray, eos: int) -> np.ndarray:
    """``int64[N]``: tokens up to and including the first ``eos``; 0 where there is none."""
    lengths = np.zeros(len(tokens), np.int64)
    for first in range(0, len(tokens), _BLOCK):  # a mask of all tokens at once would be as large as they are
        ends = tokens[first : first + _BLOCK] == eos
        lengths[first : first + _BLOCK] = np.where(ends.any(1), ends.argmax(1) + 1, 0)
    return lengths
