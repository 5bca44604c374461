"""The prefix tree of histories: the KV slot of every token, with reference counts.

A *slot* is one token after one history, so slots are the nodes of a tree (strictly: a forest, as histories begin with
different tokens), and the slot of a history's last token is the history's *handle*. Bookkeeping on the host, no tensor.

Letters: ``M`` histories, ``T`` new tokens, ``V`` tokens of the vocabulary, ``P`` slots of a pass.
"""

import numpy as np

from games.compiling import kernel
from learner.observation_model import EMPTY

NODE = np.dtype(
    [
        ("parent", np.int64),  # slot of the token before it, EMPTY for a history's first
        ("token", np.int32),
        ("depth", np.int32),  # tokens of its history, itself included; 0 for a free slot
        ("holds", np.int32),  # references by callers
        ("children", np.int32),
    ]
)
"""A slot."""


class PrefixTree:
    """At most ``limit`` slots. A slot is in use while a caller holds it or a history that continues it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit
        """Slots that are free."""
        # Memory that is never written to costs nothing: small networks have room for millions of slots.
        self.nodes = np.zeros(limit, NODE)
        """``NODE[limit]``"""
        self._given_back = np.zeros(limit, np.int64)
        self._num_given_back = 0
        self._never_used = 0

    def depth(self, handles: np.ndarray) -> np.ndarray:
        """``int64[M]``: tokens of each history, 0 for ``EMPTY``; ``ValueError`` for a handle that is not held."""
        inside = (handles >= 0) & (handles < self.limit)
        slots = np.where(inside, handles, 0)
        unknown = np.where(inside, self.nodes["holds"][slots] == 0, handles != EMPTY)
        if unknown.any():
            row = int(np.argmax(unknown))
            raise ValueError(f"row {row}: the handle {handles[row]} is not held")
        return np.where(inside, self.nodes["depth"][slots], 0).astype(np.int64)

    def check_room(self, count: int) -> None:
        """``ValueError`` unless ``count`` slots are free."""
        if count > self.left:
            raise ValueError(
                f"the cache of keys and values is full: {self.limit - self.left:,} of {self.limit:,} slots are taken "
                f"and {count:,} more are needed; raise engine.cache_mb or play fewer games side by side"
            )

    def extend(self, handles: np.ndarray, tokens: np.ndarray, counts: np.ndarray, marked: np.ndarray) -> np.ndarray:
        """Allocate slots for new tokens and for candidates after them; adds a reference to every history's last slot
        and every candidate's.

        Args:
            handles: ``int64[M]`` handles of the histories' prefixes, checked by ``depth``.
            tokens: ``int64[T]`` the new tokens, row after row.
            counts: ``int64[M]`` number of each row's new tokens; with 0 the history does not change.
            marked: ``bool[M, V]`` candidates; the caller has checked the room (``check_room``).

        Returns:
            ``int64[P]``: for each row the slots of its new tokens (without any the history's own slot), then of its
            candidates.
        """
        fresh = self._take(len(tokens) + int(marked.sum()))
        return np.asarray(_extend(self.nodes, handles, tokens, counts, marked, fresh))

    def release(self, handles: np.ndarray) -> None:
        """Drop one reference to each handle (``int64[N]``, negative ones ignored) and free unused slots. ``ValueError``
        for a handle that is not held; nothing has changed then."""
        freed = _release(self.nodes, handles, self._given_back, self._num_given_back)
        if freed < 0:
            raise ValueError("a handle was released that is not held")
        self._num_given_back += freed
        self.left += freed

    def _take(self, count: int) -> np.ndarray:
        """``int64[count]`` slots: freed ones first, so that no more memory is touched than needed."""
        old = min(count, self._num_given_back)
        fresh = count - old
        self._num_given_back -= old
        self._never_used += fresh
        self.left -= count
        again = self._given_back[self._num_given_back : self._num_given_back + old]
        return np.concatenate([again, np.arange(self._never_used - fresh, self._never_used)])


@kernel
def _extend(nodes, handles, tokens, counts, marked, fresh):
    slots = np.empty(len(fresh) + np.count_nonzero(counts == 0), np.int64)
    at, taken, next_token = 0, 0, 0
    for row in range(len(handles)):
        last = handles[row]
        if counts[row] == 0:
            slots[at] = last
            at += 1
        for _ in range(counts[row]):
            last = _add(nodes, fresh[taken], tokens[next_token], last)
            slots[at] = last
            at, taken, next_token = at + 1, taken + 1, next_token + 1
        nodes[last]["holds"] += 1
        for token in range(marked.shape[1]):
            if marked[row, token]:
                slots[at] = _add(nodes, fresh[taken], token, last)
                nodes[slots[at]]["holds"] += 1
                at, taken = at + 1, taken + 1
    return slots


@kernel
def _add(nodes, slot, token, parent):
    """A free slot becomes a token behind ``parent``."""
    nodes[slot]["token"] = token
    nodes[slot]["parent"] = parent
    nodes[slot]["depth"] = 1
    if parent >= 0:
        nodes[slot]["depth"] += nodes[parent]["depth"]
        nodes[parent]["children"] += 1
    return slot


@kernel
def _release(nodes, handles, given_back, num_given_back):
    """Append freed slots to the free list; returns their number, or -1 if one of the handles is not held."""
    for index in range(len(handles)):
        slot = handles[index]
        if slot < 0:
            continue
        if slot >= len(nodes) or nodes[slot]["holds"] == 0:
            for earlier in handles[:index]:
                if earlier >= 0:
                    nodes[earlier]["holds"] += 1
            return -1
        nodes[slot]["holds"] -= 1
    end = num_given_back
    for slot in handles:
        # A handle may be listed twice, or be freed along with another: free slots have depth 0.
        while slot >= 0 and nodes[slot]["depth"] > 0 and nodes[slot]["holds"] == 0 and nodes[slot]["children"] == 0:
            nodes[slot]["depth"] = 0
            given_back[end] = slot
            end += 1
            slot = nodes[slot]["parent"]
            if slot >= 0:
                nodes[slot]["children"] -= 1
    return end - num_given_back
