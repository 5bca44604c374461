"""When the simulations of a tree are backed up, and what those in flight see of each other."""

from typing import NamedTuple, Protocol

import numpy as np

from search.config import GoMctsConfig
from search.go_mcts.simulations import Simulations
from search.go_mcts.tree import Forest


class Ended(NamedTuple):
    """What becomes of simulations that have ended."""

    committed: np.ndarray
    """``int64[...]``: rows that were backed up."""
    legal: np.ndarray
    """``bool[...]``: whether each of them was legal."""
    again: np.ndarray
    """``int64[...]``: rows that have to be made anew; some of them may have been put off."""


class CommitOrder(Protocol):
    """When the simulations of a tree are backed up, and what they see of each other."""

    def alone(self, rows: np.ndarray) -> np.ndarray:
        """``bool[M]``: rows whose Select sees no simulations in flight."""

    def expand(self, decisions: np.ndarray) -> None:
        """These nodes have become decisions."""

    def end(self, rows: np.ndarray, values: np.ndarray, legal: np.ndarray) -> Ended:
        """These simulations have ended: with a value, or (not ``legal``) in a history that could not have happened."""


class AtOnce:
    """Simulations are backed up as they end: Algorithm 3 where one is in flight at a time."""

    def __init__(self, sims: Simulations, forest: Forest, config: GoMctsConfig) -> None:
        self._sims, self._forest, self._penalty = sims, forest, config.illegal_penalty

    def alone(self, rows: np.ndarray) -> np.ndarray:
        """Nobody is: with lanes they look elsewhere than those in flight."""
        return np.zeros(len(rows), bool)

    def expand(self, decisions: np.ndarray) -> None:
        """They are part of the tree for everybody."""
        self._forest.nodes.expanded_by[decisions] = 0

    def end(self, rows: np.ndarray, values: np.ndarray, legal: np.ndarray) -> Ended:
        """All are backed up."""
        self._forest.backup(self._sims.path[rows], self._sims.depth[rows], values, legal, self._penalty)
        return Ended(rows, legal, np.zeros(0, np.int64))
