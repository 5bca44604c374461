"""State of the simulations of a batch of searches: one simulation is one pass of the loop of Algorithm 3.

Letters: ``B`` searches, ``K`` simulations of a search that may be in flight at once, ``R`` = B * K rows, of which row
``b * K + k`` belongs to search ``b``; ``L`` token positions, ``M`` rows asked about.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from games.compiling import kernel
from games.game import Game
from games.rng import mix
from learner.observation_model import EMPTY, ObservationModel
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.tree import NONE, TokenNodes


@dataclass
class Roots:
    """The histories that ``B`` searches start from."""

    tokens: np.ndarray
    """``int64[B, L]``"""
    lengths: np.ndarray
    """``int64[B]``"""
    handles: np.ndarray
    """``int64[B]``: the model's handles of their computed prefixes; owned by the caller."""
    held: np.ndarray
    """``int64[B]``: tokens of these prefixes."""
    seeds: np.ndarray
    """``uint64[B]``: each simulation's random numbers follow from the seed and its own number."""


class InFlight(NamedTuple):
    """The rows, in flat arrays for kernels."""

    tree: np.ndarray
    """``int64[R]``: its search, which is also its root node."""
    number: np.ndarray
    """``int64[R]``: its number within its search, from 1 on, in order of beginning."""
    counter: np.ndarray
    """``uint64[R]``: random counters."""
    active: np.ndarray
    """``bool[R]``: whether it is in flight."""
    tokens: np.ndarray
    """``int64[R, L]``"""
    length: np.ndarray
    """``int64[R]``"""
    upcoming: np.ndarray
    """``int8[R]``: a ``Next``; ``UNSEEN`` where nobody has looked at the history yet."""
    view_at: np.ndarray
    """``int64[R]``: the place of its view: its root's, or its own once that has taken in any token."""
    seen: np.ndarray
    """``int64[R]``: tokens that its view has taken in."""
    node: np.ndarray
    """``int64[R]``: the last node of the tree on its history."""
    leaf: np.ndarray
    """``int64[R]``: the decision that it expanded, where its rollout began; ``NONE`` before."""
    handle: np.ndarray
    """``int64[R]``: in a rollout, the model's handle that only this row holds, else ``EMPTY``."""
    held: np.ndarray
    """``int64[R]``: tokens behind that handle."""
    steps_left: np.ndarray
    """``int64[R]``: remaining own moves of the rollout."""
    done: np.ndarray
    """``bool[R]``: whether it has ended and waits to be committed, like the rest for ``search.go_mcts.speculative``."""
    value: np.ndarray
    """``float64[R]``: result of a simulation that is done."""
    legal: np.ndarray
    """``bool[R]``: whether its history is legal."""
    verdict: np.ndarray
    """``int8[R]``: ``COMMITTED``, ``AGAIN``, or 0 for neither."""


