"""Choosing and crediting the edges of search trees, in compiled loops over a forest's arrays
(``search.go_mcts.tree``)."""

import numpy as np

from games.compiling import kernel


@kernel
def select_edges(
    nodes,
    alone,
    exploration,
    virtual_loss,
    puct,
    first_edge,
    edge_count,
    edge_value,
    edge_visits,
    edge_pending,
    edge_prior,
):
    edges = np.empty(len(nodes), np.int64)
    for i in range(len(nodes)):
        first = first_edge[nodes[i]]
        last = first + edge_count[nodes[i]]
        edges[i] = best_edge(
            first, last, alone[i], exploration, virtual_loss, puct, edge_value, edge_visits, edge_pending, edge_prior
        )
        edge_pending[edges[i]] += 1
    return edges


@kernel
def best_edge(first, last, alone, exploration, virtual_loss, puct, edge_value, edge_visits, edge_pending, edge_prior):
    """Of the edges ``first .. last - 1`` the one with the highest score; see ``Forest.select``."""
    chosen, total, best = first, 0, -np.inf
    for edge in range(first, last):
        total += edge_visits[edge] + (0 if alone else edge_pending[edge])
    for edge in range(first, last):
        pending = 0 if alone else edge_pending[edge]
        visits = edge_visits[edge] + pending
        score = edge_value[edge] / edge_visits[edge]
        if puct:
            score += exploration * edge_prior[edge] * np.sqrt(total) / (1 + visits)
        else:
            score += exploration * np.sqrt(np.log(total) / visits)
        if pending > 0:
            score -= virtual_loss * pending / visits
        if score > best:
            best = score
            chosen = edge
    return chosen


@kernel
def backup_runs(paths, depths, values, legal, penalty, edge_value, edge_visits, edge_pending):
    for i in range(len(depths)):
        backup_run(paths[i], depths[i], values[i], legal[i], penalty, edge_value, edge_visits, edge_pending)


@kernel
def backup_run(path, depth, value, legal, penalty, edge_value, edge_visits, edge_pending):
    """One run of ``Forest.backup``."""
    for d in range(depth):
        edge = path[d]
        edge_pending[edge] -= 1
        if legal:
            edge_value[edge] += value
            edge_visits[edge] += 1
        else:
            edge_value[edge] -= penalty
