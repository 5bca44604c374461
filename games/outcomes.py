"""Outcome labels: every way a deal can end, seen from one seat (paper 001, sections 5.1 and 6.1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class OutcomeTable:
    """The labels the model's outcome head predicts. ``K`` labels, ``P`` seats; seat 0 is the observer, then
    clockwise.

    A game with more results than can be labels has supports instead: ``exact`` is False, a label stands for all results
    that it is nearest to, and ``Game.points`` is exact.
    """

    points: np.ndarray
    """``float32[K, P]``: points of every seat; whether more is better is the game's matter, the utilities settle it."""

    utilities: Mapping[str, np.ndarray]
    """Name -> ``float32[K]``: the observer's utility v(o) of every label (equations 4 and 5 and variants), more is
    better."""

    default_utility: str = field(default="")
    """The utility that players use by default; the first one if not given."""
    exact: bool = True
    """False: labels are supports, in ascending order of seat 0's points, of which the nearest stands for a result."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", np.ascontiguousarray(self.points, np.float32))
        utilities = {name: np.ascontiguousarray(values, np.float32) for name, values in self.utilities.items()}
        object.__setattr__(self, "utilities", utilities)
        object.__setattr__(self, "default_utility", self.default_utility or next(iter(utilities)))
        if not self.exact and (np.diff(self.points[:, 0]) <= 0).any():
            raise ValueError("supports must ascend in the points of seat 0")
        for name, values in utilities.items():
            if values.shape != (self.num_labels,):
                raise ValueError(f"utility {name!r} has shape {values.shape}; {self.num_labels} are needed")

    def nearest(self, points: np.ndarray) -> np.ndarray:
        """``int64[...]``: the labels whose points of seat 0 are nearest to ``points[...]``, the lower of two."""
        supports = self.points[:, 0]
        return np.searchsorted((supports[1:] + supports[:-1]) / 2, points)

    def between(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where ``points[N]`` lie among the supports: ``int64[N]``, the label below, and ``float32[N]``, how far they
        are on the way to the next one, 0 to 1. Points beyond the ends count as these."""
        supports = self.points[:, 0].astype(np.float64)
        inside = np.clip(points, supports[0], supports[-1])
        below = np.clip(np.searchsorted(supports, inside, side="right") - 1, 0, self.num_labels - 2)
        return below, ((inside - supports[below]) / (supports[below + 1] - supports[below])).astype(np.float32)

    def labels(self, points: np.ndarray) -> np.ndarray:
        """``int32[B]``: the labels of the points of all seats (``[B, P]``), -1 where no label has these; for tables in
        which no two labels have the same."""
        levels, keys, order = self._by_points
        key = self._keys_of(levels, np.asarray(points, np.float32))
        place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        return np.where(keys[place] == key, order[place], -1).astype(np.int32)

    @cached_property
    def _by_points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All numbers of points, ascending; the keys of labels, ascending, and these labels."""
        levels = np.unique(self.points)
        keys = self._keys_of(levels, self.points)
        order = np.argsort(keys)
        return levels, keys[order], order

    @staticmethod
    def _keys_of(levels: np.ndarray, points: np.ndarray) -> np.ndarray:
        """``int64[B]``: points ``[B, P]`` as one number, -1 where one is none of ``levels``."""
        digits = np.minimum(np.searchsorted(levels, points), len(levels) - 1)
        keys = digits @ (len(levels) ** np.arange(points.shape[1]))
        return np.where((levels[digits] == points).all(axis=1), keys, -1)

    @property
    def num_labels(self) -> int:
        """Number of labels, ``K``."""
        return int(self.points.shape[0])

    @property
    def lower_is_better(self) -> bool:
        """Whether a seat wants few points: over the labels its own and the default utility have a negative
        covariance."""
        own, utility = self.points[:, 0].astype(np.float64), self.utility().astype(np.float64)
        return bool(((own - own.mean()) * (utility - utility.mean())).sum() < 0)

    def utility(self, name: str = "") -> np.ndarray:
        """``float32[K]``: the utility called ``name``, or the default one for an empty name."""
        if (name or self.default_utility) not in self.utilities:
            raise ValueError(f"no utility {name!r}; this game offers {', '.join(self.utilities)}")
        return self.utilities[name or self.default_utility]
