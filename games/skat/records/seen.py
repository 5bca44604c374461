"""Which games a conversion has had already: 8 bytes each."""

import hashlib
from collections.abc import Iterable

import numpy as np

_RECENT = 1 << 16
"""Keys that are kept one by one before they join the others."""


def key_of(histories: np.ndarray) -> int:
    """64 bits of the tokens of a deal's three histories, which are its cards, and who did what. Among ten million games
    one is taken for another with a chance of 3 in a million."""
    return int.from_bytes(hashlib.blake2b(np.ascontiguousarray(histories).tobytes(), digest_size=8).digest(), "little")


class Seen:
    """A set of keys: sorted, and the last ones apart."""

    def __init__(self, keys: Iterable[int] = ()) -> None:
        self._sorted = np.sort(np.fromiter(keys, np.uint64))
        self._recent: set[int] = set()

    def add(self, key: int) -> bool:
        """Whether it is new."""
        place = int(np.searchsorted(self._sorted, np.uint64(key)))
        if key in self._recent or (place < len(self._sorted) and int(self._sorted[place]) == key):
            return False
        self._recent.add(key)
        if len(self._recent) == _RECENT:
            both = np.concatenate([self._sorted, np.fromiter(self._recent, np.uint64)])
            self._sorted, self._recent = np.sort(both), set()
        return True
