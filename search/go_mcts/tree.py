"""Search trees over observation histories, many at a time, in flat arrays (paper 001, Algorithm 3).

A tree is a trie of the tokens that followed its root history. A node whose next token is the search player's own
action is a *decision* once expanded: it owns a range of edges, one per child. Any other node may keep the model's
next-token distribution, so that a distribution once computed is sampled again without a query. A node also holds the
model's handle of its history, so that no token is computed twice.

All trees of a forest share one pool of nodes, edges and distributions; letters: ``B`` trees, ``V`` tokens.
"""

from typing import Any

import numpy as np

from games.compiling import kernel
from search.go_mcts.uct import Edges, Nodes, Selection, backup_all, select_edges

NONE = np.int64(-1)
NOBODY = np.int64(2**62)
"""Above the number of any simulation."""


class Forest:
    """``B`` trees, each starting as a bare root; node ``b`` is the root of tree ``b``."""

    def __init__(self, num_trees: int, vocabulary_size: int) -> None:
        self.num_nodes = self.num_edges = self.num_distributions = 0
        ints, shorts, floats = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
        self.nodes = Nodes(shorts, ints, ints, ints, ints, ints, shorts, ints, floats)
        self.edges = Edges(shorts, ints, ints, np.empty(0, np.float64), ints, ints, floats)
        self.probabilities = np.empty((0, vocabulary_size), np.float32)
        """``float32[N, V]``: next-token distributions."""
        self.new_nodes(np.full(num_trees, NONE, np.int64), np.full(num_trees, -1, np.int32))

    def new_nodes(self, parents: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """``int64[M]``: new bare nodes, one per token, linked in front of its parent's children unless the parent is
        ``NONE``."""
        first, self.num_nodes = self.num_nodes, self.num_nodes + len(tokens)
        self.nodes = nodes = Nodes(*(_grown(array, self.num_nodes) for array in self.nodes))
        made = np.arange(first, self.num_nodes, dtype=np.int64)
        nodes.token[made] = tokens
        for link in (nodes.first_child, nodes.next_sibling, nodes.distribution, nodes.handle, nodes.first_edge):
            link[made] = NONE
        nodes.edge_count[made] = 0
        nodes.expanded_by[made] = NOBODY
        nodes.value[made] = np.nan
        _link(made, parents, nodes)
        return made

    def new_edges(self, count: int) -> np.ndarray:
        """``int64[count]``: new edges, to be written by the caller."""
        first, self.num_edges = self.num_edges, self.num_edges + count
        self.edges = Edges(*(_grown(array, self.num_edges) for array in self.edges))
        return np.arange(first, self.num_edges)

    def child_nodes(self, nodes: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """``int64[M]``: the node each observation leads to, made where there was none."""
        children = np.asarray(_find_children(nodes, tokens, self.nodes))
        missing = np.flatnonzero(children == NONE)
        if len(missing):
            pairs = nodes[missing] * self.probabilities.shape[1] + tokens[missing]
            _, first, which = np.unique(pairs, return_index=True, return_inverse=True)
            children[missing] = self.new_nodes(nodes[missing[first]], tokens[missing[first]])[which]
        return children

    def store_distributions(self, nodes: np.ndarray, probabilities: np.ndarray) -> None:
        """Keep the next-token distributions ``float32[M, V]`` of the nodes."""
        first, self.num_distributions = self.num_distributions, self.num_distributions + len(nodes)
        self.probabilities = _grown(self.probabilities, self.num_distributions)
        self.probabilities[first : self.num_distributions] = probabilities
        self.nodes.distribution[nodes] = np.arange(first, self.num_distributions)

    def add_edges(self, nodes: np.ndarray, children: np.ndarray, priors: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Give nodes the edges of the children ``bool[M, V]``, each with the value it starts with, as one visit, and
        its prior (``float[Z]`` in order of nodes and tokens); the ``int64[Z]`` nodes they lead to."""
        decisions, tokens = np.nonzero(children)
        new = self.new_edges(len(tokens))
        below = self.new_nodes(np.full(len(tokens), NONE, np.int64), tokens)
        edges, counts = self.edges, children.sum(1)
        edges.token[new], edges.child[new], edges.decision[new] = tokens, below, nodes[decisions]
        edges.value[new], edges.visits[new], edges.pending[new], edges.prior[new] = values, 1, 0, priors
        self.nodes.edge_count[nodes] = counts
        self.nodes.first_edge[nodes] = self.num_edges - len(tokens) + np.cumsum(counts) - counts
        return below

    def claim(self, nodes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """``bool[M]``: whether the decisions are now these simulations' to expand: of several, the one with the lowest
        number has it."""
        np.minimum.at(self.nodes.expanded_by, nodes, numbers)
        return np.asarray(self.nodes.expanded_by[nodes] == numbers)

    def select(self, nodes: np.ndarray, selection: Selection, alone: np.ndarray) -> np.ndarray:
        """``int64[M]``: the edge that Select chooses at each decision; a simulation is pending behind it from now on.
        Rows are served one after the other, so simulations at one node see each other, unless ``alone``
        (``bool[M]``)."""
        return np.asarray(select_edges(nodes, alone, selection, self.nodes, self.edges))

    def enter(self, nodes: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """``int64[M]``: the edge of each decision that plays the token, with a simulation pending behind it from now
        on; ``NONE`` where no child plays it."""
        found = np.asarray(_find_edges(nodes, tokens, self.nodes, self.edges))
        np.add.at(self.edges.pending, found[found != NONE], 1)
        return found

    def backup(
        self, paths: np.ndarray, depths: np.ndarray, values: np.ndarray, legal: np.ndarray, penalty: float
    ) -> None:
        """Back simulations up along ``paths[m, :depths[m]]``; see ``search.go_mcts.uct.backup``."""
        backup_all(paths, depths, values, legal, penalty, self.edges)

    def root_statistics(self, tree: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Actions, mean values and visits of a tree's root, in action order."""
        edges, own = self.edges, self.edges_of(tree)
        return edges.token[own], edges.value[own] / edges.visits[own], edges.visits[own]

    def edges_of(self, node: int) -> slice:
        """The edges of a node."""
        first = int(self.nodes.first_edge[node])
        return slice(first, first + int(self.nodes.edge_count[node]))

    def observed_below(self, node: int) -> list[int]:
        """The nodes that observations lead to from a node."""
        found, child = [], int(self.nodes.first_child[node])
        while child != NONE:
            found.append(child)
            child = int(self.nodes.next_sibling[child])
        return found

    def dump(self, node: int) -> dict[str, Any]:
        """A node and all decisions below it that are part of the tree, as plain nested records, for tests and for
        looking at a search."""
        edges, own = self.edges, self.edges_of(node)
        grown = range(own.start, own.stop) if self.nodes.expanded_by[node] == 0 else range(0)
        below = {int(self.nodes.token[child]): self._dump_grown(child) for child in self.observed_below(node)}
        return {
            "children": {
                int(edges.token[e]): {
                    "value": float(edges.value[e]),
                    "visits": int(edges.visits[e]),
                    "then": self._dump_grown(int(edges.child[e])),
                }
                for e in grown
            },
            "observations": {token: record for token, record in sorted(below.items()) if record is not None},
        }

    def _dump_grown(self, node: int) -> dict[str, Any] | None:
        record = self.dump(node)
        return record if record["children"] or record["observations"] else None


def _grown(array: np.ndarray, needed: int) -> np.ndarray:
    """The array itself if it has room for ``needed`` rows, else a copy with room for twice as many."""
    if needed <= len(array):
        return array
    larger = np.empty((max(2 * needed, 1024), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def _link(made, parents, nodes):
    for i in range(len(made)):
        if parents[i] != NONE:
            nodes.next_sibling[made[i]] = nodes.first_child[parents[i]]
            nodes.first_child[parents[i]] = made[i]


@kernel
def _find_children(at, tokens, nodes):
    children = np.empty(len(at), np.int64)
    for i in range(len(at)):
        child = nodes.first_child[at[i]]
        while child != NONE and nodes.token[child] != tokens[i]:
            child = nodes.next_sibling[child]
        children[i] = child
    return children


@kernel
def _find_edges(at, tokens, nodes, edges):
    found = np.full(len(at), NONE, np.int64)
    for i in range(len(at)):
        first = nodes.first_edge[at[i]]
        for edge in range(first, first + nodes.edge_count[at[i]]):
            if edges.token[edge] == tokens[i]:
                found[i] = edge
    return found
