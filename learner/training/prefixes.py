"""The prefixes of a batch of sequences: which of them train the outcome head, and the rules of each."""

import numpy as np
import torch

from games.game import Game, Next
from learner.model.rule_inputs import RuleInputs, Rules, cells_of
from learner.model.shapes import lengthened


def real_prefixes(lengths: np.ndarray, width: int) -> np.ndarray:
    """``int64[...]``: the prefixes of sequences (tokens ``int64[B]``, ``eos`` included) that are no padding, as indices
    into the flat ``[B * T]`` order, T = ``width``."""
    return np.flatnonzero(np.arange(width) < (lengths - 1)[:, None])


def stratified_positions(draws: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """``int64[B, k]``: one prefix from each of k equal strata of a sequence's prefixes.

    Args:
        draws: ``float64[B, k]`` uniform in [0, 1).
        lengths: ``int64[B]`` tokens of each sequence.

    Giving each drawn prefix the weight ``(length - 1) / k`` makes any weighted sum over them an unbiased estimate of
    the sum over all ``length - 1`` prefixes.
    """
    prefixes, k = (lengths - 1)[:, None], draws.shape[1]
    return np.minimum(((np.arange(k) + draws) * (prefixes / k)).astype(np.int64), prefixes - 1)


def rule_inputs(
    rules: Rules, views: np.ndarray, prefixes: np.ndarray, judged: np.ndarray | None, padded: bool = False
) -> RuleInputs:
    """Rule inputs of the prefixes of histories, as ``learner.training.batch.Batch`` has them.

    Args:
        views: ``[B, T + 1]`` of all prefixes, the empty one first.
        prefixes: ``int64[...]`` those that are learned, as indices into the flat ``[B * T]`` order.
        judged: ``int64[B, k]`` prefixes of each sequence that train the outcome head; None for all.
        padded: whether actions of the last prefix, which is padding, fill up those that have features.
    """
    batch, width = views.shape[0], views.shape[1] - 1
    places = np.arange(views.size).reshape(views.shape)[:, 1:].ravel()
    every, after = views.reshape(-1), views.take(places)
    types = features = possible = outcomes = choices = cells = None
    if rules.types:
        coming = rules.next_types(every).reshape(batch, width + 1)
        types = torch.from_numpy(np.stack([coming[:, :-1], coming[:, 1:]], axis=-1))
    if rules.features:
        features = torch.from_numpy(rules.encode(after)).view(batch, width, -1)
        if (about := rules.choices(features, prefixes)) is not None:
            choices, cells = cells_of(about)
            if padded:
                spare = (len(prefixes) - 1) * about.shape[1]
                choices = torch.from_numpy(lengthened(choices.numpy(), 0))
                cells = torch.from_numpy(lengthened(cells.numpy(), spare))
    if rules.tokens:
        possible = torch.from_numpy(rules.tokens_to_come(after.take(prefixes)))
    if rules.outcomes:
        chosen = prefixes if judged is None else (np.arange(batch)[:, None] * width + judged).ravel()
        outcomes = torch.from_numpy(rules.game.view_outcomes(after.take(chosen)))
    return RuleInputs(types, features, possible, outcomes, choices, cells)


def acting(game: Game, views: np.ndarray, prefixes: np.ndarray) -> np.ndarray:
    """``bool[...]``: whether the observer acts behind each of ``prefixes``."""
    behind = prefixes + prefixes // (views.shape[1] - 1) + 1  # each row of views has the empty prefix too
    return np.asarray(game.next(views.reshape(-1))[behind] == Next.ACTION)
