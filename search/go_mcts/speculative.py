"""Speculative simulations: they begin before their turn, and the trees come out as if they had not.

A simulation selects as if earlier ones in flight had ended with the mean found so far. Simulations are committed in
order (docs/search/go_mcts.md): each repeats its selections on the committed tree. If one differs, the simulation and
all later ones, which relied on it, are rolled back and run anew.
"""

from typing import Any

import numpy as np

from games.compiling import kernel
from search.go_mcts.search import Search
from search.go_mcts.tree import NONE, UNCLAIMED
from search.go_mcts.uct import backup, best_child

_COMMITTED, _AGAIN = 1, 2


class SpeculativeSearch(Search):
    """Commits the simulations of its searches in the order of their numbers."""

    joined = False  # committing the simulation that claimed a node makes it a decision

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._committed = np.zeros(len(self.sims.left), np.int64)
        """``int64[B]``: simulations that have been committed."""

    def _alone(self, rows: np.ndarray) -> np.ndarray:
        """``bool[M]``: rows that are next to be committed; their Select ignores the others."""
        return self.sims.now.number[rows] == self._committed[self.sims.now.tree[rows]] + 1

    def _first_at_each_node(self, rows: np.ndarray) -> np.ndarray:
        """The first of the simulations that wait at each node: its query serves the others."""
        place = np.where(self.sims.now.leaf[rows] == NONE, self.sims.now.node[rows], -1 - rows)
        return rows[np.sort(np.unique(place, return_index=True)[1])]

    def _backup(self, rows: np.ndarray, values: np.ndarray, legal: np.ndarray) -> None:
        """Backup of simulations whose turn it is; simulations that were rolled back begin anew, if allowed."""
        if len(rows) == 0:
            return
        sims, flight = self.sims, self.sims.now
        flight.done[rows], flight.value[rows], flight.legal[rows], flight.verdict[:] = True, values, legal, 0
        trees, penalty = np.unique(flight.tree[rows]), self.config.illegal_penalty
        _commit(trees, sims.width, self._committed, flight, self._selection, penalty, self.forest.nodes)
        committed, again = np.flatnonzero(flight.verdict == _COMMITTED), np.flatnonzero(flight.verdict == _AGAIN)
        flight.done[committed] = flight.done[again] = False
        sims.release(np.union1d(rows, again), self.model)
        self._adapt(flight.tree[committed], np.unique(flight.tree[again]))
        early = flight.number[again] > (self._committed + sims.allowed)[flight.tree[again]]
        sims.put_off(again[early])
        sims.restart(again[~early])
        self.statistics.rolled_back += len(again)
        self._end(committed, flight.legal[committed])

    def _adapt(self, right: np.ndarray, wrong: np.ndarray) -> None:
        """Adapt the allowed simulations in flight: one more for each right guess, half as many after a wrong one."""
        allowed = self.sims.allowed
        np.add.at(allowed, right, 1)
        np.minimum(allowed, self.sims.width, out=allowed)
        allowed[wrong] = np.minimum(np.maximum(allowed[wrong] // 2, 2), self.sims.width)


@kernel
def _commit(trees, width, committed, flight, selection, penalty, nodes):
    """Back up the simulations of each tree that are next and done; mark wrong guesses ``_AGAIN``."""
    for tree in trees:
        rows = range(tree * width, (tree + 1) * width)
        while True:
            head = -1
            for row in rows:
                if flight.active[row] and flight.verdict[row] == 0 and flight.number[row] == committed[tree] + 1:
                    head = row
            if head < 0:
                break
            if not _guessed_right(head, flight, selection, nodes):
                for row in rows:  # the later ones relied on its choices
                    if flight.active[row] and flight.verdict[row] == 0:
                        flight.verdict[row] = _AGAIN
                        _roll_back(row, flight, nodes)
                break
            if not flight.done[head]:
                break
            backup(flight.node[head], flight.value[head], flight.legal[head], penalty, nodes)
            if flight.leaf[head] != NONE:
                nodes.expanded_by[flight.leaf[head]] = 0
            flight.verdict[head] = _COMMITTED
            committed[tree] += 1


@kernel
def _guessed_right(row, flight, selection, nodes):
    """Whether the path of the next simulation to be committed equals its path on the committed tree."""
    leaf = flight.leaf[row]
    if leaf != NONE and nodes.expanded_by[leaf] != flight.number[row]:
        return False
    node = flight.node[row] if leaf == NONE else leaf
    while nodes.parent[node] != NONE:
        decision = nodes.parent[node]
        selected = nodes.visits[node] > 0
        if selected and nodes.expanded_by[decision] != 0:
            return False
        if selected and best_child(decision, True, selection, nodes) != node:
            return False
        node = decision
    return True


@kernel
def _roll_back(row, flight, nodes):
    """Undo a simulation's marks in the tree: pending counts and claims of decisions."""
    leaf, node = flight.leaf[row], flight.node[row]
    if leaf != NONE and nodes.expanded_by[leaf] == flight.number[row]:
        nodes.expanded_by[leaf] = UNCLAIMED
    while nodes.parent[node] != NONE:
        if nodes.visits[node] > 0:
            nodes.pending[node] -= 1
        node = nodes.parent[node]
