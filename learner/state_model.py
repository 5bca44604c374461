"""The interface between search in known deals and the network that evaluates them.

Letters: ``B`` states, ``V`` tokens of the vocabulary. Networks of ``learner.observation_model`` read one seat's
history; this one reads the whole deal (``games.features.StateFeatures``).
"""

from typing import Protocol

import numpy as np


class StateModel(Protocol):
    """Evaluates actions in true states."""

    def values(self, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """``float32[B, V]``: q(s, a) for one seat of every state (``int[B]``), the seat to act: minus the points that
        it will still take, discounted, if it plays action ``a`` now. Values of illegal actions are arbitrary. Answers
        do not depend on how states are batched (up to rounding)."""
