"""A network's values against the reference: correlation, explained variance, and regret of choosing by them.

Letters: ``M`` decisions, ``V`` tokens of the vocabulary, ``Z`` candidates, ``W`` worlds, ``C`` terms of a statistic.

*Correlation within decisions*: Pearson's of V(h.a) and the reference over all candidates, both less their means over
the actions of the decision. It measures the order of actions, not of positions.

*R2*: share of the variance of single playouts' results that V(h.a) explains; all decisions weigh equally.

*Regret* of a choice: the reference of the best action less that of the chosen one. The best of noisy means is biased
upwards, so the best action is found on one half of the worlds and evaluated on the other, both ways, averaged. The
action found may not be the best: on average the regret is never overstated, and a good choice may come out below 0. All
choices are compared with the same action, so the difference of two regrets has no bias.

Both *at most* figures estimate a perfect V's score against a reference of so many worlds, from the agreement of the two
halves. Every deal gives one decision, so intervals over decisions are intervals over deals.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtrit

from learner.observation_model import ObservationModel, by_token
from search.arena.tournament.statistics import MIN_DEALS
from search.arena.values.decisions import THIRDS, Decisions
from search.players.argmax_val import argmax_val
from search.players.config import ArgmaxValConfig
from search.players.histories import ask
from search.players.policy import legal_policy

_BATCH = 64
"""Histories of one query: they hold their keys and values at the same time."""
_SMALLEST_VARIANCE = 1e-12
"""A smaller variance of utilities, which are of the order of 1, is only rounding."""


@dataclass(frozen=True)
class Estimate:
    """A figure and its 95 % interval over deals."""

    value: float | None
    """None where undefined, such as the correlation with constant values."""
    low: float | None = None
    high: float | None = None
    """None for too few deals."""


@dataclass(frozen=True)
class Part:
    """The figures of the decisions of one third, or of all; None without decisions."""

    name: str
    decisions: int
    actions: float
    """Mean number of legal actions."""
    correlation: Estimate
    correlation_at_most: float | None
    r2: Estimate
    r2_at_most: float | None
    regrets: dict[str, Estimate]
    """Way to choose -> its mean regret in units of the utility."""
    gains: dict[str, Estimate] = field(default_factory=dict)
    """Player -> the regret of the network's first ArgmaxVal* less its own, paired by decision."""


def predictions(model: ObservationModel, decisions: Decisions) -> tuple[np.ndarray, np.ndarray]:
    """``float32[M, V]`` p(token | h) of every decision, and ``float32[M, V]`` V(h.a) of its legal actions, NaN
    elsewhere."""
    next_token, values = [], []
    for first in range(0, len(decisions.legal), _BATCH):
        rows = slice(first, first + _BATCH)
        legal = decisions.legal[rows]
        answer = ask(model, decisions.tokens[rows], decisions.lengths[rows], legal)
        next_token.append(answer.next_token)
        values.append(by_token(answer.action_values, legal))
    return np.concatenate(next_token), np.concatenate(values)


def measure(
    decisions: Decisions,
    next_token: np.ndarray,
    values: np.ndarray,
    utilities: np.ndarray,
    settings: Mapping[str, ArgmaxValConfig],
    chosen: Mapping[str, np.ndarray] | None = None,
) -> list[Part]:
    """The figures of every third, then of all decisions.

    Args:
        next_token, values: the result of ``predictions``.
        utilities: ``float32[Z, W]``, the result of ``playout_utilities``; ``W`` even.
        settings: name -> further settings of ArgmaxVal* to evaluate, the first of which players are compared with.
        chosen: player -> its choices, ``int64[M]``.
    """
    legal, chosen = decisions.legal, chosen or {}
    means = np.stack([utilities[:, half::2].mean(axis=1, dtype=np.float64) for half in (0, 1)])
    halves = np.stack([by_token(mean, legal) for mean in means]).astype(np.float64)
    squares = by_token(np.square(utilities, dtype=np.float64).mean(axis=1), legal).astype(np.float64)
    terms = _terms(values.astype(np.float64), halves, squares)
    weights = choices(next_token, values, legal, settings)
    weights |= {name: np.eye(legal.shape[1])[actions] for name, actions in chosen.items()}
    regrets = {name: regret(halves, legal, each) for name, each in weights.items()}
    gains = {name: regrets[next(iter(settings))] - regrets[name] for name in chosen}
    parts = [(name, decisions.third == third) for third, name in enumerate(THIRDS)]
    parts.append(("all", np.ones(len(legal), np.bool_)))
    return [
        _part(
            name, legal[rows], terms[rows], *({key: each[rows] for key, each in of.items()} for of in (regrets, gains))
        )
        for name, rows in parts
    ]


