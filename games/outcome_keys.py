"""Keys of outcomes: the points of all seats as one number, for games that find their labels by them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from games.compiling import kernel

_BITS, _OFFSET = 12, 1024
"""Bits of a key for each seat, and the offset that makes points positive."""


def labelling(num_seats: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Kernels for ``P`` seats, at most 5, whose points lie between -1024 and 3071.

    - ``(points, observer)``: the key, an int64 that names the points of all seats (``int64[P]``) as ``observer`` sees
      them.
    - ``(points, observer, keys)``: the label of these points, -1 where no deal gives them; ``keys`` (``int64[K]``,
      ascending) has the key of each label.
    """

    def key_of(points, observer):
        key = np.int64(0)
        for position in range(num_seats):
            key = key << _BITS | (points[(observer + position) % num_seats] + _OFFSET)
        return key

    key_of = kernel(key_of)

    def label_of(points, observer, keys):
        key = key_of(points, observer)
        label = np.searchsorted(keys, key)
        return label if label < len(keys) and keys[label] == key else -1

    return key_of, kernel(label_of)


def points_of(keys: np.ndarray, num_seats: int) -> np.ndarray:
    """``float32[K, P]``: the points that keys (``int64[K]``) name."""
    shifts = _BITS * np.arange(num_seats - 1, -1, -1)
    return ((keys[:, None] >> shifts & ((1 << _BITS) - 1)) - _OFFSET).astype(np.float32)
