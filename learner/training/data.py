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
from learner.model.rule_inputs import NO_INPUTS, RuleInputs, Rules
from learner.training.leaves import Leaves, make_leaves
from learner.training.policy_targets import PolicyOperator, PolicyTargets
from learner.training.prefixes import action_weights, real_prefixes, rule_inputs, stratified_positions

HELD_OUT = 100
"""One deal in this many is held out."""
_BLOCK = 65536
"""Sequences processed together."""


@dataclass(frozen=True)
class TrainingData:
    """``N`` sequences of at most ``L`` tokens."""

    tokens: torch.Tensor
    """``uint8[N, L]`` (``int16`` for more than 256 tokens), ``eos`` behind the end."""
    outcome: torch.Tensor
    """``int64[N]`` outcome labels."""
    host_tokens: np.ndarray
    """The same tokens on the host; on a CPU the same memory."""
    lengths: np.ndarray
    """``int64[N]`` on the host: tokens of each sequence, ``eos`` included."""
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

    @cached_property
    def num_leaves(self) -> np.ndarray:
        """``int64[N]``: actions with branches of each sequence whose outcomes are trained on."""
        if self.branches is None:
            return np.zeros(len(self.lengths), np.int64)
        return np.bincount(self.branches.row[self.branches.first], minlength=len(self.lengths))


@dataclass(frozen=True)
class Batch:
    """``B`` sequences, on the device, columns cut to the longest."""

    tokens: torch.Tensor
    """``int64[B, T + 1]``, ``eos`` behind the end."""
    lengths: torch.Tensor
    """``int64[B]`` tokens of each sequence, ``eos`` included."""
    outcome: torch.Tensor
    """``int64[B]`` outcome labels."""
    prefixes: torch.Tensor
    """``int64[...]`` those that are no padding, as indices into the flat ``[B * T]`` order; row after row."""
    judged: torch.Tensor | None
    """``int64[B, k]`` prefixes of each sequence that train the outcome head; None for all."""
    inputs: RuleInputs
    """Types and features of every token (``[B, T]``), the tokens that can follow ``prefixes``, and the outcomes that
    can follow those that train the outcome head (without ``judged``: ``prefixes``)."""
    leaves: Leaves | None = None
    """Branches of the sequences; None where they are not trained on."""
    weights: torch.Tensor | None = None
    """``float32[...]``: of the tokens behind ``prefixes`` in the observation loss; None for 1 each."""
    targets: torch.Tensor | None = None
    """``int64[...]``: what ``prefixes`` predict where labels take the place of actions; None for the next tokens."""
    policy: PolicyTargets | None = None
    """What takes the place of both at decisions with branches; None where the policy does not learn from them."""
    whole: tuple[int, int] | None = None
    """Prefixes and leaves of the whole batch, if this is one learner's part of it; else None."""

    @property
    def num_prefixes(self) -> int:
        """Sum of ``lengths - 1``."""
        return len(self.prefixes)

    @property
    def counts(self) -> tuple[int, int]:
        """Prefixes and leaves of a step, other learners' included: the divisors of mean losses."""
        return self.whole or (self.num_prefixes, 0 if self.leaves is None else len(self.leaves.real))


def load_data(
    game: Game,
    shards: Sequence[str],
    min_rows: int,
    device: torch.device,
    branch_weight: float = 0.0,
    label_weight: float = 0.0,
    policy_targets: str = "none",
) -> TrainingData:
    """Read shards, with branches and labels where the settings of ``learner`` ask for them, and split off validation
    deals. ``ValueError`` naming unsuitable shards or rows."""
    try:
        sequences = read_shards(shards, game, with_labels=label_weight > 0)
    except ShardError as error:
        raise UserError(f"{error}; remove a damaged file, and the command that made it makes it anew") from error
    if len(sequences) < min_rows:
        raise ValueError(f"learner.min_rows={min_rows}: the {len(shards)} shards hold only {len(sequences)} sequences")
    num_branches = 0 if sequences.branches is None else len(sequences.branches.place)
    if branch_weight:
        check_branches(num_branches, f"branch_weight={branch_weight}", "0", shards)
    if policy_targets != "none":
        check_branches(num_branches, f"policy_targets={policy_targets}", "none", shards)
    if label_weight:
        check_labels(sequences, label_weight, shards, game.vocabulary.eos)
    lengths = _lengths(sequences.tokens, game.vocabulary.eos)
    if (lengths < 2).any():
        row = int(np.argmax(lengths < 2))
        raise ValueError(f"sequence {row} of shards {shards[0]}..{shards[-1]} is no finished history of {game.name}")
    validation = held_out(sequences.deal_seed)
    check_training(validation, shards)
    narrow = sequences.tokens if sequences.tokens.dtype == np.uint8 else sequences.tokens.view(np.int16)
    return TrainingData(
        tokens=torch.from_numpy(narrow).to(device),
        host_tokens=narrow,
        outcome=torch.from_numpy(sequences.outcome.astype(np.int64)).to(device),
        lengths=lengths,
        training=np.nonzero(~validation)[0],
        validation=np.nonzero(validation)[0],
        branches=sequences.branches if branch_weight else None,
        valued=sequences.branches if policy_targets != "none" else None,
        labels=sequences.labels,
    )


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


