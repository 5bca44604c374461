"""How the compiled loops over rows are shared among threads: as many as torch uses, and numba's own to run on.

Loops that are handed over in Python wait for the interpreter; numba's threads are at it in microseconds
(docs/performance.md). Of its threading layers only two may be entered from several threads of ours at once; without
them the loops run on one thread.
"""

import functools
import importlib

import numba
import numpy as np
import torch

_WORTH_A_THREAD = 4
"""Rows of activations that pay for a thread."""


def bounds_of(count: int, cuts: np.ndarray | None = None) -> np.ndarray:
    """``int64[P + 1]``: where ``count`` rows are cut into the parts that ``P`` threads take.

    Args:
        cuts: ``int64[...]``, rising and ending in ``count``: the only places to cut at; None for any.
    """
    parts = max(1, min(num_threads(), count // _WORTH_A_THREAD))
    bounds = np.arange(parts + 1) * count // parts
    if cuts is not None and parts > 1:
        bounds[1:-1] = cuts[np.searchsorted(cuts, bounds[1:-1])]
    return bounds


def num_threads() -> int:
    """Threads that compiled loops may take."""
    return min(torch.get_num_threads(), numba.config.NUMBA_NUM_THREADS) if _layer_is_there() else 1  # type: ignore[attr-defined]


@functools.cache
def _layer_is_there() -> bool:
    """Whether numba finds the libraries of a threading layer that is safe to enter from several threads."""
    for layer in ("tbbpool", "omppool"):
        try:
            importlib.import_module(f"numba.np.ufunc.{layer}")
        except ImportError:
            continue
        return True
    return False
