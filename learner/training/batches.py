"""Batches of the training set: sequences of a step, with what their prefixes learn (docs/learner.md)."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch

from games.branches import Branches
from games.game import Game
from learner.model.rule_inputs import NO_INPUTS, RuleInputs, Rules
from learner.model.shapes import few_widths
from learner.training.data import TrainingData, sent
from learner.training.leaves import Leaves, make_leaves
from learner.training.policy_gradient import Decisions, PolicyGradient
from learner.training.policy_targets import PolicyOperator, PolicyTargets
from learner.training.prefixes import acting, action_weights, real_prefixes, rule_inputs, stratified_positions


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
    lengths, inputs, views, weights = data.lengths[rows], NO_INPUTS, None, None
    index, longest = torch.from_numpy(rows).to(there), int(lengths.max())
    if there.type == "cpu":
        longest = min(few_widths(longest - 1) + 1, data.tokens.shape[1])
    judged = None if draws is None else stratified_positions(draws, lengths)
    every = prefixes = real_prefixes(lengths, longest - 1)
    if rules or others_weight != 1.0 or actions_only or gradient:
        views = prefixes_of(data, rows, longest - 1, game)
        prefixes = every[acting(game, views, every)] if actions_only else every
        inputs = rule_inputs(rules, views, prefixes, judged, there)
        weights = action_weights(game, views, prefixes, others_weight) if others_weight != 1.0 else None
    behind = partial(_behind, data, rows, longest, prefixes)
    targets, policies, drawn = None, None, None
    if data.labels is not None:
        labels, came = behind(data.labels), behind(data.host_tokens)
        targets, weights = labelled_targets(labels, came, game.vocabulary.eos, weights, label_weight)
    if policy and data.valued:
        policies, weights = _policy_targets(policy, data, rows, every, prefixes, weights, game)
    if gradient and data.probabilities is not None and views is not None:
        chances = behind(data.probabilities)
        drawn = Decisions.of(game, views, prefixes, behind(data.host_tokens), chances)
        drawn = replace(drawn, states=data.states_of(rows))
        weights = _ones(prefixes) if weights is None else weights
        weights[drawn.at.numpy()] = gradient.weight
    leaves = make_leaves(branches_of(data.branches, data, rows), rules, views) if data.branches else None
    tokens = data.tokens[:, :longest].index_select(0, index).long()
    batch = assemble(tokens, lengths, data.outcome[index], judged, inputs, leaves, prefixes)
    return replace(
        batch,
        whole=whole,
        weights=sent(weights, there),
        targets=sent(targets, there),
        policy=None if policies is None else policies.to(there),
        drawn=None if drawn is None else drawn.to(there),
        num_drawn=num_drawn,
        above=None if data.above is None else data.above[index],
    )


def _behind(
    data: TrainingData, rows: np.ndarray, longest: int, prefixes: np.ndarray, columns_NL: np.ndarray
) -> np.ndarray:
    """``[P]``: what ``columns_NL`` have for the tokens behind ``prefixes`` of sequences ``rows``."""
    return np.asarray(columns_NL[rows, data.first + 1 : data.first + longest].ravel()[prefixes])


def _policy_targets(
    policy: PolicyOperator,
    data: TrainingData,
    rows: np.ndarray,
    every: np.ndarray,
    prefixes: np.ndarray,
    weights: np.ndarray | None,
    game: Game,
) -> tuple[PolicyTargets, np.ndarray]:
    """What the policy learns at decisions with branches, their places as indices into ``prefixes``, and the weights;
    ``every``: all prefixes, as indices that ``prefixes`` are too."""
    assert data.valued is not None
    targets = policy.targets(branches_of(data.valued, data, rows), data.lengths[rows], game.vocabulary.size)
    targets = replace(targets, at=torch.from_numpy(np.searchsorted(prefixes, every[targets.at.numpy()])))
    return targets, policy.weigh(targets, _ones(prefixes) if weights is None else weights)


def _ones(prefixes: np.ndarray) -> np.ndarray:
    return np.ones(len(prefixes), np.float32)


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
        judged=sent(judged, device),
        inputs=inputs.to(device),
        leaves=None if leaves is None else leaves.to(device),
    )
