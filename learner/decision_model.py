"""The interface between players and networks that each judge one kind of decision by features of their own.

Letters: ``B`` decisions, ``F`` features, ``A`` actions of a point of decision. What points there are, their features
and their actions are the game's (``games.skat.policies``).
"""

from typing import Protocol

import numpy as np


class DecisionModel(Protocol):
    """Judges actions at points of decision. Answers do not depend on how decisions are batched (up to rounding)."""

    def probabilities(self, point: int, bits: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """``float32[B, A]``: the probability of each action, legal or not, from ``uint8[B, F]`` features of 0 and 1
        and ``uint8[B, N]`` numbers."""

    def values(self, point: int, bits: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """``float32[B, A]``: what each action is worth, in points of the game; at points that have values."""
