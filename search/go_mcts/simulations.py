"""Where the simulations of a batch of searches stand: one simulation is one pass of the loop of Algorithm 3.

Letters: ``B`` searches, ``K`` simulations of a search that may be in flight at once, ``R`` = B * K rows, of which row
``b * K + k`` belongs to search ``b``; ``L`` token positions, ``T`` new tokens.
"""

from dataclasses import dataclass

import numpy as np

from games.game import Game
from games.rng import mix
from learner.observation_model import EMPTY, ObservationModel
from search.go_mcts.tree import NONE, Forest
from search.players.histories import tokens_since


@dataclass
class Roots:
    """The histories that ``B`` searches start from."""

    views: np.ndarray
    """``[B]``: the game's views of them."""
    tokens: np.ndarray
    """``int64[B, L]``"""
    lengths: np.ndarray
    """``int64[B]``"""
    handles: np.ndarray
    """``int64[B]``: the model's handles of what they begin with; the caller's."""
    held: np.ndarray
    """``int64[B]``: how many tokens that is."""


class Simulations:
    """State of ``R`` simulations in flat arrays."""

    def __init__(self, game: Game, roots: Roots, width: int, count: int, num_steps: int, seeds: np.ndarray) -> None:
        """
        Args:
            width: K.
            count: simulations of every search.
            num_steps: own moves of a rollout.
            seeds: ``uint64[B]``: the searches' random numbers; each simulation draws from the seed and its own number.
        """
        searches, length = roots.tokens.shape
        rows = searches * width
        self._game, self._roots, self._num_steps, self._seeds = game, roots, num_steps, seeds
        self.width = width
        # Of every search.
        self.begun = np.zeros(searches, np.int64)
        """``int64[B]``: simulations that have begun."""
        self.left = np.full(searches, count, np.int64)
        """``int64[B]``: simulations that have not."""
        self.allowed = np.full(searches, width, np.int64)
        """``int64[B]``: simulations that may be in flight at once, at most K."""
        # Of every row.
        self.tree = np.repeat(np.arange(searches), width)
        """``int64[R]``: the search it belongs to, and so its root node."""
        self.number = np.zeros(rows, np.int64)
        """``int64[R]``: which simulation of its search it is, from 1 on, in the order they began."""
        self.counters = np.zeros(rows, np.uint64)
        """``uint64[R]``: random counters."""
        self.active = np.zeros(rows, bool)
        """``bool[R]``: whether it is in flight."""
        self.done = np.zeros(rows, bool)
        """``bool[R]``: whether it is in flight, has ended, and waits to be committed
        (``search.go_mcts.speculative``)."""
        self.views = roots.views[self.tree]
        self.upcoming = game.next(self.views)
        """``int8[R]``: a ``Next`` for every view."""
        self._root_upcoming = game.next(roots.views)
        self.tokens = roots.tokens[self.tree]
        self.lengths = roots.lengths[self.tree]
        self.handle = np.full(rows, EMPTY, np.int64)
        """``int64[R]``: the model's handle of what the history begins with."""
        self.held = np.zeros(rows, np.int64)
        """``int64[R]``: how many tokens that is."""
        self.owned = np.zeros(rows, bool)
        """``bool[R]``: whether it holds the handle itself; else the tree or the root does."""
        self.node = np.full(rows, NONE, np.int64)
        """``int64[R]``: the node of the history's last token, ``NONE`` if the tree has none."""
        self.leaf = np.full(rows, NONE, np.int64)
        """``int64[R]``: the decision it expanded and left the tree from into its rollout, ``NONE`` before."""
        self.steps_left = np.zeros(rows, np.int64)
        """``int64[R]``: rollout moves of its own that remain."""
        self.path = np.zeros((rows, length), np.int64)
        """``int64[R, L]``: edges to back up to."""
        self.depth = np.zeros(rows, np.int64)
        """``int64[R]``: how many there are."""
        self.selected = np.zeros(rows, np.int64)
        """``int64[R]``: how many of them Select has chosen; the rollout's first move may be one more."""

    def begin(self, rows: np.ndarray) -> np.ndarray:
        """Set idle rows (rising) to the start of a simulation each, as far as their searches have some left and may
        have more in flight; those rows."""
        tree = self.tree[rows]
        rank = np.arange(len(rows)) - np.searchsorted(tree, tree)  # rows of a search stand together
        in_flight = self.active.reshape(-1, self.width).sum(1)
        begins = rank < np.minimum(self.left, self.allowed - in_flight)[tree]
        rows, rank = rows[begins], rank[begins]
        tree = self.tree[rows]
        self.number[rows] = self.begun[tree] + rank + 1
        np.subtract.at(self.left, tree, 1)
        np.add.at(self.begun, tree, 1)
        self.restart(rows)
        return rows

    def restart(self, rows: np.ndarray) -> None:
        """Set rows to the start of the simulations they are."""
        tree, roots = self.tree[rows], self._roots
        self.counters[rows] = mix(self._seeds[tree], self.number[rows])
        self.active[rows] = True
        self.views[rows], self.upcoming[rows] = roots.views[tree], self._root_upcoming[tree]
        self.tokens[rows], self.lengths[rows] = roots.tokens[tree], roots.lengths[tree]
        self.handle[rows], self.held[rows], self.owned[rows] = roots.handles[tree], roots.held[tree], False
        self.node[rows], self.leaf[rows] = tree, NONE
        self.depth[rows] = self.selected[rows] = 0
        self.steps_left[rows] = self._num_steps

    def put_off(self, rows: np.ndarray) -> None:
        """Simulations in flight, the last of their searches, have not begun yet."""
        self.active[rows] = False
        np.add.at(self.left, self.tree[rows], 1)
        np.subtract.at(self.begun, self.tree[rows], 1)

    def moving(self) -> np.ndarray:
        """Rows whose simulations go on."""
        return np.flatnonzero(self.active & ~self.done)

    def append(self, rows: np.ndarray, tokens: np.ndarray) -> None:
        """One token behind each history."""
        lengths = self.lengths[rows]
        self.tokens[rows, lengths] = tokens
        self.lengths[rows] = lengths + 1
        self.node[rows] = NONE
        views = self.views[rows]
        self._game.advance(views, tokens)
        self.views[rows], self.upcoming[rows] = views, self._game.next(views)

    def step_to(self, rows: np.ndarray, nodes: np.ndarray, forest: Forest) -> None:
        """The tokens just appended have these nodes."""
        self.node[rows] = nodes
        self.take_handles(rows, forest)

    def take_handles(self, rows: np.ndarray, forest: Forest) -> None:
        """Use what others have computed: the handles of the rows' nodes, where they have one."""
        rows = rows[self.node[rows] != NONE]
        handles = forest.nodes.handle[self.node[rows]]
        rows, handles = rows[handles != EMPTY], handles[handles != EMPTY]
        self.handle[rows], self.held[rows] = handles, self.lengths[rows]

    def pass_edges(self, rows: np.ndarray, edges: np.ndarray) -> None:
        """Remember edges to back up to."""
        self.path[rows, self.depth[rows]] = edges
        self.depth[rows] += 1

    def new_tokens(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The tokens behind the rows' handles, as ``ObservationModel.query`` takes them."""
        return tokens_since(self.tokens[rows], self.held[rows], self.lengths[rows])

    def receive(self, rows: np.ndarray, handles: np.ndarray, forest: Forest, model: ObservationModel) -> None:
        """Whole histories of the rows were computed: the tree holds the handles of its nodes, rollouts their own."""
        node = self.node[rows]
        in_tree = node != NONE
        known = forest.nodes.handle[node] != EMPTY  # asked again about a history that the tree has
        model.release(np.concatenate([handles[in_tree & known], self._own(rows)]))
        new = in_tree & ~known
        forest.nodes.handle[node[new]] = handles[new]
        self.handle[rows], self.held[rows], self.owned[rows] = handles, self.lengths[rows], ~in_tree
        at_root = rows[in_tree & (node == self.tree[rows])]
        self._roots.handles[self.tree[at_root]] = self.handle[at_root]
        self._roots.held[self.tree[at_root]] = self._roots.lengths[self.tree[at_root]]

    def release(self, rows: np.ndarray, model: ObservationModel) -> None:
        """Give back what only these rows hold; their histories begin with the root's from now on."""
        model.release(self._own(rows))
        tree = self.tree[rows]
        self.handle[rows], self.held[rows] = self._roots.handles[tree], self._roots.held[tree]
        self.owned[rows] = False

    def _own(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.handle[rows[self.owned[rows]]])
