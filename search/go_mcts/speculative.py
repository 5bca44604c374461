"""Runs that begin before their turn, and trees that come out as if they had not.

Algorithm 3 makes one run after the other, each on the tree that the ones before it left. A model answers many queries
in the time of one, so runs begin ahead of their turn: they select as if the runs under way before them had ended with
the mean found so far, which is right for most of them (docs/search.md). Their results wait until it is their turn.
Then every selection is made again on the tree as it is; a run that would have gone elsewhere is thrown away with all
behind it, which have counted on its choices, and they are made anew. As a run's random numbers depend on its number
alone, and what the model says on the history alone, the tree is the one that Algorithm 3 grows.
"""

import numpy as np

from games.compiling import kernel
from search.config import GoMctsConfig
from search.go_mcts.simulations import Runs
from search.go_mcts.tree import NOBODY, NONE, Forest
from search.go_mcts.uct import backup_run, best_edge

_COMMITTED, _AGAIN = 1, 2


class InOrder:
    """Backs up the runs of a batch of searches in the order of their numbers."""

    def __init__(self, runs: Runs, forest: Forest, config: GoMctsConfig) -> None:
        self._runs, self._forest, self._config = runs, forest, config
        self._value = np.zeros(len(runs.tree), np.float64)
        self._legal = np.zeros(len(runs.tree), bool)
        self._committed = np.zeros(len(runs.roots.lengths), np.int64)

    def is_next(self, rows: np.ndarray) -> np.ndarray:
        """``bool[M]``: whether all runs before these have been backed up."""
        return np.asarray(self._runs.number[rows] == self._committed[self._runs.tree[rows]] + 1)

    def end(self, rows: np.ndarray, values: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """These runs have ended: with a value, or (not ``legal``) in a history that could not have happened.

        Returns:
            rows that were backed up, whether each of them was legal, and rows that have to be made anew; of these some
            may have been put off.
        """
        runs, forest, config = self._runs, self._forest, self._config
        runs.done[rows], self._value[rows], self._legal[rows] = True, values, legal
        verdict = np.zeros(len(runs.tree), np.int8)
        _commit(
            np.unique(runs.tree[rows]),
            (runs.lanes, runs.active, runs.done, runs.number, self._committed),
            (runs.decisions, runs.selected, runs.leaf, runs.edges, runs.depth),
            (self._value, self._legal, config.illegal_penalty),
            (config.exploration, config.selection == "puct"),
            (forest.first_edge, forest.edge_count, forest.expanded_by),
            (forest.edge_value, forest.edge_visits, forest.edge_pending, forest.edge_prior),
            verdict,
        )
        committed, again = np.flatnonzero(verdict == _COMMITTED), np.flatnonzero(verdict == _AGAIN)
        runs.done[committed] = runs.done[again] = False
        self._adapt(runs.tree[committed], np.unique(runs.tree[again]))
        tree = runs.tree[again]
        runs.put_off(again[runs.number[again] > self._committed[tree] + runs.allowed[tree]])
        return committed, self._legal[committed], again

    def _adapt(self, right: np.ndarray, wrong: np.ndarray) -> None:
        """How far ahead runs begin follows how far the guesses carry: one more for each that was right, half as many
        after one that was wrong."""
        allowed = self._runs.allowed
        np.add.at(allowed, right, 1)
        np.minimum(allowed, self._runs.lanes, out=allowed)
        allowed[wrong] = np.minimum(np.maximum(allowed[wrong] // 2, 2), self._runs.lanes)


@kernel
def _commit(trees, state, paths, results, selection, nodes, edges, verdict):
    lanes, active, done, number, committed = state
    leaf, taken, depth = paths[2], paths[3], paths[4]
    value, legal, penalty = results
    for tree in trees:
        rows = range(tree * lanes, (tree + 1) * lanes)
        while True:
            head = -1
            for row in rows:
                if active[row] and verdict[row] == 0 and number[row] == committed[tree] + 1:
                    head = row
            if head < 0:
                break
            if not _as_the_plain_algorithm(head, number[head], paths, selection, nodes, edges):
                for row in rows:  # those behind it have counted on its choices
                    if active[row] and verdict[row] == 0:
                        verdict[row] = _AGAIN
                        _withdraw(row, number[row], paths, nodes[2], edges[2])
                break
            if not done[head]:
                break
            backup_run(taken[head], depth[head], value[head], legal[head], penalty, edges[0], edges[1], edges[2])
            if leaf[head] != NONE:
                nodes[2][leaf[head]] = 0
            verdict[head] = _COMMITTED
            committed[tree] += 1


@kernel
def _as_the_plain_algorithm(row, number, paths, selection, nodes, edges):
    """Whether the first run that is not backed up has gone so far where it goes on the tree that the others left."""
    decisions, selected, leaf, taken, _ = paths
    exploration, puct = selection
    first_edge, edge_count, expanded_by = nodes
    value, visits, pending, prior = edges
    for i in range(selected[row]):
        node = decisions[row, i]
        first = first_edge[node]
        best = best_edge(first, first + edge_count[node], True, exploration, 0.0, puct, value, visits, pending, prior)
        if expanded_by[node] != 0 or taken[row, i] != best:
            return False
    return leaf[row] == NONE or expanded_by[leaf[row]] == number


@kernel
def _withdraw(row, number, paths, expanded_by, pending):
    """Take back what a run has left in the tree: it is pending nowhere, and has claimed no decision."""
    leaf, taken, depth = paths[2], paths[3], paths[4]
    for d in range(depth[row]):
        pending[taken[row, d]] -= 1
    if leaf[row] != NONE and expanded_by[leaf[row]] == number:
        expanded_by[leaf[row]] = NOBODY
