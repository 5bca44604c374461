"""Information Set MCTS (Cowling, Powley and Whitehouse 2012), many searches side by side.

Every simulation draws a world: a deal consistent with the seat's history. The worlds of a search share trees, whose
nodes are a seat's observations since the search began:

- *single observer* (SO-ISMCTS): one tree, of the searching seat. The others choose actions that it cannot see at
  random, as all of these lead to the same node (SO-ISMCTS + POM).
- *multiple observers* (MO-ISMCTS): a tree for every seat, in which that seat chooses. The others' trees begin with the
  search, so their nodes do not depend on hidden cards.
- *private*: as multiple, but nodes are whole histories, so that the others choose by their own cards too. OpenSpiel
  does so; in large games their nodes are hardly ever visited twice.

An action counts as available in every simulation that chose at its node while it was legal, and UCT takes the logarithm
of that count. Letters: ``R`` searches, ``M`` of them active, ``T`` trees of each, ``P`` seats, ``V`` tokens.
"""

import time

import numpy as np

from games.game import Game
from games.rng import mix
from search.is_mcts.config import IsMctsConfig
from search.is_mcts.tree import (
    Walk,
    back_up,
    choose_all,
    follow,
    grown,
    new_nodes,
    note_all,
    shows,
    visits_at,
)
from search.uct.search import unit_utility

_ROOM = 64
"""Simulations that the initial arrays have room for."""
_WORLD, _PLAYOUT = 2, 1 << 62
"""Salts of the first simulation's world, followed by the other simulations' salts, and of a simulation's playout."""


class IsMcts:
    """Searches of one batch of turns. A search depends on its own view and seed alone."""

    def __init__(self, game: Game, config: IsMctsConfig, views: np.ndarray, seeds: np.ndarray) -> None:
        """
        Args:
            views: ``[R]``, the deciding seats' views, at their turns.
            seeds: ``uint64[R]``.
        """
        self._game, self._config, self._views, self._seeds = game, config, views, seeds
        self._many = config.observers != "single"
        num_trees, num_rows = game.num_players if self._many else 1, len(views)
        self._states, self._seats = game.determinize(views, mix(seeds, _WORLD))  # of the first simulations
        self._counters = mix(seeds, 1)
        self._rewards = unit_utility(game, config.utility)
        self._per_step = game.num_players * (game.max_length + 1)  # nodes that one step can add at most
        self._nodes = new_nodes(num_rows, num_trees, num_trees + self._per_step + _ROOM * 2 * num_trees)
        self._walk = Walk(
            at=np.zeros((num_rows, num_trees), np.int32),
            seen=np.zeros((num_rows, num_trees), np.int32),
            path=np.zeros((num_rows, game.num_players * game.max_length), np.int32),
            movers=np.zeros((num_rows, game.num_players * game.max_length), np.int8),
            depth=np.zeros(num_rows, np.int32),
            used=np.full(num_rows, num_trees, np.int32),
        )
        self._roots = np.zeros(num_rows, np.int64)

    def visits(self) -> np.ndarray:
        """``int64[R, V]``: visits of each root action."""
        started, config = time.perf_counter(), self._config
        done, rows = np.zeros(len(self._views), np.int64), np.arange(len(self._views))
        self._stand_at_roots(rows)
        while len(rows):
            ended = self._step(rows)
            finished = rows[ended]
            self._finish(finished, done)
            done[finished] += 1
            late = config.seconds > 0 and time.perf_counter() - started > config.seconds
            going_on = ~ended | ((done[rows] < config.runs) & (not late))
            self._draw(rows[ended & going_on], done)
            rows = rows[going_on]
        visits = np.zeros((len(self._views), self._game.vocabulary.size), np.int64)
        visits_at(self._nodes, self._roots, visits)
        return visits

    # ---- one simulation

    def _draw(self, rows: np.ndarray, done: np.ndarray) -> None:
        """Draw a new world for each of these searches and return to its roots."""
        if not len(rows):
            return
        seeds = mix(self._seeds[rows], _WORLD + done[rows])
        self._states[rows], _ = self._game.determinize(self._views[rows], seeds)
        self._stand_at_roots(rows)

    def _stand_at_roots(self, rows: np.ndarray) -> None:
        """Begin a simulation of each of these searches in its world."""
        self._make_room(rows)
        walk = self._walk
        walk.depth[rows] = 0
        for tree in range(walk.at.shape[1]):
            walk.at[rows, tree] = tree
            tokens, lengths = self._game.histories(self._states[rows], self._viewers(rows, tree))
            walk.seen[rows, tree] = 0 if self._config.observers == "private" else lengths
            follow(self._nodes, walk, rows, tree, tokens, lengths)
        self._roots[rows] = walk.at[rows, self._seats[rows] * self._many]

    def _step(self, rows: np.ndarray) -> np.ndarray:
        """Play one action; ``bool[M]``: whether the simulation has left the trees or the deal is over."""
        self._make_room(rows)
        game, walk = self._game, self._walk
        nodes, states = self._nodes, self._states[rows]
        legal, seats = game.legal(states), game.to_move(states).astype(np.int64)
        trees = seats if self._many else np.zeros_like(seats)
        own = np.ones(len(rows), np.bool_) if self._many else seats == self._seats[rows]
        actions, untried, shown = np.empty_like(seats), np.empty(len(rows), np.bool_), np.empty(len(rows), np.bool_)
        choose_all(nodes, walk, rows, trees, own, legal, self._config.exploration, self._counters, actions, untried)
        game.play(states, actions)
        self._states[rows] = states
        gained = [game.histories(states, self._viewers(rows, tree)) for tree in range(walk.at.shape[1])]
        for tree, (tokens, lengths) in enumerate(gained):
            shows(walk, rows, tree, trees, tokens, lengths, actions, shown)
        note_all(nodes, walk, rows, trees, own, seats, legal, actions, shown)
        for tree, (tokens, lengths) in enumerate(gained):
            follow(nodes, walk, rows, tree, tokens, lengths)
        return np.asarray((untried & shown) | (game.to_move(states) < 0))

    def _finish(self, rows: np.ndarray, done: np.ndarray) -> None:
        """Play these simulations out at random and back up their rewards."""
        if not len(rows):
            return
        states = self._states[rows]
        self._game.playout(states, mix(mix(self._seeds[rows], _PLAYOUT), done[rows]))
        back_up(self._nodes, self._walk, rows, self._rewards[self._game.outcome(states)])

    def _make_room(self, rows: np.ndarray) -> None:
        """Make room for the nodes of one step."""
        if self._walk.used[rows].max() + self._per_step > self._nodes.label.shape[1]:
            self._nodes = grown(self._nodes, 2 * self._nodes.label.shape[1])

    def _viewers(self, rows: np.ndarray, tree: int) -> np.ndarray:
        """``int64[M]``: the seat whose history a tree follows in each search."""
        return np.full(len(rows), tree, np.int64) if self._many else self._seats[rows].astype(np.int64)
