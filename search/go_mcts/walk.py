"""Simulations in the known part of their trees: Select, Sample and the beginning of Rollout, in compiled loops."""

import numpy as np

from games.compiling import kernel
from games.game import ACTION, OBSERVATION
from games.rng import next_state
from search.go_mcts.sampling import sampled
from search.go_mcts.tree import NONE, UNSEEN, add_child, find_child
from search.go_mcts.uct import select


@kernel
def walk(rows, alone, joined, selection, now, nodes, num_nodes):
    """Have simulations go on, one after the other, each until its history has ended or was cut short, was never seen,
    or needs the model; returns the number of nodes, at most one more for each.

    Args:
        rows: ``int64[M]``, so that of a search the earlier ones come first: each sees those before it.
        alone: ``bool[M]``: rows whose Select ignores other simulations in flight.
        joined: whether what a simulation expands is a decision for all at once.
        selection: a ``SelectionRule``.
        now: ``InFlight``.
        nodes: ``TokenNodes``.
        num_nodes: the nodes in use; there is room for more.
    """
    for i in range(len(rows)):
        row, goes_on = rows[i], True
        while goes_on and (now.upcoming[row] == ACTION or now.upcoming[row] == OBSERVATION):
            if now.leaf[row] != NONE:
                goes_on = roll(row, now, nodes)
            elif now.upcoming[row] == OBSERVATION:
                goes_on = not np.isnan(nodes.next_token[now.node[row], 0])
                num_nodes += goes_on and _observe(row, num_nodes, now, nodes)
            elif nodes.first_child[now.node[row]] == NONE:
                goes_on = False
            elif nodes.expanded_by[now.node[row]] < now.number[row]:
                below = select(now.node[row], alone[i], selection, nodes)
                _enter(row, nodes.token[below], below, now, nodes)
            else:  # the first of several simulations at a decision expands it; the others pass through
                now.leaf[row] = now.node[row]
                nodes.expanded_by[now.node[row]] = 0 if joined else now.number[row]
    return num_nodes


@kernel
def _observe(row, free, now, nodes):
    """Sample what leads to the next node, which is made if it is missing, in the place ``free``; whether it was."""
    parent, token = now.node[row], _drawn(nodes.next_token[now.node[row]], row, now)
    below = find_child(parent, token, nodes)
    missing = below == NONE
    if missing:
        below = free
        add_child(parent, token, below, nodes)
    _enter(row, token, below, now, nodes)
    return missing


@kernel
def roll(row, now, nodes):
    """Rollout within the tree's distributions: at the expanded decision, and at the child that its first token leads
    to. Whether it could."""
    node = now.node[row]
    if now.steps_left[row] == 0 or nodes.length[node] != now.length[row]:
        return False
    token = _drawn(nodes.next_token[node], row, now)
    child = find_child(node, token, nodes) if node == now.leaf[row] else NONE
    if child == NONE:
        _append(row, token, now)
    else:
        nodes.pending[child] += 1
        _enter(row, token, child, now, nodes)
        now.steps_left[row] -= now.upcoming[row] == ACTION
    return True


@kernel
def roll_out(rows, probabilities, which, now):
    """Append one token of Rollout each, from the distributions ``probabilities[which]`` (``float32[N, V]``)."""
    for i in range(len(rows)):
        _append(rows[i], _drawn(probabilities[which[i]], rows[i], now), now)


@kernel
def _drawn(p, row, now):
    now.counter[row] = next_state(now.counter[row])
    return sampled(p, now.counter[row])


@kernel
def _enter(row, token, node, now, nodes):
    _append(row, token, now)
    now.node[row], now.upcoming[row] = node, nodes.upcoming[node]


@kernel
def _append(row, token, now):
    now.tokens[row, now.length[row]] = token
    now.length[row] += 1
    now.upcoming[row] = UNSEEN