class Simulations:
    """State of ``R`` simulations."""

    def __init__(self, game: Game, roots: Roots, width: int, config: GoMctsConfig) -> None:
        """``width``: K."""
        searches = len(roots.lengths)
        tree = np.repeat(np.arange(searches), width)
        self._game, self._roots, self._num_steps = game, roots, config.num_steps
        self.width = width
        self.begun = np.zeros(searches, np.int64)
        """``int64[B]``: simulations that have begun."""
        self.left = np.full(searches, config.num_runs, np.int64)
        """``int64[B]``: simulations that have not begun."""
        self.allowed = np.full(searches, width, np.int64)
        """``int64[B]``: simulations that may be in flight at once, at most K."""
        views = game.views(roots.tokens, roots.lengths)
        self._upcoming = game.next(views)
        self._views = views.take(np.concatenate([np.arange(searches), tree]))
        """``[B + R]``: those of the roots, then of the rows."""
        zeros = {name: np.zeros(len(tree), np.int64) for name in ("number", "seen", "held", "steps_left")}
        flags = {name: np.zeros(len(tree), bool) for name in ("active", "done", "legal")}
        self.now = InFlight(
            tree=tree,
            counter=np.zeros(len(tree), np.uint64),
            tokens=roots.tokens[tree],
            length=roots.lengths[tree],
            upcoming=self._upcoming[tree],
            view_at=tree.copy(),
            node=tree.copy(),
            leaf=np.full(len(tree), NONE),
            handle=np.full(len(tree), EMPTY, np.int64),
            value=np.zeros(len(tree)),
            verdict=np.zeros(len(tree), np.int8),
            **zeros,
            **flags,
        )

    def moving(self) -> np.ndarray:
        """``int64[M]``: simulations in flight that have not ended."""
        return np.flatnonzero(self.now.active & ~self.now.done)

    def begin(self, rows: np.ndarray) -> None:
        """Start a simulation in each of these idle rows (ascending) whose search has some left and may have more in
        flight."""
        self.restart(rows[_begin(rows, self.width, self.begun, self.left, self.allowed, self.now)])

    def restart(self, rows: np.ndarray) -> None:
        """Restart the simulations of rows that hold no handle."""
        now, tree = self.now, self.now.tree[rows]
        now.counter[rows] = mix(self._roots.seeds[tree], now.number[rows])
        now.length[rows] = now.seen[rows] = self._roots.lengths[tree]
        now.upcoming[rows], now.view_at[rows], now.node[rows] = self._upcoming[tree], tree, tree
        now.active[rows], now.leaf[rows], now.steps_left[rows] = True, NONE, self._num_steps

    def put_off(self, rows: np.ndarray) -> None:
        """Undo the start of these simulations, the last of their searches."""
        self.now.active[rows] = False
        np.add.at(self.left, self.now.tree[rows], 1)
        np.subtract.at(self.begun, self.now.tree[rows], 1)

    def views(self, rows: np.ndarray) -> np.ndarray:
        """``[M]``: the game's views of the histories."""
        new = _unseen(rows, len(self.left), self.now)
        self._game.advance_into(self._views, *new)
        return self._views.take(self.now.view_at[rows])

    def beginnings(self, rows: np.ndarray, nodes: TokenNodes) -> tuple[np.ndarray, np.ndarray]:
        """``int64[M]`` handles of the longest computed prefixes of the histories (the row's own, a node's on its path,
        or the root's), and ``int64[M]`` their lengths in tokens."""
        return _beginnings(rows, self._roots.handles, self._roots.held, self.now, nodes)

    def receive(self, rows: np.ndarray, handles: np.ndarray, nodes: TokenNodes, model: ObservationModel) -> None:
        """Store handles of the rows' whole histories: at their nodes in the tree, or in the rows during rollouts."""
        now, in_tree = self.now, self.now.leaf[rows] == NONE
        rolling, at = rows[~in_tree], now.node[rows[in_tree]]
        self.release(rolling, model)
        now.handle[rolling], now.held[rolling] = handles[~in_tree], now.length[rolling]
        model.release(nodes.handle[at])  # some nodes are queried again
        nodes.handle[at] = handles[in_tree]

    def release(self, rows: np.ndarray, model: ObservationModel) -> None:
        """Release the handles that only these rows hold."""
        model.release(self.now.handle[rows])
        self.now.handle[rows] = EMPTY


@kernel
def _begin(rows, width, begun, left, allowed, now):
    """``bool[M]``: which of the rows are to begin; numbers and counts them."""
    begins = np.zeros(len(rows), np.bool_)
    for i in range(len(rows)):
        row, tree = rows[i], now.tree[rows[i]]
        if left[tree] > 0 and np.count_nonzero(now.active[tree * width : (tree + 1) * width]) < allowed[tree]:
            begins[i] = now.active[row] = True
            begun[tree] += 1
            left[tree] -= 1
            now.number[row] = begun[tree]
    return begins


@kernel
def _unseen(rows, num_roots, now):
    """What the views are to take in, as ``Game.advance_into`` has it."""
    count = (now.length[rows] - now.seen[rows]).sum()
    origins, places, tokens = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    at = 0
    for row in rows:
        for place in range(now.seen[row], now.length[row]):
            origins[at], places[at], tokens[at] = now.view_at[row], num_roots + row, now.tokens[row, place]
            now.view_at[row] = num_roots + row
            at += 1
        now.seen[row] = now.length[row]
    return origins, places, tokens


@kernel
def _beginnings(rows, root_handles, root_held, now, nodes):
    handles, held = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        row, node = rows[i], now.node[rows[i]]
        while nodes.handle[node] == EMPTY and nodes.parent[node] != NONE:
            node = nodes.parent[node]
        if now.handle[row] != EMPTY:
            handles[i], held[i] = now.handle[row], now.held[row]
        elif nodes.handle[node] != EMPTY:
            handles[i], held[i] = nodes.handle[node], nodes.length[node]
        else:
            handles[i], held[i] = root_handles[now.tree[row]], root_held[now.tree[row]]
    return handles, held
