"""Select and Backup of Algorithm 3: choosing and crediting the edges of search trees, in compiled loops."""

from typing import NamedTuple

import numpy as np

from games.compiling import kernel


class Nodes(NamedTuple):
    """The nodes of a forest, one entry each; ``search.go_mcts.tree`` tells what a node is."""

    token: np.ndarray
    """``int32``: the token that leads to it; -1 for roots."""
    first_child: np.ndarray
    """``int64``: the newest node below it that an observation leads to, -1 for none."""
    next_sibling: np.ndarray
    """``int64``: the next older one of its parent, -1 for none."""
    distribution: np.ndarray
    """``int64``: row of the next-token distribution, -1 before the model has told it."""
    handle: np.ndarray
    """``int64``: the model's handle of its history, held by the forest; -1 if it has none."""
    first_edge: np.ndarray
    """``int64``: its first edge."""
    edge_count: np.ndarray
    """``int32``: its edges, 0 before the model has told about the decision."""
    expanded_by: np.ndarray
    """``int64``: the number of the simulation that makes it a decision of the tree: 0 once it is one, ``NOBODY`` if no
    simulation has asked to. What the model said of it is there from the first answer on."""
    value: np.ndarray
    """``float32``: V(h) of decisions that were asked for it, else NaN."""


class Edges(NamedTuple):
    """The children of decisions, one entry each: ``Tree[h].children[action]`` of Algorithm 3."""

    token: np.ndarray
    """``int32``: the action."""
    child: np.ndarray
    """``int64``: the node it leads to."""
    decision: np.ndarray
    """``int64``: the node it belongs to."""
    value: np.ndarray
    """``float64``: sum of the values backed up."""
    visits: np.ndarray
    """``int64``"""
    pending: np.ndarray
    """``int64``: simulations in flight behind it."""
    prior: np.ndarray
    """``float32``: the policy's probability over legal actions."""


class Selection(NamedTuple):
    """How Select scores an edge.

    UCT: mean + C sqrt(ln N / n); with ``puct`` mean + C prior sqrt(N) / (1 + n). A simulation in flight counts as a
    visit that brings the mean found so far less ``virtual_loss``; with 0 only the exploration term notices it (WU-UCT,
    Liu et al. 2020).
    """

    exploration: float
    """C"""
    puct: bool
    virtual_loss: float


@kernel
def select_edges(nodes, alone, selection, forest_nodes, edges):
    """``int64[M]``: the edge with the highest score of each decision; a simulation is pending behind it from now on."""
    chosen = np.empty(len(nodes), np.int64)
    for i in range(len(nodes)):
        first = forest_nodes.first_edge[nodes[i]]
        last = first + forest_nodes.edge_count[nodes[i]]
        chosen[i] = best_edge(first, last, alone[i], selection, edges)
        edges.pending[chosen[i]] += 1
    return chosen


@kernel
def best_edge(first, last, alone, selection, edges):
    """Of the edges ``first .. last - 1`` the one with the highest score, the first one of equals. ``alone``: as if no
    simulation were in flight, which is Algorithm 3's Select."""
    chosen, total, best = first, 0, -np.inf
    for edge in range(first, last):
        total += edges.visits[edge] + (0 if alone else edges.pending[edge])
    for edge in range(first, last):
        pending = 0 if alone else edges.pending[edge]
        visits = edges.visits[edge] + pending
        score = edges.value[edge] / edges.visits[edge]
        if selection.puct:
            score += selection.exploration * edges.prior[edge] * np.sqrt(total) / (1 + visits)
        else:
            score += selection.exploration * np.sqrt(np.log(total) / visits)
        if pending > 0:
            score -= selection.virtual_loss * pending / visits
        if score > best:
            best = score
            chosen = edge
    return chosen


@kernel
def backup_all(paths, depths, values, legal, penalty, edges):
    """``backup`` of several simulations, one after the other."""
    for i in range(len(depths)):
        backup(paths[i], depths[i], values[i], legal[i], penalty, edges)


@kernel
def backup(path, depth, value, legal, penalty, edges):
    """Add a simulation's value and a visit to the edges ``path[:depth]`` it was pending behind; an illegal history
    costs ``penalty`` (mu) and brings no visit."""
    for d in range(depth):
        edge = path[d]
        edges.pending[edge] -= 1
        if legal:
            edges.value[edge] += value
            edges.visits[edge] += 1
        else:
            edges.value[edge] -= penalty
