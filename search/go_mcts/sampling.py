"""The function Sample of Algorithm 3, for many histories at once."""

import numpy as np

from games.compiling import kernel
from games.rng import next_state, output, uniform


def sample_rows(probabilities: np.ndarray, rows: np.ndarray, counters: np.ndarray) -> np.ndarray:
    """``int32[M]``: one token from each of the distributions ``probabilities[rows]`` (``float32[N, V]``, not
    necessarily normalised); steps the random counters ``uint64[M]`` in place."""
    tokens = np.empty(len(rows), np.int32)
    with np.errstate(over="ignore"):
        _sample_rows(probabilities, rows, counters, tokens)
    return tokens


@kernel
def _sample_rows(probabilities, rows, counters, tokens):
    for i in range(len(rows)):
        counters[i] = next_state(counters[i])
        tokens[i] = sampled(probabilities[rows[i]], counters[i])


@kernel
def sampled(p, counter):
    """A token from the distribution ``p`` by the bits of a random counter."""
    left, chosen = uniform(output(counter)) * p.sum(), 0
    for t in range(len(p)):
        if p[t] > 0.0:
            chosen = t  # rounding may leave a remainder: the last possible token takes it
            left -= p[t]
            if left < 0.0:
                break
    return chosen
