"""Textbook UCT: one world, one run at a time, a tree of objects.

This is the definition. ``search.uct.search`` must grow the same trees from the same seeds, which the tests check; the
benchmarks measure its speed-up.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from games.game import Game
from games.rng import below, next_state, output


@dataclass
class PlainNode:
    """The position after an action."""

    mover: int
    """Seat to act, -1 at the end of the deal."""
    untried: list[int]
    """Legal actions that no run has tried, in order of tokens."""
    children: "dict[int, PlainNode]" = field(default_factory=dict)
    """By action, in order of trial."""
    visits: int = 0
    total: float = 0.0
    """Sum of its runs' values for the seat that acted to reach it."""


class PlainUct:
    """One search. Arguments as in ``search.uct.search.uct``, but for a single world (``states[1]``)."""

    def __init__(self, game: Game, state: np.ndarray, seed: int, utility: np.ndarray, exploration: float) -> None:
        self._game, self._state, self._utility, self._exploration = game, state, utility, exploration
        self._counter = np.uint64(seed)
        self.root = self._node(state)

    def search(self, runs: int) -> PlainNode:
        """Make ``runs`` more runs; returns the root."""
        with np.errstate(over="ignore"):
            for _ in range(runs):
                self._run()
        return self.root

    def _run(self) -> None:
        world, path = self._state.copy(), [self.root]
        while not path[-1].untried and path[-1].children:
            action, child = self._best_child(path[-1])
            self._game.play(world, np.array([action]))
            path.append(child)
        node = path[-1]
        if node.untried:
            action = self._untried(node, world)
            node.untried.remove(action)
            self._game.play(world, np.array([action]))
            node.children[action] = self._node(world)
            path.append(node.children[action])
        self._play_out(world)
        values = self._utility[self._game.outcome(world)[0]]
        for parent, child in pairwise(path):
            child.total += values[parent.mover]
        for node in path:
            node.visits += 1

    def _untried(self, node: PlainNode, world: np.ndarray) -> int:
        """A random untried action."""
        return node.untried[below(self._draw(), len(node.untried))]

    def _play_out(self, world: np.ndarray) -> None:
        """Play the rest of the deal at random."""
        self._game.playout(world, np.array([self._draw()], np.uint64))

    def _best_child(self, node: PlainNode) -> tuple[int, PlainNode]:
        """The child of the highest mean + C sqrt(ln N / n), ties to the last tried."""

        def score(item: tuple[int, PlainNode]) -> float:
            child = item[1]
            bonus = self._exploration * math.sqrt(math.log(node.visits) / child.visits)
            return float(child.total / child.visits + bonus)

        return max(reversed(node.children.items()), key=score)

    def _node(self, world: np.ndarray) -> PlainNode:
        legal = np.flatnonzero(self._game.legal(world)[0])
        return PlainNode(int(self._game.to_move(world)[0]), [int(token) for token in legal])

    def _draw(self) -> np.uint64:
        self._counter = np.uint64(next_state(self._counter))
        return np.uint64(output(self._counter))
