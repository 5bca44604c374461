"""What the rules tell of one seat's history, as numbers for a network that would otherwise have to find them out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class FeatureSet:
    """Numbers that follow from a history by the rules alone, never by strategy."""

    description: str
    shape: tuple[int, ...]
    """Of the numbers of one view."""
    encode: Callable[[np.ndarray], np.ndarray]
    """Views ``[B]`` -> ``uint8[B, *shape]``, for any view, those of impossible histories included."""
    version: int = 1
    """Raised whenever the numbers change their meaning; checkpoints carry it."""
    of_actions: bool = False
    """Whether row n of the numbers is about the action whose token is n. Then networks score these actions by weights
    that all of them share (docs/learner.md); one set of a game at most."""

    @property
    def size(self) -> int:
        """How many numbers one view has."""
        return int(np.prod(self.shape))


@dataclass(frozen=True)
class StateFeatures:
    """Numbers that describe a true state, hidden cards included, as one seat counts the others from itself.

    They are for networks that judge known deals: inside worlds that a player has sampled, or for players that look at
    all cards (``sees_hidden``). Nobody else may be told them.
    """

    description: str
    size: int
    """How many numbers there are, ``F``."""
    encode: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """States ``[B]``, one seat of each ``int[B]`` -> ``uint8[B, F]``, each 0 or 1: training keeps them as bits."""
    version: int = 1
    """Raised whenever the numbers change their meaning; checkpoints carry it."""


def filled(fill: Any, shape: tuple[int, ...], description: str, **others: Any) -> FeatureSet:
    """The feature set that a kernel ``fill(views, numbers)`` fills in, given zeros; ``others`` are further fields."""

    def encode(views: np.ndarray) -> np.ndarray:
        numbers = np.zeros((len(views), *shape), np.uint8)
        fill(views, numbers)
        return numbers

    return FeatureSet(description, shape, encode, **others)
