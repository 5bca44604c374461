"""Sequential halving at the root with Gumbel noise (Danihelka et al. 2022, "Policy improvement by planning with
Gumbel").

A few actions are drawn without replacement by the policy: those of the highest Gumbel noise plus log prior. All of them
are tried equally often, then the better half of them, and so on. Actions are compared by that sum plus the mean score,
from 0 for the worst action tried to 1 for the best, times 0.1 (50 + visits of the action tried most).

Letters: ``M`` searches, ``V`` tokens, ``A`` actions drawn.
"""

import numpy as np

from games.rng import mix

MOST_ACTIONS = 16
_SCALE, _VISITS = 0.1, 50
"""c_scale and c_visit of the paper."""


class Halving:
    """The first actions of the simulations of a batch of decisions."""

    def __init__(self, priors: np.ndarray, seeds: np.ndarray, simulations: int) -> None:
        """``priors``: ``float32[M, V]``, 0 for illegal actions; ``seeds``: ``uint64[M]``."""
        rows, tokens = priors.shape
        bits = mix(seeds[:, None], np.arange(tokens, dtype=np.uint64)[None])
        uniform = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) / 2**53
        with np.errstate(divide="ignore"):
            self._drawn = np.log(priors) - np.log(-np.log(uniform))
        self._drawn[priors <= 0] = -np.inf
        number = np.minimum((priors > 0).sum(axis=1), min(MOST_ACTIONS, simulations))
        self.actions = (-self._drawn).argsort(axis=1, kind="stable")[:, : int(number.max())]
        """``int64[M, A]``: drawn actions, in order."""
        self.left = number.copy()
        """``int64[M]``: how many of them are still compared; those stand first."""
        self._rounds = np.maximum(np.ceil(np.log2(np.maximum(number, 2))), 1).astype(np.int64)
        self._simulations, self._done = simulations, 0
        self._quota, self._tried = self._quotas(), np.zeros(rows, np.int64)

    def next(self, visits: np.ndarray, means: np.ndarray) -> np.ndarray:
        """``int64[M]``: the first action of each search's next simulation.

        Args:
            visits: ``int64[M, V]`` of root actions so far.
            means: ``float64[M, V]``: their mean scores; anything where there are no visits.
        """
        over = (self._tried >= self._quota) & (self.left > 1)
        if over.any():
            self.sort(visits, means)
            self.left = np.where(over, (self.left + 1) // 2, self.left)
            self._tried[over] = 0
            self._quota = np.where(over, self._quotas(), self._quota)
        chosen = self.actions[np.arange(len(self.left)), self._tried % self.left]
        self._tried += 1
        self._done += 1
        return chosen

    def sort(self, visits: np.ndarray, means: np.ndarray) -> None:
        """Put the best of the actions still compared first."""
        scores = np.take_along_axis(self._scores(visits, means), self.actions, axis=1)
        scores[np.arange(scores.shape[1]) >= self.left[:, None]] = -np.inf
        order = (-scores).argsort(axis=1, kind="stable")
        self.actions = np.take_along_axis(self.actions, order, axis=1)

    def _scores(self, visits: np.ndarray, means: np.ndarray) -> np.ndarray:
        tried = visits > 0
        low = np.where(tried, means, np.inf).min(axis=1, keepdims=True)
        high = np.where(tried, means, -np.inf).max(axis=1, keepdims=True)
        apart = tried & (high > low)
        values = np.where(apart, means - low, 0.0) / np.where(high > low, high - low, 1.0)
        return self._drawn + _SCALE * (_VISITS + visits.max(axis=1, keepdims=True)) * values

    def _quotas(self) -> np.ndarray:
        """``int64[M]``: simulations of the present round, at least one of each action that is left."""
        each = np.maximum(self._simulations // (self._rounds * self.left), 1)
        return np.asarray(each * self.left)