def make_batch(
    data: TrainingData,
    rows: np.ndarray,
    rules: Rules,
    num_judged: int = 0,
    seed: int = 0,
    part: slice | None = None,
    others_weight: float = 1.0,
    label_weight: float = 1.0,
    policy: PolicyOperator | None = None,
) -> Batch:
    """The sequences ``rows`` (``int64[B]``), without the columns that are padding in all of them.

    Args:
        rules: what the network reads of the rules.
        num_judged: prefixes of each sequence that train the outcome head, drawn from ``seed``; 0 for all.
        part: restrict the batch to these ``rows``, at least one, with the whole batch's layout; None for all.
        others_weight: of tokens that are not the observer's own actions.
        label_weight: of labels, where the data have them.
        policy: what the policy learns at decisions with branches, where the data have them.
    """
    draws = np.random.default_rng(seed).random((len(rows), num_judged)) if num_judged else None
    whole, game, there = None, rules.game, data.tokens.device
    if part is not None:
        whole = counts(data, rows)
        rows, draws = rows[part], None if draws is None else draws[part]
    lengths, inputs, leaves, views = data.lengths[rows], NO_INPUTS, None, None
    weights = targets = valued = None
    index, longest = torch.from_numpy(rows).to(there), int(lengths.max())
    judged = None if draws is None else stratified_positions(draws, lengths)
    prefixes = real_prefixes(lengths, longest - 1)
    if rules or others_weight != 1.0:
        views = game.prefixes(data.host_tokens[rows, : longest - 1])
        inputs = rule_inputs(rules, views, prefixes, judged)
        if others_weight != 1.0:
            weights = action_weights(game, views, prefixes, others_weight)
    if data.labels is not None:
        labels, came = (each[rows, 1:longest].ravel()[prefixes] for each in (data.labels, data.host_tokens))
        targets, weights = labelled_targets(labels, came, game.vocabulary.eos, weights, label_weight)
    if policy and data.valued:
        valued = policy.targets(data.valued.take(rows), lengths, game.vocabulary.size)
        weights = policy.weigh(valued, np.ones(len(prefixes), np.float32) if weights is None else weights)
    if data.branches:
        leaves = make_leaves(data.branches.take(rows), rules, views)
    tokens = data.tokens[:, :longest].index_select(0, index).long()
    batch = assemble(tokens, lengths, data.outcome[index], judged, inputs, leaves)
    return replace(
        batch,
        whole=whole,
        weights=_sent(weights, there),
        targets=_sent(targets, there),
        policy=None if valued is None else valued.to(there),
    )


def labelled_targets(
    labels: np.ndarray, came: np.ndarray, eos: int, weights: np.ndarray | None, label_weight: float
) -> tuple[np.ndarray, np.ndarray]:
    """What to predict, ``int64[P]``, and its weights, ``float32[P]``: ``labels[P]`` where they are not ``eos``, of
    weight ``label_weight``, else the tokens that ``came[P]``, of ``weights[P]`` or 1."""
    labelled = labels != eos
    targets = np.where(labelled, labels, came).astype(np.int64)
    return targets, np.where(labelled, np.float32(label_weight), np.float32(1.0) if weights is None else weights)


def _sent(array: np.ndarray | None, device: torch.device) -> torch.Tensor | None:
    return None if array is None else torch.from_numpy(array).to(device)


def counts(data: TrainingData, rows: np.ndarray) -> tuple[int, int]:
    """Prefixes and leaves of the sequences ``rows``."""
    return int((data.lengths[rows] - 1).sum()), int(data.num_leaves[rows].sum())


def assemble(
    tokens: torch.Tensor,
    lengths: np.ndarray,
    outcome: torch.Tensor,
    judged: np.ndarray | None = None,
    inputs: RuleInputs = NO_INPUTS,
    leaves: Leaves | None = None,
) -> Batch:
    """A batch on the device of ``tokens``; fields as ``Batch`` has them, those given as arrays on the host."""
    device, prefixes = tokens.device, real_prefixes(lengths, tokens.shape[1] - 1)
    return Batch(
        tokens=tokens,
        lengths=torch.from_numpy(lengths).to(device),
        outcome=outcome,
        prefixes=torch.from_numpy(prefixes).to(device),
        judged=_sent(judged, device),
        inputs=inputs.to(device),
        leaves=None if leaves is None else leaves.to(device),
    )


def _lengths(tokens: np.ndarray, eos: int) -> np.ndarray:
    """``int64[N]``: tokens up to and including the first ``eos``; 0 where there is none."""
    lengths = np.zeros(len(tokens), np.int64)
    for first in range(0, len(tokens), _BLOCK):  # a mask of all tokens at once would be as large as they are
        ends = tokens[first : first + _BLOCK] == eos
        lengths[first : first + _BLOCK] = np.where(ends.any(1), ends.argmax(1) + 1, 0)
    return lengths
