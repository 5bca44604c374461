"""Strengths of players from paired comparisons: the model of Bradley and Terry (Biometrika 39, 1952).

A player of strength s beats one of strength t with probability 1 / (1 + exp(t - s)); a draw counts as half a win of
both, as on Elo's scale. A comparison is a deal that two players have played in every seating.

**A virtual deal** on which every pair draws is added to those that were played. Without it the strength of a player
that has won or lost all its comparisons would be infinite. Virtual draws are the prior of R. Coulom's Bayeselo; one
between two players is D. Firth's correction of the maximum-likelihood estimate (Biometrika 80, 1993).

**Errors** come from the Bayesian bootstrap (D. Rubin, Annals of Statistics 9, 1981) over deals: every deal, the virtual
one too, gets a random weight, the same for all pairs, as all of them play the same cards. The inverse of the observed
information would take the pairs as independent, which they are not.

Letters: ``D`` deals, ``N`` players, ``R`` replicates.
"""

import math

import numpy as np

ELO = 400 / math.log(10)
"""Points of Elo's scale in a unit of strength: 400 points are odds of ten to one."""

_TOLERANCE, _ROUNDING = 1e-9, 4e-15
_MAX_STEPS = 100


def strengths(scores: np.ndarray) -> np.ndarray:
    """``float64[N]``: the maximum-likelihood strengths, of mean 0, given the scores and the virtual deal.

    Args:
        scores: ``float[D, N, N]``, score of each player against each other on each deal: 1 a win, 0.5 a draw, 0 a loss;
            0.5 on the diagonal.
    """
    return _fit(_with_virtual(scores).mean(axis=0)[None])[0]


def bootstrap(scores: np.ndarray, replicates: int, seed: int) -> np.ndarray:
    """``float64[R, N]``: ``strengths`` under random weights of the deals, new ones for each replicate."""
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(scores) + 1), size=replicates)
    return _fit(np.tensordot(weights, _with_virtual(scores), axes=1))


def _with_virtual(scores: np.ndarray) -> np.ndarray:
    return np.concatenate([scores, np.full((1, *scores.shape[1:]), 0.5)])


def _fit(mean: np.ndarray) -> np.ndarray:
    """``float64[R, N]``: the strengths that maximise the likelihood, by Newton's method, from mean scores of pairs,
    ``float64[R, N, N]``. Every pair has as many comparisons, so their number cancels."""
    found = np.zeros(mean.shape[:2])
    for _ in range(_MAX_STEPS):
        expected = 1 / (1 + np.exp(found[:, None, :] - found[:, :, None]))
        gradient, variance = (mean - expected).sum(axis=2), expected * (1 - expected)
        information = variance.sum(axis=2)[:, :, None] * np.eye(mean.shape[1]) - variance
        # Singular along equal strengths, where the gradient is 0; any constant there keeps the mean at 0.
        step = np.linalg.solve(information + 1, gradient[:, :, None])[:, :, 0]
        found += step
        # A player that loses nearly all has next to no variance: its step is then the gradient's rounding error.
        settled = (np.abs(step) < _TOLERANCE) | (np.abs(gradient) < _ROUNDING * mean.shape[1])
        if settled.all():
            return found
    raise RuntimeError(f"no convergence in {_MAX_STEPS} steps of Newton's method")
