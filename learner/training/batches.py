"""Batches of the training set: sequences of a step, with what their prefixes learn (docs/learner.md)."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from games.game import Game
from learner.model.rule_inputs import NO_INPUTS, Rules
from learner.model.shapes import few_widths, lengthened
from learner.training.batch import Batch, Learned, branches_of, prefixes_of
from learner.training.data import TrainingData
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
    padded: bool = False
    """Pad to few layouts (``learner.training.batch.Batch``)."""


def make_batch(data: TrainingData, rows: np.ndarray, recipe: Recipe, seed: int = 0, part: slice | None = None) -> Batch:
    """The sequences ``rows`` (``int64[B]``), without the columns that are padding in all of them.

    ``part`` restricts the batch to these ``rows``, at least one, with the whole batch's layout; None for all.
    """
    rules, game, num_judged = recipe.rules, recipe.rules.game, recipe.num_judged
    draws = np.random.default_rng(seed).random((len(rows), num_judged)) if num_judged else None
    whole, probabilities = None, data.probabilities
    num_drawn = 0 if probabilities is None else int((probabilities[rows] > 0).sum())
    if part is not None:
        whole = counts(data, rows, game if recipe.actions_only else None)
        rows, draws = rows[part], None if draws is None else draws[part]
    lengths, end = data.lengths[rows], data.tokens.shape[1] - data.first
    longest = data.longest if recipe.padded else min(few_widths(int(lengths.max()) - 1) + 1, end)
    judged = None if draws is None else stratified_positions(draws, lengths)
    learned = _learned(data, rows, recipe, longest - 1, num_drawn)
    inputs = rule_inputs(rules, learned.views, learned.prefixes, judged, recipe.padded) if rules else NO_INPUTS
    own = len(learned.prefixes) - learned.padding, int(data.num_leaves[rows].sum())
    leaves, targets, real = None, recipe.policy.targets(learned), None
    if data.branches:
        branches = branches_of(data.branches, data, rows)
        leaves = make_leaves(branches, rules, learned.views if rules else None, recipe.padded)
    if recipe.padded:
        real = (torch.arange(len(learned.prefixes)) < own[0]).float()
        targets = replace(targets, weights=real if targets.weights is None else targets.weights * real)
    return Batch(
        tokens=torch.from_numpy(data.tokens[rows, data.first : data.first + longest].astype(np.int64)),
        lengths=torch.from_numpy(lengths),
        outcome=torch.from_numpy(data.outcome[rows]),
        prefixes=torch.from_numpy(learned.prefixes),
        counts=torch.tensor(whole or own, dtype=torch.float32).clamp(min=1.0),
        judged=None if judged is None else torch.from_numpy(judged),
        inputs=inputs,
        leaves=leaves,
        policy=targets,
        above=None if data.above is None else torch.from_numpy(data.above[rows]),
        real=real,
    )


def _learned(data: TrainingData, rows: np.ndarray, recipe: Recipe, width: int, num_drawn: int) -> Learned:
    """The prefixes that the recipe learns, with their weights."""
    game, every = recipe.rules.game, real_prefixes(data.lengths[rows], width)
    learned = Learned(game, data, rows, width, every, every, None, num_drawn)
    if recipe.actions_only:
        learned.prefixes = every[acting(game, learned.views, every)]
    if recipe.padded:
        real, learned.prefixes = learned.prefixes, lengthened(learned.prefixes)
        learned.padding = len(learned.prefixes) - len(real)
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
