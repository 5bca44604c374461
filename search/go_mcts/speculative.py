"""Speculative simulations: they begin before their turn, and the trees come out as if they had not.

They select as if those in flight before them had ended with the mean found so far, and are committed in order
(docs/search.md): every selection is made again on the tree as it is; a simulation that would have gone elsewhere is
rolled back with all behind it, which have counted on its choices, and they are made anew.
"""

from typing import Any, NamedTuple

import numpy as np

from games.compiling import kernel
from search.go_mcts.search import Search
from search.go_mcts.tree import NOBODY, NONE
from search.go_mcts.uct import backup, best_child

_COMMITTED, _AGAIN = 1, 2


class _InFlight(NamedTuple):
    """The part of the simulations that committing looks at; see ``Simulations``."""

    active: np.ndarray
    done: np.ndarray
    number: np.ndarray
    node: np.ndarray
    leaf: np.ndarray
    value: np.ndarray
    """``float64[R]``: what those that are done have ended with."""
    legal: np.ndarray
    """``bool[R]``: whether they are legal."""
    verdict: np.ndarray
    """``int8[R]``: what becomes of them: ``_COMMITTED``, ``_AGAIN``, or 0 for neither."""


class SpeculativeSearch(Search):
    """Commits the simulations of its searches in the order of their numbers."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        sims, rows = self.sims, len(self.sims.tree)
        self._committed = np.zeros(len(sims.left), np.int64)
        """``int64[B]``: simulations that have been committed."""
        ended = np.zeros(rows, np.float64), np.zeros(rows, bool), np.zeros(rows, np.int8)
        self._in_flight = _InFlight(sims.active, sims.done, sims.number, sims.node, sims.leaf, *ended)

    def _alone(self, rows: np.ndarray) -> np.ndarray:
        """Those that are next to be committed see no others."""
        return self.sims.number[rows] == self._committed[self.sims.tree[rows]] + 1

    def _join(self, decisions: np.ndarray) -> None:
        """They become part of the tree when the simulation that claimed them is committed."""

    def _backup(self, rows: np.ndarray, values: np.ndarray, legal: np.ndarray) -> None:
        """Backup of those whose turn it is; simulations that were rolled back begin anew, as far as they may."""
        if len(rows) == 0:
            return
        sims, flight = self.sims, self._in_flight
        flight.done[rows], flight.value[rows], flight.legal[rows], flight.verdict[:] = True, values, legal, 0
        trees, penalty = np.unique(sims.tree[rows]), self.config.illegal_penalty
        _commit(trees, sims.width, self._committed, flight, self._selection, penalty, self.forest.nodes)
        committed, again = np.flatnonzero(flight.verdict == _COMMITTED), np.flatnonzero(flight.verdict == _AGAIN)
        flight.done[committed] = flight.done[again] = False
        sims.release(np.union1d(rows, again), self.model)
        self._adapt(sims.tree[committed], np.unique(sims.tree[again]))
        early = sims.number[again] > (self._committed + sims.allowed)[sims.tree[again]]
        sims.put_off(again[early])
        sims.restart(again[~early])
        self.statistics.rolled_back += len(again)
        self._end(committed, flight.legal[committed])

    def _adapt(self, right: np.ndarray, wrong: np.ndarray) -> None:
        """How early simulations begin follows how far the guesses carry: one more for each that was right, half as many
        after one that was wrong."""
        allowed = self.sims.allowed
        np.add.at(allowed, right, 1)
        np.minimum(allowed, self.sims.width, out=allowed)
        allowed[wrong] = np.minimum(np.maximum(allowed[wrong] // 2, 2), self.sims.width)


@kernel
def _commit(trees, width, committed, flight, selection, penalty, nodes):
    """Back up the simulations of each tree that are next and done; mark those of a wrong guess ``_AGAIN``."""
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
                for row in rows:  # those behind it have counted on its choices
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
    """Whether the next simulation to be committed has gone so far where it goes on the tree that the others left."""
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
    """Take back what a simulation has left in the tree: it is pending nowhere, and has claimed no decision."""
    leaf, node = flight.leaf[row], flight.node[row]
    if leaf != NONE and nodes.expanded_by[leaf] == flight.number[row]:
        nodes.expanded_by[leaf] = NOBODY
    while nodes.parent[node] != NONE:
        if nodes.visits[node] > 0:
            nodes.pending[node] -= 1
        node = nodes.parent[node]
