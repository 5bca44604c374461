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
    next_token: np.ndarray
    """``float32[V]``: the next-token distribution, NaN before the query for it."""
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
        self._make_room(0)
        self.nodes.length[: len(lengths)] = lengths

    def child_nodes(self, parents: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """``int64[M]``: the node that each token leads to from its parent, made if missing; new nodes come before their
        siblings."""
        self._make_room(len(tokens))
        parents, tokens = np.ascontiguousarray(parents), np.ascontiguousarray(tokens, np.int32)
        children, self.num_nodes = _find_or_add(parents, tokens, self.num_nodes, self.nodes)
        return np.asarray(children)

    def add_decisions(self, nodes: np.ndarray, children: np.ndarray, visits: int) -> np.ndarray:
        """``int64[Z]``: new nodes for the actions ``bool[M, V]`` of each node, in order of nodes and tokens, with so
        many ``visits`` each; the caller writes their values."""
        rows, tokens = np.nonzero(children)
        made = self.child_nodes(nodes[rows][::-1], tokens[::-1])[::-1]  # the newest child comes first
        self.nodes.visits[made] = visits
        return made

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

    def _make_room(self, count: int) -> None:
        """Make room for ``count`` more nodes; doubles arrays that are too short."""
        needed = self.num_nodes + count
        if needed > len(self.nodes.token):
            more = max(2 * needed, 1024) - len(self.nodes.token)
            pairs = zip(self.nodes, self._bare, strict=True)
            self.nodes = TokenNodes(*(np.concatenate([array, np.repeat(bare, more, axis=0)]) for array, bare in pairs))


@kernel
def _find_child(node, token, nodes):
    """The node that a token leads to, or ``NONE``."""
    child = nodes.first_child[node]
    while child != NONE and nodes.token[child] != token:
        child = nodes.next_sibling[child]
    return child


@kernel
def find_children(at, tokens, nodes):
    """``int64[M]``: the node that each token leads to from the node beside it, or ``NONE``."""
    found = np.empty(len(at), np.int64)
    for i in range(len(at)):
        found[i] = _find_child(at[i], tokens[i], nodes)
    return found


@kernel
def last_with_handle(at, nodes):
    """``int64[M]``: the nearest node with a handle on the path from each node up; the root if there is none."""
    found = at.copy()
    for i in range(len(at)):
        while nodes.handle[found[i]] == EMPTY and nodes.parent[found[i]] != NONE:
            found[i] = nodes.parent[found[i]]
    return found


@kernel
def _find_or_add(parents, tokens, count, nodes):
    children = np.empty(len(parents), np.int64)
    for i in range(len(parents)):
        parent, child = parents[i], _find_child(parents[i], tokens[i], nodes)
        if child == NONE:
            child = count
            nodes.token[child], nodes.parent[child] = tokens[i], parent
            nodes.length[child] = nodes.length[parent] + 1
            nodes.next_sibling[child] = nodes.first_child[parent]
            nodes.first_child[parent] = child
            count += 1
        children[i] = child
    return children, count
