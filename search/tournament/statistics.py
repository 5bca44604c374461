"""The statistics of tournaments: paired tests and intervals over deals.

Letters: ``D`` deals, ``C`` columns (quantities measured on every deal), ``R`` bootstrap resamples.
"""

import numpy as np
from scipy import stats

_CHUNK = 4_000_000
"""Resampling counts held at a time, bounding memory to some tens of megabytes."""


def wilcoxon_p(differences: np.ndarray) -> float:
    """Two-sided p of the Wilcoxon signed-rank test (paper 001, section 6.1) on paired differences (``float[D]``,
    equal ones equal to the last bit).

    Deals without a difference are dropped, as in Wilcoxon's own procedure; 1 where nothing is left.
    """
    left = differences[differences != 0]
    return float(stats.wilcoxon(left).pvalue) if len(left) else 1.0


def bootstrap_interval(
    values: np.ndarray, seed: int, level: float = 0.95, resamples: int = 10_000
) -> tuple[np.ndarray, np.ndarray]:
    """Percentile bootstrap interval of the mean over deals.

    Args:
        values: ``float[D, C]``; a resample draws deals, the same ones for every column.
        seed: of the resampling; equal seeds give equal intervals.
        level: probability between the two ends.
        resamples: R.

    Returns:
        lower and upper ends, ``float64[C]`` each.
    """
    num_deals = len(values)
    rng = np.random.default_rng(seed)
    share = np.full(num_deals, 1 / num_deals)
    means, step = [], max(1, _CHUNK // num_deals)
    for first in range(0, resamples, step):
        counts = rng.multinomial(num_deals, share, size=min(step, resamples - first))
        means.append(counts @ np.asarray(values, np.float64) / num_deals)
    tail = (1 - level) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail], axis=0)
    return low, high
