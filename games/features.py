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

    @property
    def size(self) -> int:
        """How many numbers one view has."""
        return int(np.prod(self.shape))


def filled(fill: Any, shape: tuple[int, ...], description: str) -> FeatureSet:
    """The feature set that a kernel ``fill(views, numbers)`` fills in, given zeros."""

    def encode(views: np.ndarray) -> np.ndarray:
        numbers = np.zeros((len(views), *shape), np.uint8)
        fill(views, numbers)
        return numbers

    return FeatureSet(description, shape, encode)
