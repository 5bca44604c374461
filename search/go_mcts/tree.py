"""Search trees over observation histories, many at a time, in flat arrays (paper 001, Algorithm 3).

A tree is a trie of the tokens that followed its root history. A node whose next token is the search player's own
action is a *decision* once expanded: it owns a run of edges, one per child, each with the sum of backed-up values, the
visits, and the runs *pending* behind it, which have passed it and are not backed up yet. Any other node may keep the
model's next-token distribution, so that a distribution once computed is sampled again without a query. A node also
knows the model's slot of its token, so that nothing is computed twice.

All trees of a forest share one pool of nodes, edges and distributions; letters: ``B`` trees, ``V`` tokens.
"""

from typing import Any

import numpy as np

from games.compiling import kernel
from games.rng import next_state, output, uniform
from search.go_mcts.uct import backup_runs, select_edges

NONE = np.int64(-1)
NOBODY = np.int64(2**62)
"""Above the number of any run."""


_OF_NODES = (
    "token",
    "first_child",
    "next_sibling",
    "distribution",
    "slot",
    "first_edge",
    "edge_count",
    "expanded_by",
    "value",
)


class Forest:
    """``B`` trees, each starting as a bare root; node ``b`` is the root of tree ``b``."""

    def __init__(self, num_trees: int, vocabulary_size: int) -> None:
        self.num_nodes = 0
        self.num_edges = 0
        self.num_distributions = 0
        self.token = np.empty(0, np.int32)
        self.first_child = np.empty(0, np.int64)
        self.next_sibling = np.empty(0, np.int64)
        self.distribution = np.empty(0, np.int64)
        self.slot = np.empty(0, np.int64)
        self.first_edge = np.empty(0, np.int64)
        self.edge_count = np.empty(0, np.int32)
        self.expanded_by = np.empty(0, np.int64)
        """The number of the run that makes a node part of the tree as a decision; 0 once it is, ``NOBODY`` if no run
        has asked to. What the model said of it is there from the first answer on."""
        self.value = np.empty(0, np.float32)
        """V(h) of decisions that were asked for it, else NaN."""
        self.edge_token = np.empty(0, np.int32)
        self.edge_child = np.empty(0, np.int64)
        self.edge_value = np.empty(0, np.float64)
        self.edge_visits = np.empty(0, np.int64)
        self.edge_pending = np.empty(0, np.int64)
        self.edge_prior = np.empty(0, np.float32)
        self.probabilities = np.empty((0, vocabulary_size), np.float32)
        self.new_nodes(np.full(num_trees, NONE, np.int64), np.full(num_trees, -1, np.int32))

    def new_nodes(self, parents: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Append one bare node per token, linked in front of its parent's children unless the parent is ``NONE``."""
        first = self.num_nodes
        self._reserve_nodes(len(tokens))
        nodes = np.arange(first, first + len(tokens), dtype=np.int64)
        self.token[nodes] = tokens
        for link in (self.first_child, self.next_sibling, self.distribution, self.slot, self.first_edge):
            link[nodes] = NONE
        self.edge_count[nodes] = 0
        self.expanded_by[nodes] = NOBODY
        self.value[nodes] = np.nan
        self.num_nodes += len(tokens)
        _link(nodes, parents, self.first_child, self.next_sibling)
        return nodes

    def new_edges(self, count: int) -> np.ndarray:
        """Append edges, to be written by the caller."""
        self._reserve_edges(count)
        self.num_edges += count
        return np.arange(self.num_edges - count, self.num_edges)

    def child_nodes(self, nodes: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """``int64[M]``: the node each token leads to, made where there was none."""
        children = np.asarray(_find_children(nodes, tokens, self.first_child, self.next_sibling, self.token))
        missing = np.flatnonzero(children == NONE)
        if len(missing):
            pairs = nodes[missing] * self.probabilities.shape[1] + tokens[missing]
            _, first, which = np.unique(pairs, return_index=True, return_inverse=True)
            made = self.new_nodes(nodes[missing[first]], tokens[missing[first]])
            children[missing] = made[which]
        return children

    def store_distributions(self, nodes: np.ndarray, probabilities: np.ndarray) -> None:
        """Keep the next-token distributions ``float32[M, V]`` of the nodes."""
        first = self.num_distributions
        self._reserve_distributions(len(nodes))
        self.probabilities[first : first + len(nodes)] = probabilities
        self.distribution[nodes] = np.arange(first, first + len(nodes))
        self.num_distributions += len(nodes)

    def expand(
        self,
        nodes: np.ndarray,
        children: np.ndarray,
        priors: np.ndarray,
        values: np.ndarray,
        slots: np.ndarray,
        following: np.ndarray,
    ) -> None:
        """Turn nodes into decisions with the children ``bool[M, V]``.

        For each child, in order of nodes and tokens: the policy's probability; the value it starts with, as one visit;
        the slot of its token; and ``following[:, V]``, its next-token distribution.
        """
        tokens = np.nonzero(children)[1]
        edges = self.new_edges(len(tokens))
        first = self.num_edges - len(tokens)
        below = self.new_nodes(np.full(len(tokens), NONE, np.int64), tokens)
        self.slot[below] = slots
        self.store_distributions(below, following)
        self.edge_token[edges] = tokens
        self.edge_child[edges] = below
        self.edge_value[edges] = values
        self.edge_visits[edges] = 1
        self.edge_pending[edges] = 0
        self.edge_prior[edges] = priors
        counts = children.sum(1)
        self.edge_count[nodes] = counts
        self.first_edge[nodes] = first + np.cumsum(counts) - counts

    def claim(self, nodes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """``bool[M]``: whether the decisions are now these runs' to expand: of several runs the one that comes first in
        the order of numbers has it."""
        np.minimum.at(self.expanded_by, nodes, numbers)
        return np.asarray(self.expanded_by[nodes] == numbers)

    def select(
        self,
        nodes: np.ndarray,
        exploration: float,
        virtual_loss: float,
        puct: bool = False,
        alone: np.ndarray | None = None,
    ) -> np.ndarray:
        """``int64[M]``: the edge with the highest score of each decision, the first one of equals; a run is pending
        behind it from now on. Rows are served one after the other, so runs at one node see each other.

        The score is UCT, mean + C sqrt(ln N / n), or with ``puct`` mean + C prior sqrt(N) / (1 + n). A pending run
        counts as a visit that brings the mean found so far less ``virtual_loss``; with 0 only the exploration term
        notices it (WU-UCT, Liu et al. 2020). Rows that are ``alone`` (``bool[M]``) do not see pending runs.
        """
        edges: np.ndarray = select_edges(
            nodes,
            np.zeros(len(nodes), bool) if alone is None else alone,
            exploration,
            virtual_loss,
            puct,
            self.first_edge,
            self.edge_count,
            self.edge_value,
            self.edge_visits,
            self.edge_pending,
            self.edge_prior,
        )
        return edges

    def enter(self, nodes: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """``int64[M]``: the edge of each decision that plays the token, with a run pending behind it from now on;
        ``NONE`` where no child plays it."""
        edges: np.ndarray = _find_edges(nodes, tokens, self.first_edge, self.edge_count, self.edge_token)
        np.add.at(self.edge_pending, edges[edges != NONE], 1)
        return edges

    def backup(
        self, paths: np.ndarray, depths: np.ndarray, values: np.ndarray, legal: np.ndarray, penalty: float
    ) -> None:
        """Add each run's value and a visit to the edges ``paths[m, :depths[m]]`` it was pending behind; an illegal run
        costs ``penalty``, no visit."""
        backup_runs(paths, depths, values, legal, penalty, self.edge_value, self.edge_visits, self.edge_pending)

    def root_statistics(self, tree: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Actions, mean values and visits of a tree's root, in action order."""
        edges = slice(self.first_edge[tree], self.first_edge[tree] + self.edge_count[tree])
        return self.edge_token[edges], self.edge_value[edges] / self.edge_visits[edges], self.edge_visits[edges]

    def dump(self, node: int) -> dict[str, Any]:
        """A node and all decisions below it that runs have grown, as plain nested records, for tests and for looking at
        a search."""
        grown = self.expanded_by[node] == 0
        edges = range(self.first_edge[node], self.first_edge[node] + self.edge_count[node]) if grown else range(0)
        observations = {}
        child = self.first_child[node]
        while child != NONE:
            below = self._dump_grown(child)
            if below is not None:
                observations[int(self.token[child])] = below
            child = self.next_sibling[child]
        return {
            "children": {
                int(self.edge_token[e]): {
                    "value": float(self.edge_value[e]),
                    "visits": int(self.edge_visits[e]),
                    "then": self._dump_grown(self.edge_child[e]),
                }
                for e in edges
            },
            "observations": dict(sorted(observations.items())),
        }

    def _dump_grown(self, node: int) -> dict[str, Any] | None:
        record = self.dump(node)
        return record if record["children"] or record["observations"] else None

    def _reserve_nodes(self, count: int) -> None:
        for name in _OF_NODES:
            setattr(self, name, _grown(getattr(self, name), self.num_nodes + count))

    def _reserve_edges(self, count: int) -> None:
        for name in ("edge_token", "edge_child", "edge_value", "edge_visits", "edge_pending", "edge_prior"):
            setattr(self, name, _grown(getattr(self, name), self.num_edges + count))

    def _reserve_distributions(self, count: int) -> None:
        self.probabilities = _grown(self.probabilities, self.num_distributions + count)


def sample_rows(probabilities: np.ndarray, rows: np.ndarray, counters: np.ndarray) -> np.ndarray:
    """``int32[M]``: one token from each of the distributions ``probabilities[rows]`` (``float32[N, V]``); steps the
    random counters ``uint64[M]`` in place."""
    tokens = np.empty(len(rows), np.int32)
    with np.errstate(over="ignore"):
        _sample_rows(probabilities, rows, counters, tokens)
    return tokens


def _grown(array: np.ndarray, needed: int) -> np.ndarray:
    """The array itself if it has room for ``needed`` rows, else a copy with room for twice as many."""
    if needed <= len(array):
        return array
    larger = np.empty((max(2 * needed, 1024), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def _link(nodes, parents, first_child, next_sibling):
    for i in range(len(nodes)):
        node, parent = nodes[i], parents[i]
        if parent != NONE:
            next_sibling[node] = first_child[parent]
            first_child[parent] = node


@kernel
def _find_children(nodes, tokens, first_child, next_sibling, token):
    children = np.empty(len(nodes), np.int64)
    for i in range(len(nodes)):
        child = first_child[nodes[i]]
        while child != NONE and token[child] != tokens[i]:
            child = next_sibling[child]
        children[i] = child
    return children


@kernel
def _find_edges(nodes, tokens, first_edge, edge_count, edge_token):
    edges = np.full(len(nodes), NONE, np.int64)
    for i in range(len(nodes)):
        first = first_edge[nodes[i]]
        for edge in range(first, first + edge_count[nodes[i]]):
            if edge_token[edge] == tokens[i]:
                edges[i] = edge
    return edges


@kernel
def _sample_rows(probabilities, rows, counters, tokens):
    for i in range(len(rows)):
        p = probabilities[rows[i]]
        counters[i] = next_state(counters[i])
        left = uniform(output(counters[i])) * p.sum()
        chosen = 0
        for t in range(len(p)):
            if p[t] > 0.0:
                chosen = t  # rounding may leave a crumb: then the last possible token takes it
                left -= p[t]
                if left < 0.0:
                    break
        tokens[i] = chosen