def choices(
    next_token: np.ndarray, values: np.ndarray, legal: np.ndarray, settings: Mapping[str, ArgmaxValConfig]
) -> dict[str, np.ndarray]:
    """Way to choose -> ``float64[M, V]``, the probability of each action; rows sum to 1."""
    policy = legal_policy(next_token, legal)
    actions = {
        "largest V(h.a)": np.where(legal, values, -np.inf).argmax(axis=1),
        "most probable": np.where(legal, policy, -np.inf).argmax(axis=1),
    } | {
        name: argmax_val(next_token, values, legal, one.threshold, one.policy_weight) for name, one in settings.items()
    }
    one_hot = np.eye(legal.shape[1])
    return {name: one_hot[chosen] for name, chosen in actions.items()} | {
        "random": legal / legal.sum(axis=1, keepdims=True)
    }


def regret(halves: np.ndarray, legal: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``float64[M]``: the regret of choosing with the probabilities ``weights`` (``float[M, V]``).

    Args:
        halves: ``float64[2, M, V]``, the reference by each half of the worlds; anything where not ``legal``.
    """
    rows, worth = np.arange(len(legal)), np.where(legal, halves, 0.0)
    total = np.zeros(len(legal))
    for found, judged in ((0, 1), (1, 0)):
        best = np.where(legal, halves[found], -np.inf).argmax(axis=1)
        total += worth[judged, rows, best] - (weights * worth[judged]).sum(axis=1)
    return total / 2


def jackknife(statistic: Callable[[np.ndarray], np.ndarray], terms: np.ndarray) -> Estimate:
    """A statistic of the means of some terms, with its jackknife interval (leaving out one decision at a time).

    For a mean itself this is Student's t interval.

    Args:
        statistic: from means ``float64[..., C]`` to ``float64[...]``, NaN where undefined.
        terms: ``float64[M, C]``, one row for each decision.
    """
    count = len(terms)
    value = float(statistic(terms.mean(axis=0))) if count else np.nan
    if np.isnan(value) or count < MIN_DEALS:
        return Estimate(None if np.isnan(value) else value)
    without = statistic((terms.sum(axis=0) - terms) / (count - 1))
    error = np.sqrt((count - 1) / count * np.square(without - without.mean()).sum())
    if np.isnan(error):
        return Estimate(value)
    half = float(stdtrit(count - 1, 0.975) * error)
    return Estimate(value, value - half, value + half)


def _terms(values: np.ndarray, halves: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """``float64[M, 8]``: terms of the statistics below, one row for each decision.

    Args:
        values: ``float64[M, V]``, V(h.a), NaN where not legal, as everywhere here.
        halves: ``float64[2, M, V]``, the reference by each half of the worlds.
        squares: ``float64[M, V]``, mean square of the playouts' results.
    """
    reference = halves.mean(axis=0)
    x, y, a, b = (one - np.nanmean(one, axis=1, keepdims=True) for one in (values, reference, *halves))
    sums = [np.nansum(product, axis=1) for product in (x * y, x * x, y * y, a * b)]
    errors = squares - 2 * values * reference + values**2
    means = [np.nanmean(one, axis=1) for one in (errors, squares, reference, halves[0] * halves[1])]
    return np.stack([*sums, *means], axis=1)


def _correlation(means: np.ndarray) -> np.ndarray:
    xy, xx, yy = (means[..., column] for column in (0, 1, 2))
    return _ratio(xy, np.sqrt(xx * yy), np.minimum(xx, yy))


def _correlation_at_most(means: np.ndarray) -> np.ndarray:
    """Highest possible correlation: the covariance of the halves is the noise-free part of the variance."""
    yy, ab = means[..., 2], means[..., 3]
    return np.sqrt(_ratio(np.maximum(ab, 0.0), yy, yy))


def _r2(means: np.ndarray) -> np.ndarray:
    error, square, mean = (means[..., column] for column in (4, 5, 6))
    variance = square - mean**2
    return 1.0 - _ratio(error, variance, variance)


def _r2_at_most(means: np.ndarray) -> np.ndarray:
    square, mean, shared = (means[..., column] for column in (5, 6, 7))
    variance = square - mean**2
    return _ratio(shared - mean**2, variance, variance)


def _ratio(above: np.ndarray, below: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """A ratio, NaN where ``variance`` is only rounding."""
    varies = variance > _SMALLEST_VARIANCE
    return np.where(varies, above / np.where(varies, below, 1.0), np.nan)


def _part(
    name: str,
    legal: np.ndarray,
    terms: np.ndarray,
    regrets: Mapping[str, np.ndarray],
    gains: Mapping[str, np.ndarray],
) -> Part:
    return Part(
        name=name,
        decisions=len(legal),
        actions=float(legal.sum(axis=1).mean()) if len(legal) else 0.0,
        correlation=jackknife(_correlation, terms),
        correlation_at_most=jackknife(_correlation_at_most, terms).value,
        r2=jackknife(_r2, terms),
        r2_at_most=jackknife(_r2_at_most, terms).value,
        regrets={key: _mean(column) for key, column in regrets.items()},
        gains={key: _mean(column) for key, column in gains.items()},
    )


def _mean(column: np.ndarray) -> Estimate:
    return jackknife(lambda means: means[..., 0], column[:, None])
