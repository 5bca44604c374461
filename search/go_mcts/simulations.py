"""Where the runs of a batch of searches stand.

Letters: ``B`` searches, ``K`` runs of a search that are under way at once (its *lanes*), ``R`` = B * K rows, of which
row ``b * K + k`` is lane ``k`` of search ``b``; ``L`` token positions.
"""

from dataclasses import dataclass

import numpy as np

from games.compiling import kernel
from games.game import Game
from games.rng import mix
from search.go_mcts.tree import NONE, Forest


@dataclass
class Roots:
    """The histories that ``B`` searches start from."""

    views: np.ndarray
    """``[B]``: the game's views of them."""
    tokens: np.ndarray
    """``int64[B, L]``"""
    lengths: np.ndarray
    """``int64[B]``"""
    slots: np.ndarray
    """``int64[B, L]``: the model's slots of their tokens, as far as there are any."""
    held: np.ndarray
    """``int64[B]``: how many there are."""


class Runs:
    """State of ``R`` runs in flat arrays."""

    def __init__(self, game: Game, roots: Roots, lanes: int, num_runs: int, num_steps: int, seeds: np.ndarray) -> None:
        """
        Args:
            lanes: K.
            num_runs: runs of every search.
            num_steps: own moves of a rollout.
            seeds: ``uint64[B]``: the searches' random numbers; every run draws from the seed and its own number.
        """
        self.game, self.roots, self.lanes, self.num_steps = game, roots, lanes, num_steps
        count, length = len(roots.lengths) * lanes, roots.tokens.shape[1]
        self.tree = np.repeat(np.arange(len(roots.lengths)), lanes)
        """``int64[R]``: the search a row belongs to, and so its root node."""
        self._seeds = seeds
        self.counters = np.zeros(count, np.uint64)
        """``uint64[R]``: random counters."""
        self.number = np.zeros(count, np.int64)
        """``int64[R]``: which of its search's runs it is, from 1 on, in the order they began."""
        self.begun = np.zeros(len(roots.lengths), np.int64)
        """``int64[B]``: runs that have begun."""
        self.left = np.full(len(roots.lengths), num_runs, np.int64)
        """``int64[B]``: runs that have not begun."""
        self.allowed = np.full(len(roots.lengths), lanes, np.int64)
        """``int64[B]``: runs that may be under way at once, at most K."""
        self.active = np.zeros(count, bool)
        """``bool[R]``: whether a run is under way."""
        self.done = np.zeros(count, bool)
        """``bool[R]``: whether a run under way has ended and waits for those before it
        (``search.go_mcts.speculative``)."""
        self.views = roots.views[self.tree]
        self.upcoming = game.next(self.views)
        """``int8[R]``: a ``Next`` for every view."""
        self._root_upcoming = game.next(roots.views)
        self.tokens = roots.tokens[self.tree]
        self.lengths = roots.lengths[self.tree]
        self.slots = np.full((count, length), NONE, np.int64)
        """``int64[R, L]``: the path of the run's history."""
        self.held = np.zeros(count, np.int64)
        """``int64[R]``: tokens of it that have slots."""
        self.node = np.full(count, NONE, np.int64)
        """``int64[R]``: the node it stands on, ``NONE`` once it has left the tree into a rollout."""
        self.nodes = np.full((count, length), NONE, np.int64)
        """``int64[R, L]``: the nodes of its tokens, ``NONE`` for those of the root history and of the rollout."""
        self.edges = np.zeros((count, length), np.int64)
        """``int64[R, L]``: edges to back up to."""
        self.depth = np.zeros(count, np.int64)
        """``int64[R]``: number of those edges."""
        self.decisions = np.zeros((count, length), np.int64)
        """``int64[R, L]``: the decisions it selected at, one for each of its first edges."""
        self.selected = np.zeros(count, np.int64)
        """``int64[R]``: number of those decisions."""
        self.leaf = np.full(count, NONE, np.int64)
        """``int64[R]``: the decision it left the tree from, ``NONE`` before."""
        self.steps_left = np.zeros(count, np.int64)
        """``int64[R]``: rollout moves of its own that remain."""

    def begin(self, rows: np.ndarray) -> np.ndarray:
        """Set idle rows (rising) to the start of a run each, as far as their searches have runs left and may have more
        under way; those rows."""
        tree = self.tree[rows]
        rank = np.arange(len(rows)) - np.searchsorted(tree, tree)  # rows of a search stand together
        under_way = self.active.reshape(-1, self.lanes).sum(1)
        begins = rank < np.minimum(self.left, self.allowed - under_way)[tree]
        rows, rank = rows[begins], rank[begins]
        tree = self.tree[rows]
        self.number[rows] = self.begun[tree] + rank + 1
        np.subtract.at(self.left, tree, 1)
        np.add.at(self.begun, tree, 1)
        self.restart(rows)
        return rows

    def restart(self, rows: np.ndarray) -> None:
        """Set rows to the start of the runs they are."""
        tree = self.tree[rows]
        self.counters[rows] = mix(self._seeds[tree], self.number[rows])
        self.active[rows] = True
        self.views[rows] = self.roots.views[tree]
        self.upcoming[rows] = self._root_upcoming[tree]
        self.tokens[rows] = self.roots.tokens[tree]
        self.lengths[rows] = self.roots.lengths[tree]
        self.slots[rows] = self.roots.slots[tree]
        self.held[rows] = self.roots.held[tree]
        self.node[rows] = tree
        self.nodes[rows] = NONE
        self.depth[rows] = 0
        self.selected[rows] = 0
        self.leaf[rows] = NONE
        self.steps_left[rows] = self.num_steps

    def put_off(self, rows: np.ndarray) -> None:
        """Runs under way, the last of their searches, have not begun yet."""
        self.active[rows] = False
        np.add.at(self.left, self.tree[rows], 1)
        np.subtract.at(self.begun, self.tree[rows], 1)

    def last_node(self, rows: np.ndarray) -> np.ndarray:
        """The nodes of the rows' last tokens, ``NONE`` for those of root histories and rollouts."""
        return np.asarray(self.nodes[rows, self.lengths[rows] - 1])

    def moving(self) -> np.ndarray:
        """Rows whose runs go on."""
        return np.flatnonzero(self.active & ~self.done)

    def append(self, rows: np.ndarray, tokens: np.ndarray) -> None:
        """One token behind each history."""
        lengths = self.lengths[rows]
        self.tokens[rows, lengths] = tokens
        self.lengths[rows] = lengths + 1
        views = self.views[rows]
        self.game.advance(views, tokens)
        self.views[rows] = views
        self.upcoming[rows] = self.game.next(views)

    def step_to(self, rows: np.ndarray, nodes: np.ndarray, forest: Forest) -> None:
        """Stand on these nodes, whose tokens were just appended; see ``take_slots``."""
        self.node[rows] = nodes
        self.nodes[rows, self.lengths[rows] - 1] = nodes
        self.take_slots(rows, forest)

    def take_slots(self, rows: np.ndarray, forest: Forest) -> None:
        """Use what other runs have computed: the slot of the node each row stands on, if it has one."""
        slots, lengths = forest.slot[self.node[rows]], self.lengths[rows]
        known = slots != NONE
        rows, lengths = rows[known], lengths[known]
        self.slots[rows, lengths - 1] = slots[known]
        self.held[rows] = lengths

    def select(self, rows: np.ndarray, edges: np.ndarray) -> None:
        """Remember what was selected at the decisions the rows stand on."""
        self.decisions[rows, self.selected[rows]] = self.node[rows]
        self.selected[rows] += 1
        self.pass_edge(rows, edges)

    def pass_edge(self, rows: np.ndarray, edges: np.ndarray) -> None:
        """Remember edges to back up to."""
        depth = self.depth[rows]
        self.edges[rows, depth] = edges
        self.depth[rows] = depth + 1

    def refresh(self, rows: np.ndarray, forest: Forest) -> None:
        """Use what other runs have computed since, along the whole of each path."""
        roots = self.roots
        _refresh(
            rows,
            self.tree,
            self.nodes,
            self.lengths,
            self.slots,
            self.held,
            forest.slot,
            roots.slots,
            roots.lengths,
            roots.held,
        )

    def waits_for(self, rows: np.ndarray) -> np.ndarray:
        """``int64[M]``: the first node on each path that has no slot yet, else the one that the run stands on; the root
        where its own history is not held; ``NONE`` for rollouts."""
        held = self.held[rows]
        node = self.nodes[rows, np.minimum(held, self.slots.shape[1] - 1)]
        ahead = (held < self.lengths[rows]) & (node != NONE)
        in_root = held < self.roots.lengths[self.tree[rows]]
        return np.where(in_root, self.tree[rows], np.where(ahead, node, self.node[rows]))

    def give_slots(self, rows: np.ndarray, forest: Forest) -> None:
        """Let other runs use what was computed for ``rows``, whose histories are held whole: slots of nodes go to the
        nodes, those of root histories to the roots."""
        in_root = np.arange(self.slots.shape[1]) < self.roots.lengths[self.tree[rows]][:, None]
        self.roots.slots[self.tree[rows]] = np.where(in_root, self.slots[rows], NONE)
        self.roots.held[self.tree[rows]] = self.roots.lengths[self.tree[rows]]
        nodes = self.nodes[rows]
        row, place = np.nonzero(nodes != NONE)
        forest.slot[nodes[row, place]] = self.slots[rows[row], place]

    def own_slots(self, rows: np.ndarray) -> np.ndarray:
        """Slots of tokens that neither a root nor a node has: those of rollouts."""
        places = np.arange(self.slots.shape[1])
        begin = self.roots.lengths[self.tree[rows]][:, None]
        own = (places >= begin) & (places < self.held[rows][:, None]) & (self.nodes[rows] == NONE)
        return np.asarray(self.slots[rows][own])

    def forget_slots(self) -> None:
        """Keep the slots of the root histories alone; the others have been given back."""
        self.slots[:] = self.roots.slots[self.tree]
        self.held[:] = np.minimum(self.held, self.roots.held[self.tree])


@kernel
def _refresh(rows, tree, nodes, lengths, slots, held, node_slot, root_slot, root_length, root_held):
    for row in rows:
        root, known = tree[row], lengths[row]
        for place in range(lengths[row] - 1, -1, -1):
            node = nodes[row, place]
            if place < root_length[root]:
                slots[row, place] = root_slot[root, place]
                there = place < root_held[root] and slots[row, place] != NONE
            elif node != NONE:
                slots[row, place] = node_slot[node]
                there = slots[row, place] != NONE
            else:  # the run's own
                there = place < held[row]
            if not there:
                known = place
        held[row] = known
