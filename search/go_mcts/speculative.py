"""Speculative simulations: they begin before their turn, and the trees come out as if they had not.

Algorithm 3 makes one simulation after the other, each on the tree that those before it left. A model answers many
queries in the time of one, so simulations begin early: they select as if those in flight before them had ended with the
mean found so far, which is right for most of them (docs/search.md). They are committed in order: every selection is
made again on the tree as it is; a simulation that would have gone elsewhere is rolled back with all behind it, which
have counted on its choices, and they are made anew. As the random numbers of a simulation depend on its number alone,
and what the model says on the history alone, the tree is the one that Algorithm 3 grows.
"""

from typing import NamedTuple

import numpy as np

from games.compiling import kernel
from search.config import GoMctsConfig
from search.go_mcts.commit import Ended
from search.go_mcts.simulations import Simulations
from search.go_mcts.tree import NOBODY, NONE, Forest
from search.go_mcts.uct import Selection, backup, best_edge

_COMMITTED, _AGAIN = 1, 2


class _InFlight(NamedTuple):
    """The part of the simulations that committing looks at; see ``Simulations``."""

    active: np.ndarray
    done: np.ndarray
    number: np.ndarray
    leaf: np.ndarray
    path: np.ndarray
    depth: np.ndarray
    selected: np.ndarray
    value: np.ndarray
    """``float64[R]``: what those that are done have ended with."""
    legal: np.ndarray
    """``bool[R]``: whether they are legal."""
    verdict: np.ndarray
    """``int8[R]``: what becomes of them: ``_COMMITTED``, ``_AGAIN``, or 0 for neither."""


class InOrder:
    """Commits the simulations of a batch of searches in the order of their numbers."""

    def __init__(self, sims: Simulations, forest: Forest, config: GoMctsConfig) -> None:
        self._sims, self._forest, self._penalty = sims, forest, config.illegal_penalty
        self._selection = Selection(config.exploration, config.selection == "puct", 0.0)
        self._committed = np.zeros(len(sims.left), np.int64)
        """``int64[B]``: simulations that have been committed."""
        rows = len(sims.tree)
        self._in_flight = _InFlight(
            active=sims.active,
            done=sims.done,
            number=sims.number,
            leaf=sims.leaf,
            path=sims.path,
            depth=sims.depth,
            selected=sims.selected,
            value=np.zeros(rows, np.float64),
            legal=np.zeros(rows, bool),
            verdict=np.zeros(rows, np.int8),
        )

    def alone(self, rows: np.ndarray) -> np.ndarray:
        """Those that are next to be committed."""
        return np.asarray(self._sims.number[rows] == self._committed[self._sims.tree[rows]] + 1)

    def expand(self, decisions: np.ndarray) -> None:
        """They become part of the tree when the simulation that claimed them is committed."""

    def end(self, rows: np.ndarray, values: np.ndarray, legal: np.ndarray) -> Ended:
        """Commit those whose turn it is."""
        sims, flight = self._sims, self._in_flight
        flight.done[rows], flight.value[rows], flight.legal[rows], flight.verdict[:] = True, values, legal, 0
        trees, forest = np.unique(sims.tree[rows]), self._forest
        _commit(trees, sims.width, self._committed, flight, self._selection, self._penalty, forest.nodes, forest.edges)
        committed, again = np.flatnonzero(flight.verdict == _COMMITTED), np.flatnonzero(flight.verdict == _AGAIN)
        flight.done[committed] = flight.done[again] = False
        self._adapt(sims.tree[committed], np.unique(sims.tree[again]))
        tree = sims.tree[again]
        sims.put_off(again[sims.number[again] > self._committed[tree] + sims.allowed[tree]])
        return Ended(committed, flight.legal[committed], again)

    def _adapt(self, right: np.ndarray, wrong: np.ndarray) -> None:
        """How early simulations begin follows how far the guesses carry: one more for each that was right, half as many
        after one that was wrong."""
        allowed = self._sims.allowed
        np.add.at(allowed, right, 1)
        np.minimum(allowed, self._sims.width, out=allowed)
        allowed[wrong] = np.minimum(np.maximum(allowed[wrong] // 2, 2), self._sims.width)


@kernel
def _commit(trees, width, committed, flight, selection, penalty, nodes, edges):
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
            if not _guessed_right(head, flight, selection, nodes, edges):
                for row in rows:  # those behind it have counted on its choices
                    if flight.active[row] and flight.verdict[row] == 0:
                        flight.verdict[row] = _AGAIN
                        _roll_back(row, flight, nodes, edges)
                break
            if not flight.done[head]:
                break
            backup(flight.path[head], flight.depth[head], flight.value[head], flight.legal[head], penalty, edges)
            if flight.leaf[head] != NONE:
                nodes.expanded_by[flight.leaf[head]] = 0
            flight.verdict[head] = _COMMITTED
            committed[tree] += 1


@kernel
def _guessed_right(row, flight, selection, nodes, edges):
    """Whether the next simulation to be committed has gone so far where it goes on the tree that the others left."""
    for i in range(flight.selected[row]):
        taken = flight.path[row, i]
        decision = edges.decision[taken]
        first = nodes.first_edge[decision]
        if nodes.expanded_by[decision] != 0:
            return False
        if best_edge(first, first + nodes.edge_count[decision], True, selection, edges) != taken:
            return False
    leaf = flight.leaf[row]
    return leaf == NONE or nodes.expanded_by[leaf] == flight.number[row]


@kernel
def _roll_back(row, flight, nodes, edges):
    """Take back what a simulation has left in the tree: it is pending nowhere, and has claimed no decision."""
    for d in range(flight.depth[row]):
        edges.pending[flight.path[row, d]] -= 1
    leaf = flight.leaf[row]
    if leaf != NONE and nodes.expanded_by[leaf] == flight.number[row]:
        nodes.expanded_by[leaf] = NOBODY
