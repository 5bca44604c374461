"""The seam between searching known deals and the network that judges them.

Letters: ``B`` states, ``V`` tokens of the vocabulary. ``learner.observation_model`` is the seam of networks that are
given what one seat has seen; this one is given all (``games.features.StateFeatures``).
"""

from typing import Protocol

import numpy as np


class StateModel(Protocol):
    """Says what actions are worth in true states."""

    def values(self, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """``float32[B, V]``: q(s, a) for one seat of every state (``int[B]``), the seat to act: minus the points that
        it will still take, discounted, if it plays action ``a`` now. What it says of illegal actions means nothing.
        Answers do not depend on how states are batched (up to rounding)."""
