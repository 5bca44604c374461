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
from search.runs import Runs
from search.tree import NOBODY, NONE, Forest, backup_run, best_edge

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
            runs.lanes,
            runs.active,
            runs.done,
            runs.number,
            self._committed,
            (runs.decisions, runs.selected, runs.leaf, runs.edges, runs.depth),
            (self._value, self._legal),
            (config.exploration, config.selection == "puct", config.illegal_penalty),
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
def _commit(trees, lanes, active, done, number, committed, paths, results, settings, nodes, edges, verdict):
    decisions, selected, leaf, taken, depth = paths
    value, legal = results
    penalty, expanded_by = settings[2], nodes[2]
    edge_value, edge_visits, edge_pending = edges[0], edges[1], edges[2]
    for tree in trees:
        while True:
            head = -1
            for row in range(tree * lanes, (tree + 1) * lanes):
                if active[row] and verdict[row] == 0 and number[row] == committed[tree] + 1:
                    head = row
            if head < 0:
                break
            claimed = leaf[head]
            if not _as_the_plain_algorithm(decisions[head], selected[head], taken[head], settings, nodes, edges) or (
                claimed != NONE and expanded_by[claimed] != number[head]
            ):
                for row in range(tree * lanes, (tree + 1) * lanes):  # those behind it have counted on its choices
                    if active[row] and verdict[row] == 0:
                        verdict[row] = _AGAIN
                        for d in range(depth[row]):
                            edge_pending[taken[row, d]] -= 1
                        if leaf[row] != NONE and expanded_by[leaf[row]] == number[row]:
                            expanded_by[leaf[row]] = NOBODY
                break
            if not done[head]:
                break
            backup_run(
                taken[head], depth[head], value[head], legal[head], penalty, edge_value, edge_visits, edge_pending
            )
            if claimed != NONE:
                expanded_by[claimed] = 0
            verdict[head] = _COMMITTED
            committed[tree] += 1


@kernel
def _as_the_plain_algorithm(decisions, selected, taken, settings, nodes, edges):
    """Whether a run has selected so far what it selects on the tree that all runs before it left."""
    exploration, puct, _ = settings
    first_edge, edge_count, expanded_by = nodes
    edge_value, edge_visits, edge_pending, edge_prior = edges
    for i in range(selected):
        node = decisions[i]
        first = first_edge[node]
        last = first + edge_count[node]
        if expanded_by[node] != 0 or taken[i] != best_edge(
            first, last, True, exploration, 0.0, puct, edge_value, edge_visits, edge_pending, edge_prior
        ):
            return False
    return True
