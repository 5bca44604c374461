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
from learner.model.rule_inputs import NO_INPUTS, RuleInputs, Rules
from learner.model.shapes import few_widths
from learner.training.critic import drawn_states
from learner.training.leaves import Leaves, make_leaves
from learner.training.policy_gradient import Decisions, PolicyGradient, split_stale
from learner.training.policy_targets import PolicyOperator, PolicyTargets
from learner.training.prefixes import acting, action_weights, real_prefixes, rule_inputs, stratified_positions

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
    """``int64[...]`` those that are learned, as indices into the flat ``[B * T]`` order, row after row: all that are no
    padding, or those at which the observer acts."""
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
    drawn: Decisions | None = None
    """The decisions of a policy gradient, which takes the place of all three; None where there is none."""
    num_drawn: int = 0
    """Their number in the whole batch."""
    above: torch.Tensor | None = None
    """``float32[B]``: share of the next support in the outcome; None where labels are exact."""
    whole: tuple[int, int] | None = None
    """Prefixes and leaves of the whole batch, if this is one learner's part of it; else None."""

    @property
    def num_prefixes(self) -> int:
        """Those that are learned."""
        return len(self.prefixes)

    @property
    def counts(self) -> tuple[int, int]:
        """Prefixes and leaves of a step, other learners' included: the divisors of mean losses."""
        return self.whole or (max(self.num_prefixes, 1), 0 if self.leaves is None else len(self.leaves.real))


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
    ended = None if sequences.branches is None else sequences.branches.with_outcomes
    if branch_weight:
        check_branches(0 if ended is None else len(ended.place), f"branch_weight={branch_weight}", "0", shards)
    if policy_targets in OF_BRANCHES:
        num_branches = 0 if sequences.branches is None else len(sequences.branches.place)
        check_branches(num_branches, f"policy_targets={policy_targets}", "none", shards)
    if gradient and (sequences.probabilities is None or not sequences.probabilities.any()):
        raise ValueError(
            f"learner.policy_targets=gradient: shards {shards[0]}..{shards[-1]} hold no probabilities of the actions "
            "played; make some with selfplay.probabilities=true (probabilities=true of python -m selfplay.generate), "
            "or set it to none"
        )
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
        above=_sent(above, device),
        lengths=lengths,
        training=np.nonzero(~validation)[0],
        validation=np.nonzero(validation)[0],
        branches=ended if branch_weight else None,
        valued=sequences.branches if policy_targets in OF_BRANCHES else None,
        labels=sequences.labels,
        probabilities=sequences.probabilities,
        states=_sent(states, device),
        stale=len(stale),
        first=first,
    )
    assert states is None or len(states) == data.drawn_before[-1]
    return data


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
    gradient: PolicyGradient | None = None,
    actions_only: bool = False,
) -> Batch:
    """The sequences ``rows`` (``int64[B]``), without the columns that are padding in all of them.

    Args:
        rules: what the network reads of the rules.
        num_judged: prefixes of each sequence that train the outcome head, drawn from ``seed``; 0 for all.
        part: restrict the batch to these ``rows``, at least one, with the whole batch's layout; None for all.
        others_weight: of tokens that are not the observer's own actions.
        label_weight: of labels, where the data have them.
        policy: what the policy learns at decisions with branches, where the data have them.
        gradient: what it learns at decisions with probabilities.
        actions_only: learn nothing but the observer's own actions, and outcomes where it acts; without ``num_judged``.
    """
    draws = np.random.default_rng(seed).random((len(rows), num_judged)) if num_judged else None
    whole, game, there = None, rules.game, data.tokens.device
    num_drawn = 0 if data.probabilities is None else int((data.probabilities[rows] > 0).sum())
    if part is not None:
        whole = counts(data, rows, game if actions_only else None)
        rows, draws = rows[part], None if draws is None else draws[part]
    lengths, inputs, leaves, views = data.lengths[rows], NO_INPUTS, None, None
    weights = targets = valued = drawn = None
    index, longest = torch.from_numpy(rows).to(there), int(lengths.max())
    if there.type == "cpu":
        longest = min(few_widths(longest - 1) + 1, data.tokens.shape[1])
    judged = None if draws is None else stratified_positions(draws, lengths)
    every = prefixes = real_prefixes(lengths, longest - 1)
    if rules or others_weight != 1.0 or actions_only or gradient:
        views = prefixes_of(data, rows, longest - 1, game)
        if actions_only:
            prefixes = every[acting(game, views, every)]
        inputs = rule_inputs(rules, views, prefixes, judged, there)
        if others_weight != 1.0:
            weights = action_weights(game, views, prefixes, others_weight)
    if data.labels is not None:
        read = slice(data.first + 1, data.first + longest)
        labels, came = (each[rows, read].ravel()[prefixes] for each in (data.labels, data.host_tokens))
        targets, weights = labelled_targets(labels, came, game.vocabulary.eos, weights, label_weight)
    if policy and data.valued:
        valued = policy.targets(branches_of(data.valued, data, rows), lengths, game.vocabulary.size)
        valued = replace(valued, at=torch.from_numpy(np.searchsorted(prefixes, every[valued.at.numpy()])))
        weights = policy.weigh(valued, np.ones(len(prefixes), np.float32) if weights is None else weights)
    if gradient and data.probabilities is not None and views is not None:
        read = slice(data.first + 1, data.first + longest)
        came, chances = (each[rows, read].ravel()[prefixes] for each in (data.host_tokens, data.probabilities))
        drawn = replace(Decisions.of(game, views, prefixes, came, chances), states=data.states_of(rows))
        weights = np.ones(len(prefixes), np.float32) if weights is None else weights
        weights[drawn.at.numpy()] = gradient.weight
    if data.branches:
        leaves = make_leaves(branches_of(data.branches, data, rows), rules, views)
    tokens = data.tokens[:, :longest].index_select(0, index).long()
    batch = assemble(tokens, lengths, data.outcome[index], judged, inputs, leaves, prefixes)
    return replace(
        batch,
        whole=whole,
        weights=_sent(weights, there),
        targets=_sent(targets, there),
        policy=None if valued is None else valued.to(there),
        drawn=None if drawn is None else drawn.to(there),
        num_drawn=num_drawn,
        above=None if data.above is None else data.above[index],
    )


