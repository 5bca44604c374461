"""Search trees over observation histories, many at a time, in flat arrays (paper 001, Algorithm 3).

A tree is a trie of the tokens that followed its root history. A node whose next token is the search player's own
action is a *decision* once a query has valued its children. The nodes below decisions are the children of Algorithm 3;
only they have visits. All trees of a forest share one pool of nodes. Letters: ``M`` nodes of a call, ``V`` tokens.
"""

from typing import NamedTuple

import numpy as np

from games.compiling import kernel
from learner.observation_model import EMPTY

NONE = np.int64(-1)
UNCLAIMED = np.int64(2**62)
"""Above the number of any simulation."""
UNSEEN = np.int8(-1)
"""No ``Next``: of histories that nobody has looked at."""


class TokenNodes(NamedTuple):
    """The nodes of a forest, one entry each. Algorithm 3's ``Tree[h].children[a]`` is the node of h.a."""

    token: np.ndarray
    """``int32``: the token that leads to it; -1 for roots."""
    length: np.ndarray
    """``int32``: tokens in its history."""
    parent: np.ndarray
    """``int64``: the node before it, ``NONE`` for roots."""
    first_child: np.ndarray
    """``int64``: the newest node below it, ``NONE`` for none; the children of a decision are in order of tokens."""
    next_sibling: np.ndarray
    """``int64``: the next node below its parent, ``NONE`` for none."""
    handle: np.ndarray
    """``int64``: the model's handle of its history, held by the forest; ``EMPTY`` if it has none."""
    upcoming: np.ndarray
    """``int8``: a ``Next``; ``UNSEEN`` before a simulation gets there, and of roots."""
    next_token: np.ndarray
    """``float32[V]``: what simulations sample from, NaN before the query for it."""
    value: np.ndarray
    """``float32``: V(h) of actions and of queried decisions, else NaN."""
    expanded_by: np.ndarray
    """``int64``: number of the simulation that makes it a decision: 0 once it is one, ``UNCLAIMED`` if no simulation
    does. The model's answer about it is kept from the first query on."""
    log_policy: np.ndarray
    """``float64``: of actions, the logarithm of the policy's probability over legal actions."""
    total: np.ndarray
    """``float64``: of actions, the sum of the values backed up."""
    visits: np.ndarray
    """``int64``: of actions, at least 1; 0 for all other nodes."""
    pending: np.ndarray
    """``int64``: of actions, simulations in flight behind it."""


def _bare(vocabulary_size: int) -> TokenNodes:
    """One empty node."""
    nan = np.full((1, vocabulary_size), np.nan, np.float32)
    short, none, zero = np.full(1, -1, np.int32), np.full(1, NONE), np.zeros(1, np.int64)
    return TokenNodes(
        token=short,
        length=short,
        parent=none,
        first_child=none,
        next_sibling=none,
        handle=np.full(1, EMPTY, np.int64),
        upcoming=np.full(1, UNSEEN),
        next_token=nan,
        value=nan[:, 0],
        expanded_by=np.full(1, UNCLAIMED),
        log_policy=np.full(1, np.nan),
        total=np.zeros(1, np.float64),
        visits=zero,
        pending=zero,
    )


class TokenForest:
    """Search trees, each starting as a bare root; node ``b`` is the root of tree ``b``."""

    def __init__(self, lengths: np.ndarray, vocabulary_size: int) -> None:
        """``lengths``: ``int[B]``, tokens in the root histories."""
        self.num_nodes = len(lengths)
        self._bare = _bare(vocabulary_size)
        self.nodes = TokenNodes(*(bare[:0] for bare in self._bare))
        self.make_room(0)
        self.nodes.length[: len(lengths)] = lengths

    def add_decisions(self, nodes: np.ndarray, children: np.ndarray, visits: int) -> np.ndarray:
        """``int64[Z]``: new nodes for the actions ``bool[M, V]`` of each node, in order of nodes and tokens, with so
        many ``visits`` each; the caller writes their values."""
        self.make_room(int(np.count_nonzero(children)))
        first = self.num_nodes
        self.num_nodes = _add_decisions(nodes, children, first, visits, self.nodes)
        return np.arange(first, self.num_nodes)

    def root_statistics(self, tree: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Actions, mean values and visits of a tree's root, in action order."""
        nodes, below = self.nodes, self.below(tree)
        return nodes.token[below], nodes.total[below] / nodes.visits[below], nodes.visits[below]

    def best_action(self, tree: int, policy_weight: float) -> int:
        """The root action of the highest mean value + ``policy_weight`` x log p; ties to the first."""
        actions, means, _ = self.root_statistics(tree)
        return int(actions[(means + policy_weight * self.nodes.log_policy[self.below(tree)]).argmax()])

    def below(self, node: int) -> list[int]:
        """The children of a node."""
        found, child = [], int(self.nodes.first_child[node])
        while child != NONE:
            found.append(child)
            child = int(self.nodes.next_sibling[child])
        return found

    def make_room(self, count: int) -> None:
        """Make room for ``count`` more nodes; doubles arrays that are too short."""
        needed = self.num_nodes + count
        if needed > len(self.nodes.token):
            more = max(2 * needed, 1024) - len(self.nodes.token)
            pairs = zip(self.nodes, self._bare, strict=True)
            self.nodes = TokenNodes(*(np.concatenate([array, np.repeat(bare, more, axis=0)]) for array, bare in pairs))


@kernel
def find_child(node, token, nodes):
    """The node that a token leads to, or ``NONE``."""
    child = nodes.first_child[node]
    while child != NONE and nodes.token[child] != token:
        child = nodes.next_sibling[child]
    return child


@kernel
def add_child(parent, token, child, nodes):
    """Make ``child``, the next node that is free, what the token leads to; it comes before its siblings."""
    nodes.token[child], nodes.parent[child] = token, parent
    nodes.length[child] = nodes.length[parent] + 1
    nodes.next_sibling[child] = nodes.first_child[parent]
    nodes.first_child[parent] = child


@kernel
def _add_decisions(parents, children, first, visits, nodes):
    """Number of nodes with those added for the actions ``bool[M, V]`` of each node; ``first`` is the next free one."""
    for i in range(len(parents)):
        behind = first + np.count_nonzero(children[i])
        child = behind
        for token in range(children.shape[1] - 1, -1, -1):  # the newest child comes first
            if children[i, token]:
                child -= 1
                add_child(parents[i], token, child, nodes)
                nodes.visits[child] = visits
        first = behind
    return first
