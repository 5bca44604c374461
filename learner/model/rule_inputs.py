"""Inputs of a network computed by the rules: types of tokens, features, and masks of possible tokens and outcomes.

All of it follows from the history, but a small network would spend most of its weights on learning it
(docs/learner.md). Each part is a setting of the model; a network needs the parts that it was trained with.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch

from games.game import Game, Next
from learner.model.architecture import Architecture

_CACHED = 2**20
"""Bytes of features that are written at once, so that they stay in the processor's cache meanwhile."""


class RuleInputs(NamedTuple):
    """Rule inputs of a batch of histories, by their last tokens; None for unused parts.

    Letters: ``N`` histories, in any leading dimensions; ``A`` of them with a predicted next token, ``O`` with a
    predicted outcome; ``F`` features, ``V`` tokens, ``K`` outcome labels.
    """

    types: torch.Tensor | None = None
    """``int64[N, 2]``: types of the last token, and of the one that comes next."""
    features: torch.Tensor | None = None
    """``uint8[N, F]``"""
    tokens: torch.Tensor | None = None
    """``bool[A, V]``: tokens that can come next, at least one each."""
    outcomes: torch.Tensor | None = None
    """``bool[O, K]``: outcome labels that can still come, at least one each."""
    choices: torch.Tensor | None = None
    """``uint8[A, C, G]``: G features of each of C actions; with ``cells`` ``uint8[M, G]``."""
    cells: torch.Tensor | None = None
    """``int64[M]``: the actions that have features, as indices into the flat ``[A * C]`` order; None for all."""


NO_INPUTS = RuleInputs()


def about_actions(features: torch.Tensor, choices: Mapping[str, int]) -> torch.Tensor:
    """``[..., C, G]``: the features of actions among all features ``[..., F]``; ``choices`` as in ``Architecture``."""
    offset, actions, numbers = (choices[key] for key in ("offset", "actions", "numbers"))
    return features[..., offset : offset + actions * numbers].unflatten(-1, (actions, numbers))


def cells_of(choices_ACG: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Features and places of the actions that have any, as ``RuleInputs.choices`` and ``cells``; on a CPU."""
    acting = choices_ACG.flatten(1).amax(1).nonzero()[:, 0]  # few rows have any, and few actions of these
    which, actions = choices_ACG.index_select(0, acting).amax(-1).nonzero(as_tuple=True)
    rows = acting[which]
    return choices_ACG[rows, actions], rows * choices_ACG.shape[1] + actions


class Rules:
    """Computes the rule inputs of one architecture. Views are rows of ``games.game.Game.views``."""

    def __init__(self, game: Game, arch: Architecture, mask_outcomes: bool = False) -> None:
        """``mask_outcomes``: mask outcomes even if the network was trained without."""
        self.game = game
        self.types, self.tokens = arch.token_types > 0, arch.mask_tokens
        self.features, self._choices = tuple(game.features[name] for name in arch.features), arch.choices
        rules_out = type(game).view_outcomes is not Game.view_outcomes
        self.outcomes = rules_out and (arch.mask_outcomes or mask_outcomes)

    def __bool__(self) -> bool:
        """Whether the networks read any."""
        return self.types or self.tokens or self.outcomes or bool(self.features)

    def next_types(self, views: np.ndarray) -> np.ndarray:
        """``int64[N]``: the type of the token that comes next."""
        return self.game.next_type(views).astype(np.int64)

    def encode(self, views: np.ndarray) -> np.ndarray:
        """``uint8[N, F]``: all features, one set behind the other."""
        numbers = np.empty((len(views), sum(feature.size for feature in self.features)), np.uint8)
        rows = _CACHED // max(1, numbers.shape[1])
        for start in range(0, len(views), rows):
            first, some, block = 0, views[start : start + rows], numbers[start : start + rows]
            block[:] = 0
            for feature in self.features:  # reshape gives a view, as one axis is split
                behind = first + feature.size
                feature.fill(some, block[:, first:behind].reshape(len(some), *feature.shape))
                first = behind
        return numbers

    def choices(self, features: torch.Tensor, rows: np.ndarray) -> torch.Tensor | None:
        """``uint8[A, C, G]``: the features of actions among ``features`` (``[..., F]``), of ``rows`` (``int64[A]``,
        indices into the flattened leading dimensions); None without any."""
        if not self._choices:
            return None
        about = about_actions(features, self._choices).flatten(0, -3)
        return about.index_select(0, torch.from_numpy(rows).to(about.device))

    def tokens_to_come(self, views: np.ndarray) -> np.ndarray:
        """``bool[N, V]``: the possible next tokens; ``eos`` after a finished deal, and every token after an impossible
        history."""
        possible = self.game.view_possible(views)
        possible[:, self.game.vocabulary.eos] |= self.game.next(views) == Next.END
        possible[~self.game.consistent(views)] = True
        return possible
