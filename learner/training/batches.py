"""Batches of the training set: sequences of a step, with what their prefixes learn (docs/learner.md)."""

from dataclasses import dataclass

import numpy as np
import torch

from games.game import Game
from learner.model.rule_inputs import NO_INPUTS, Rules
from learner.model.shapes import few_widths
from learner.training.batch import Batch, Learned, branches_of, prefixes_of
from learner.training.data import TrainingData, sent
from learner.training.leaves import make_leaves
from learner.training.policies.policy import PLAYED, Policy
from learner.training.prefixes import acting, real_prefixes, rule_inputs, stratified_positions


@dataclass(frozen=True)
class Recipe:
    """Settings of a training's batches."""

    rules: Rules
    """What the network reads of the rules."""
    policy: Policy = PLAYED
    others_weight: float = 1.0
    """Loss weight of tokens that are not the observer's own actions."""
    num_judged: int = 0
    """Prefixes of each sequence that train the outcome head, drawn from a batch's seed; 0 for all."""
    actions_only: bool = False
    """Learn nothing but the observer's own actions, and outcomes where it acts; without ``num_judged``."""


def make_batch(data: TrainingData, rows: np.ndarray, recipe: Recipe, seed: int = 0, part: slice | None = None) -> Batch:
    """The sequences ``rows`` (``int64[B]``), without the columns that are padding in all of them.

    ``part`` restricts the batch to these ``rows``, at least one, with the whole batch's layout; None for all.
    """
    rules, game, there, num_judged = recipe.rules, recipe.rules.game, data.tokens.device, recipe.num_judged
    draws = np.random.default_rng(seed).random((len(rows), num_judged)) if num_judged else None
    whole, probabilities = None, data.probabilities
    num_drawn = 0 if probabilities is None else int((probabilities[rows] > 0).sum())
    if part is not None:
        whole = counts(data, rows, game if recipe.actions_only else None)
        rows, draws = rows[part], None if draws is None else draws[part]
    lengths = data.lengths[rows]
    index, longest = torch.from_numpy(rows).to(there), int(lengths.max())
    if there.type == "cpu":
        longest = min(few_widths(longest - 1) + 1, data.tokens.shape[1])
    judged = None if draws is None else stratified_positions(draws, lengths)
    learned = _learned(data, rows, recipe, longest - 1, num_drawn)
    inputs = rule_inputs(rules, learned.views, learned.prefixes, judged, there) if rules else NO_INPUTS
    leaves = None
    if data.branches:
        leaves = make_leaves(branches_of(data.branches, data, rows), rules, learned.views if rules else None).to(there)
    return Batch(
        tokens=data.tokens[:, :longest].index_select(0, index).long(),
        lengths=torch.from_numpy(lengths).to(there),
        outcome=data.outcome[index],
        prefixes=torch.from_numpy(learned.prefixes).to(there),
        judged=sent(judged, there),
        inputs=inputs.to(there),
        leaves=leaves,
        policy=recipe.policy.targets(learned).to(there),
        above=None if data.above is None else data.above[index],
        whole=whole,
    )


def _learned(data: TrainingData, rows: np.ndarray, recipe: Recipe, width: int, num_drawn: int) -> Learned:
    """The prefixes that the recipe learns, with their weights."""
    game, every = recipe.rules.game, real_prefixes(data.lengths[rows], width)
    learned = Learned(game, data, rows, width, every, every, None, num_drawn)
    if recipe.actions_only:
        learned.prefixes = every[acting(game, learned.views, every)]
    if recipe.others_weight != 1.0:
        acts = acting(game, learned.views, learned.prefixes)
        learned.weights = np.where(acts, 1.0, recipe.others_weight).astype(np.float32)
    return learned


def counts(data: TrainingData, rows: np.ndarray, acts: Game | None = None) -> tuple[int, int]:
    """Prefixes and leaves of the sequences ``rows``; with the game only prefixes at which the observer acts."""
    lengths, leaves = data.lengths[rows], int(data.num_leaves[rows].sum())
    if acts is None:
        return int((lengths - 1).sum()), leaves
    width = int(lengths.max()) - 1
    views = prefixes_of(data, rows, width, acts)
    return max(int(acting(acts, views, real_prefixes(lengths, width)).sum()), 1), leaves
