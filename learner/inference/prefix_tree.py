"""Who holds which slot of the cache of keys and values: bookkeeping on the host, no tensor.

A slot belongs to one token behind one history, so slots form a forest: each knows its token and the slot of the token
before it. That is what lets the engine check that a path is the history it is said to be.
"""

import numpy as np

from games.compiling import kernel

FREE = -2
"""``parent`` of a slot that nobody holds."""
ROOT = -1
"""``parent`` of a history's first token."""


class SlotPool:
    """``limit`` slots, lowest first, so that memory is touched only as far as it is needed."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.token = np.zeros(limit, np.int32)
        self.parent = np.full(limit, FREE, np.int32)
        self._free = np.arange(limit - 1, -1, -1, dtype=np.int64)
        self.left = limit
        self.reached = 0
        """Slots below this have been held at some time, none above."""

    def take(self, count: int) -> np.ndarray:
        """``int64[count]`` slots; ``ValueError`` if there are not as many. Their token and parent are the caller's to
        write."""
        if count > self.left:
            raise ValueError(
                f"the cache of keys and values is full: {self.limit - self.left:,} of {self.limit:,} slots are taken "
                f"and {count:,} more are needed; raise engine.cache_mb or play fewer games side by side"
            )
        self.left -= count
        slots = self._free[self.left : self.left + count][::-1].copy()
        self.reached = max(self.reached, int(slots.max(initial=-1)) + 1)
        return slots

    def free(self, slots: np.ndarray) -> None:
        """Give slots back, entries below 0 passed over; ``ValueError`` for one that nobody holds."""
        slots = slots[slots >= 0]
        if len(slots) and (slots.max() >= self.limit or (self.parent[slots] == FREE).any()):
            raise ValueError("a slot was given back that nobody holds")
        self.parent[slots] = FREE
        self._free[self.left : self.left + len(slots)] = slots
        self.left += len(slots)


@kernel
def first_broken_path(paths, held, tokens, token_of, parent_of):
    """The first row whose path is not the beginning of its history, or -1."""
    for row in range(len(held)):
        parent = -1
        for place in range(held[row]):
            slot = paths[row, place]
            if slot < 0 or slot >= len(token_of) or parent_of[slot] != parent or token_of[slot] != tokens[row, place]:
                return row
            parent = slot
    return -1
