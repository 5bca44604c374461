"""What a search found out about one continuation of its root history, taken over by the next search."""

import numpy as np

from search.go_mcts.tree import NONE, Forest

_EDGES = ("edge_token", "edge_value", "edge_visits", "edge_pending", "edge_prior")


def find(forest: Forest, node: int, tokens: np.ndarray) -> int:
    """The node that the tokens (``int[...]``) lead to from ``node``, or ``NONE``."""
    for token in tokens.tolist():
        below = dict(_children(forest, node))
        if token not in below:
            return int(NONE)
        node = below[token]
    return node


def graft(forest: Forest, root: int, other: Forest, node: int) -> None:
    """Grow on the bare node ``root`` what stands on ``node`` of another forest: statistics and distributions, no slots.

    Nothing may be pending there, and so nothing is once a search has ended.
    """
    pairs = [(root, node)]
    while pairs:
        mine, theirs = pairs.pop()
        if other.distribution[theirs] != NONE:
            forest.store_distributions(np.array([mine]), other.probabilities[other.distribution[theirs]][None])
        below = [child for _, child in _children(other, theirs)]
        forest.expanded_by[mine], forest.value[mine] = other.expanded_by[theirs], other.value[theirs]
        if other.edge_count[theirs]:
            pairs += zip(_copy_edges(forest, mine, other, theirs), below, strict=True)
        else:
            made = [int(forest.new_nodes(np.array([mine]), other.token[[child]])[0]) for child in below]
            pairs += zip(made, below, strict=True)


def _children(forest: Forest, node: int) -> list[tuple[int, int]]:
    """Token and node of everything below a node: of a decision's actions, or of observations."""
    if forest.edge_count[node]:
        edges = slice(forest.first_edge[node], forest.first_edge[node] + forest.edge_count[node])
        return list(zip(forest.edge_token[edges].tolist(), forest.edge_child[edges].tolist(), strict=True))
    found, child = [], int(forest.first_child[node])
    while child != NONE:
        found.append((int(forest.token[child]), child))
        child = int(forest.next_sibling[child])
    return found


def _copy_edges(forest: Forest, node: int, other: Forest, theirs: int) -> list[int]:
    """Give a bare node the edges of another forest's; the nodes they lead to."""
    count = int(other.edge_count[theirs])
    source = slice(other.first_edge[theirs], other.first_edge[theirs] + count)
    edges = forest.new_edges(count)
    for name in _EDGES:
        getattr(forest, name)[edges] = getattr(other, name)[source]
    forest.edge_child[edges] = forest.new_nodes(np.full(count, NONE, np.int64), other.edge_token[source])
    forest.first_edge[node], forest.edge_count[node] = edges[0], count
    return [int(child) for child in forest.edge_child[edges]]
