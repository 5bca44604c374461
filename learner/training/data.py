"""The training set: all sequences of an iteration resident on the device, one byte a token (docs/learner.md)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from cluster.errors import UserError
from cluster.files import storage
from games.branches import Branches
from games.game import Game
from games.rng import derive, mix
from games.shards import Sequences, ShardError, read_shards, shard_info
from learner.config import OF_BRANCHES
from learner.training.critic import drawn_states
from learner.training.policy_gradient import split_stale

HELD_OUT = 100
"""One deal in this many is held out."""
_BLOCK = 65536
"""Sequences processed together."""


@dataclass(frozen=True)
class TrainingData:
    """``N`` sequences of at most ``L`` tokens."""

    tokens: torch.Tensor
    """``uint8[N, L - first]`` (``int16`` for more than 256 tokens), from ``first`` on, ``eos`` behind the end."""
    outcome: torch.Tensor
    """``int64[N]`` outcome labels, or with ``above`` the supports below the points."""
    host_tokens: np.ndarray
    """All tokens on the host; on a CPU the same memory, unless ``first`` is above 0."""
    lengths: np.ndarray
    """``int64[N]`` on the host: tokens of each sequence from ``first`` on, ``eos`` included."""
    training: np.ndarray
    """``int64[...]`` rows to train on."""
    validation: np.ndarray
    """``int64[...]`` held-out rows: whole deals, so that no seat of them is ever trained on. May be empty."""
    branches: Branches | None = None
    """Of all sequences, on the host; None where their outcomes are not trained on."""
    valued: Branches | None = None
    """The same where the policy learns from them; None elsewhere."""
    labels: np.ndarray | None = None
    """``[N, L]`` on the host, as ``games.shards.Sequences`` has them; None where they are not trained on."""
    probabilities: np.ndarray | None = None
    """``float32[N, L]`` on the host, as ``games.shards.Sequences`` has them; None where they are not read."""
    states: torch.Tensor | None = None
    """``uint8[D, F]`` as bits: the true states before all actions with a probability (``learner.training.critic``),
    sequence after sequence; None without a critic."""
    above: torch.Tensor | None = None
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

    @cached_property
    def drawn_before(self) -> np.ndarray:
        """``int64[N + 1]``: actions with a probability in all sequences before each, and in all."""
        assert self.probabilities is not None
        return np.append(0, np.cumsum((self.probabilities[:, self.first + 1 :] > 0).sum(axis=1)))

    def states_of(self, rows: np.ndarray) -> torch.Tensor | None:
        """``states`` of the sequences ``rows`` (``int64[B]``) alone."""
        if self.states is None:
            return None
        first, counts = self.drawn_before[rows], np.diff(self.drawn_before)[rows]
        index = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
        return self.states.index_select(0, torch.from_numpy(index).to(self.states.device))

    def with_tokens(self, rows: np.ndarray, tokens: np.ndarray) -> "TrainingData":
        """The sequences ``rows`` (``int64[B]``) alone, with other ``tokens`` (``[B, L]``)."""
        index, narrow = torch.from_numpy(rows).to(self.outcome.device), np.ascontiguousarray(tokens[:, self.first :])
        return replace(
            self,
            tokens=torch.from_numpy(narrow).to(self.tokens.device),
            outcome=self.outcome[index],
            host_tokens=tokens,
            lengths=self.lengths[rows],
            branches=None if self.branches is None else self.branches.take(rows),
            valued=None if self.valued is None else self.valued.take(rows),
            labels=None if self.labels is None else self.labels[rows],
            probabilities=None if self.probabilities is None else self.probabilities[rows],
            above=None if self.above is None else self.above[index],
        )


def load_data(
    game: Game,
    shards: Sequence[str],
    min_rows: int,
    device: torch.device,
    branch_weight: float = 0.0,
    label_weight: float = 0.0,
    policy_targets: str = "none",
    max_staleness: int = 0,
    critic_width: int = 0,
    first: int = 0,
) -> TrainingData:
    """Read shards, with what the settings of ``learner`` ask for, and split off validation deals. ``ValueError`` naming
    unsuitable shards or rows."""
    gradient, stale = policy_targets == "gradient", list[str]()
    try:
        if gradient:
            shards, stale = split_stale([(shard, iteration_of(shard)) for shard in shards], max_staleness)
        sequences = read_shards(shards, game, with_labels=label_weight > 0, with_probabilities=gradient)
    except ShardError as error:
        raise UserError(f"{error}; remove a damaged file, and the command that made it makes it anew") from error
    if len(sequences) < min_rows:
        raise ValueError(f"learner.min_rows={min_rows}: the {len(shards)} shards hold only {len(sequences)} sequences")
    ended = sequences.branches.with_outcomes if branch_weight and sequences.branches else None
    if branch_weight:
        check_branches(0 if ended is None else len(ended.place), f"branch_weight={branch_weight}", "0", shards)
    check_policy(sequences, shards, policy_targets)
    if label_weight:
        check_labels(sequences, label_weight, shards, game.vocabulary.eos)
    states = drawn_states(game, shards, critic_width, first) if gradient and critic_width else None
    lengths = _lengths(sequences.tokens, game.vocabulary.eos) - first
    if (lengths < 2).any():
        row = int(np.argmax(lengths < 2))
        raise ValueError(f"sequence {row} of shards {shards[0]}..{shards[-1]} is no finished history of {game.name}")
    validation = held_out(sequences.deal_seed)
    check_training(validation, shards)
    outcome, above = sequences.outcome.astype(np.int64), None
    if sequences.points is not None:
        outcome, above = game.outcomes.between(sequences.points)
    narrow = np.asarray(sequences.tokens) if sequences.tokens.dtype == np.uint8 else sequences.tokens.view(np.int16)
    data = TrainingData(
        tokens=torch.from_numpy(np.ascontiguousarray(narrow[:, first:])).to(device),
        host_tokens=narrow,
        outcome=torch.from_numpy(outcome).to(device),
        above=sent(above, device),
        lengths=lengths,
        training=np.nonzero(~validation)[0],
        validation=np.nonzero(validation)[0],
        branches=ended,
        valued=sequences.branches if policy_targets in OF_BRANCHES else None,
        labels=sequences.labels,
        probabilities=sequences.probabilities,
        states=sent(states, device),
        stale=len(stale),
        first=first,
    )
    assert states is None or len(states) == data.drawn_before[-1]
    return data


def check_policy(sequences: Sequences, shards: Sequence[str], targets: str) -> None:
    """``ValueError`` where ``shards`` lack what ``learner.policy_targets=targets`` reads."""
    if targets in OF_BRANCHES:
        num_branches = 0 if sequences.branches is None else len(sequences.branches.place)
        check_branches(num_branches, f"policy_targets={targets}", "none", shards)
    if targets == "gradient" and (sequences.probabilities is None or not sequences.probabilities.any()):
        raise ValueError(
            f"learner.policy_targets=gradient: shards {shards[0]}..{shards[-1]} hold no probabilities of the actions "
            "played; make some with selfplay.probabilities=true (probabilities=true of python -m selfplay.generate), "
            "or set it to none"
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


def check_labels(sequences: Sequences, label_weight: float, shards: Sequence[str], eos: int) -> None:
    """``ValueError`` where there are no labels to train on, or those of several players."""
    if sequences.labels is None or (sequences.labels == eos).all():
        raise ValueError(
            f"learner.label_weight={label_weight}: shards {shards[0]}..{shards[-1]} hold no labels; make some with "
            "selfplay.labels (labels of python -m selfplay.generate) or kibitz label, or set it to 0"
        )
    by = {shard_info(shard).provenance.get("labels", ""): shard for shard in shards}
    by.pop("", None)
    if len(by) > 1:
        found = " and ".join(f"{player} ({shard})" for player, shard in by.items())
        raise ValueError(f"learner.label_weight={label_weight}: labels of one player are learned, not of {found}")


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


def epoch_order(data: TrainingData, seed: int, epoch: int) -> np.ndarray:
    """``int64[...]``: the training rows in the order of one epoch, a function of seed and epoch alone."""
    return np.random.default_rng(derive(seed, "epoch", epoch)).permutation(data.training)


def _lengths(tokens: np.ndarray, eos: int) -> np.ndarray:
    """``int64[N]``: tokens up to and including the first ``eos``; 0 where there is none."""
    lengths = np.zeros(len(tokens), np.int64)
    for first in range(0, len(tokens), _BLOCK):  # a mask of all tokens at once would be as large as they are
        ends = tokens[first : first + _BLOCK] == eos
        lengths[first : first + _BLOCK] = np.where(ends.any(1), ends.argmax(1) + 1, 0)
    return lengths


def sent(array: np.ndarray | None, device: torch.device) -> torch.Tensor | None:
    """The array on the device."""
    return None if array is None else torch.from_numpy(array).to(device)