def prefixes_of(data: TrainingData, rows: np.ndarray, width: int, game: Game) -> np.ndarray:
    """Views ``[B, width + 1]`` of the prefixes of sequences ``rows``, the one of ``data.first`` tokens first."""
    return game.prefixes(data.host_tokens[rows, : data.first + width])[:, data.first :]


def branches_of(branches: Branches, data: TrainingData, rows: np.ndarray) -> Branches:
    """The branches of the sequences ``rows``, with places from ``data.first`` on."""
    taken = branches.take(rows)
    return replace(taken, place=taken.place - data.first)


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


def counts(data: TrainingData, rows: np.ndarray, acts: Game | None = None) -> tuple[int, int]:
    """Prefixes and leaves of the sequences ``rows``; with the game only prefixes at which the observer acts."""
    lengths, leaves = data.lengths[rows], int(data.num_leaves[rows].sum())
    if acts is None:
        return int((lengths - 1).sum()), leaves
    width = int(lengths.max()) - 1
    views = prefixes_of(data, rows, width, acts)
    return max(int(acting(acts, views, real_prefixes(lengths, width)).sum()), 1), leaves


def assemble(
    tokens: torch.Tensor,
    lengths: np.ndarray,
    outcome: torch.Tensor,
    judged: np.ndarray | None = None,
    inputs: RuleInputs = NO_INPUTS,
    leaves: Leaves | None = None,
    prefixes: np.ndarray | None = None,
) -> Batch:
    """A batch on the device of ``tokens``; fields as ``Batch`` has them, those given as arrays on the host. Without
    ``prefixes`` all are learned that are no padding."""
    device = tokens.device
    if prefixes is None:
        prefixes = real_prefixes(lengths, tokens.shape[1] - 1)
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
