"""Select and Backup of Algorithm 3, in compiled loops."""

from typing import NamedTuple

import numpy as np

from games.compiling import kernel
from search.go_mcts.tree import NONE


class SelectionRule(NamedTuple):
    """Score of an action in Select.

    mean + w log p + C sqrt(ln N / n); with w = 0 UCT, as in the paper. A simulation in flight counts as a visit in N
    and n, so it lowers the exploration term and leaves the mean (WU-UCT, Liu et al. 2020).
    """

    exploration: float
    """C"""
    policy_weight: float
    """w"""


@kernel
def select(decision, alone, selection, nodes):
    """The child with the highest score, now pending."""
    chosen = best_child(decision, alone, selection, nodes)
    nodes.pending[chosen] += 1
    return chosen


@kernel
def best_child(decision, alone, selection, nodes):
    """The child with the highest score, ties to the first. ``alone``: as if no simulation were in flight, which is
    Algorithm 3's Select."""
    total = 0
    child = nodes.first_child[decision]
    while child != NONE:
        total += nodes.visits[child] + (0 if alone else nodes.pending[child])
        child = nodes.next_sibling[child]
    chosen, best = NONE, -np.inf
    child = nodes.first_child[decision]
    while child != NONE:
        visits = nodes.visits[child] + (0 if alone else nodes.pending[child])
        score = nodes.total[child] / nodes.visits[child] + selection.policy_weight * nodes.log_policy[child]
        score += selection.exploration * np.sqrt(np.log(total) / visits)
        if score > best:
            best = score
            chosen = child
        child = nodes.next_sibling[child]
    return chosen


@kernel
def backup_all(ends, values, legal, penalty, nodes):
    """``backup`` of several simulations, one after the other."""
    for i in range(len(ends)):
        backup(ends[i], values[i], legal[i], penalty, nodes)


@kernel
def backup(end, value, legal, penalty, nodes):
    """Add a simulation's value and a visit to the actions on the path from the root to the node ``end``, where it was
    pending; an illegal history costs ``penalty`` (mu) and adds no visit."""
    while nodes.parent[end] != NONE:
        if nodes.visits[end] > 0:
            nodes.pending[end] -= 1
            if legal:
                nodes.total[end] += value
                nodes.visits[end] += 1
            else:
                nodes.total[end] -= penalty
        end = nodes.parent[end]
