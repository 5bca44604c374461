"""State of the simulations of a batch of searches: one simulation is one pass of the loop of Algorithm 3.

Letters: ``B`` searches, ``K`` simulations of a search that may be in flight at once, ``R`` = B * K rows, of which row
``b * K + k`` belongs to search ``b``; ``L`` token positions, ``M`` rows asked about.
"""

from dataclasses import dataclass

import numpy as np

from games.game import Game
from games.rng import mix
from learner.observation_model import EMPTY, ObservationModel
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.tree import NONE, TokenNodes, last_with_handle


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


class Simulations:
    """State of ``R`` simulations in flat arrays."""

    def __init__(self, game: Game, roots: Roots, width: int, config: GoMctsConfig) -> None:
        """``width``: K."""
        searches = len(roots.lengths)
        rows = searches * width
        self._game, self._roots, self._config = game, roots, config
        self._root_views = game.views(roots.tokens, roots.lengths)
        self._root_upcoming = game.next(self._root_views)
        self.width = width
        # Of every search.
        self.begun = np.zeros(searches, np.int64)
        """``int64[B]``: simulations that have begun."""
        self.left = np.full(searches, config.num_runs, np.int64)
        """``int64[B]``: simulations that have not begun."""
        self.allowed = np.full(searches, width, np.int64)
        """``int64[B]``: simulations that may be in flight at once, at most K."""
        # Of every row.
        self.tree = np.repeat(np.arange(searches), width)
        """``int64[R]``: its search, which is also its root node."""
        self.number = np.zeros(rows, np.int64)
        """``int64[R]``: its number within its search, from 1 on, in order of beginning."""
        self.counters = np.zeros(rows, np.uint64)
        """``uint64[R]``: random counters."""
        self.active = np.zeros(rows, bool)
        """``bool[R]``: whether it is in flight."""
        self.done = np.zeros(rows, bool)
        """``bool[R]``: whether it has ended and waits to be committed (``search.go_mcts.speculative``)."""
        self.views = self._root_views[self.tree]
        self.upcoming = self._root_upcoming[self.tree]
        """``int8[R]``: a ``Next`` for every view."""
        self.tokens = roots.tokens[self.tree]
        self.lengths = roots.lengths[self.tree]
        self.node = self.tree.copy()
        """``int64[R]``: the last node of the tree on its history."""
        self.leaf = np.full(rows, NONE)
        """``int64[R]``: the decision that it expanded, where its rollout began; ``NONE`` before."""
        self.handle = np.full(rows, EMPTY, np.int64)
        """``int64[R]``: in a rollout, the model's handle that only this row holds, else ``EMPTY``."""
        self.held = np.zeros(rows, np.int64)
        """``int64[R]``: tokens behind that handle."""
        self.steps_left = np.zeros(rows, np.int64)
        """``int64[R]``: remaining own moves of the rollout."""

    def begin(self, rows: np.ndarray) -> None:
        """Start a simulation in each of these idle rows (ascending) whose search has some left and may have more in
        flight."""
        tree = self.tree[rows]
        rank = np.arange(len(rows)) - np.searchsorted(tree, tree)  # rows of a search are adjacent
        in_flight = self.active.reshape(-1, self.width).sum(1)
        begins = rank < np.minimum(self.left, self.allowed - in_flight)[tree]
        rows, tree = rows[begins], tree[begins]
        self.number[rows] = self.begun[tree] + rank[begins] + 1
        np.subtract.at(self.left, tree, 1)
        np.add.at(self.begun, tree, 1)
        self.restart(rows)

    def restart(self, rows: np.ndarray) -> None:
        """Restart the simulations of rows that hold no handle."""
        tree = self.tree[rows]
        self.counters[rows] = mix(self._roots.seeds[tree], self.number[rows])
        self.active[rows] = True
        self.views[rows], self.upcoming[rows] = self._root_views[tree], self._root_upcoming[tree]
        self.tokens[rows], self.lengths[rows] = self._roots.tokens[tree], self._roots.lengths[tree]
        self.node[rows], self.leaf[rows] = tree, NONE
        self.steps_left[rows] = self._config.num_steps

    def put_off(self, rows: np.ndarray) -> None:
        """Undo the start of these simulations, the last of their searches."""
        self.active[rows] = False
        np.add.at(self.left, self.tree[rows], 1)
        np.subtract.at(self.begun, self.tree[rows], 1)

    def append(self, rows: np.ndarray, tokens: np.ndarray) -> None:
        """Append one token to each history."""
        lengths = self.lengths[rows]
        self.tokens[rows, lengths] = tokens
        self.lengths[rows] = lengths + 1
        views = self.views[rows]
        self._game.advance(views, tokens)
        self.views[rows], self.upcoming[rows] = views, self._game.next(views)

    def beginnings(self, rows: np.ndarray, nodes: TokenNodes) -> tuple[np.ndarray, np.ndarray]:
        """``int64[M]`` handles of the longest computed prefixes of the histories (the row's own, a node's on its path,
        or the root's), and ``int64[M]`` their lengths in tokens."""
        tree, known = self.tree[rows], last_with_handle(self.node[rows], nodes)
        handles = np.where(nodes.handle[known] != EMPTY, nodes.handle[known], self._roots.handles[tree])
        held = np.where(nodes.handle[known] != EMPTY, nodes.length[known], self._roots.held[tree])
        own = self.handle[rows] != EMPTY
        return np.where(own, self.handle[rows], handles), np.where(own, self.held[rows], held)

    def receive(self, rows: np.ndarray, handles: np.ndarray, nodes: TokenNodes, model: ObservationModel) -> None:
        """Store handles of the rows' whole histories: at their nodes in the tree, or in the rows during rollouts."""
        in_tree = self.leaf[rows] == NONE
        rolling, at = rows[~in_tree], self.node[rows[in_tree]]
        self.release(rolling, model)
        self.handle[rolling], self.held[rolling] = handles[~in_tree], self.lengths[rolling]
        model.release(nodes.handle[at])  # some nodes are queried again
        nodes.handle[at] = handles[in_tree]

    def release(self, rows: np.ndarray, model: ObservationModel) -> None:
        """Release the handles that only these rows hold."""
        model.release(self.handle[rows])
        self.handle[rows] = EMPTY
