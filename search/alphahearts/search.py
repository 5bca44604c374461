"""The search of AlphaHearts Zero (paper 002, "Monte Carlo Tree Search") in known deals, many at a time.

A network gives q(s, a), the values of the legal actions of a true state for the seat to act. An iteration

* goes down the tree while all actions of a node have been tried, by w / n + K sqrt(ln N / n), each seat by its own
  values (max^n);
* tries one of the untried actions, with probability softmax(q(s, a)) over these;
* plays on to the end of the deal, every seat with probability softmax(q(s, a)) over its legal actions;
* backs the result up for every seat.

Where the paper leaves something open:

* softmax(q(s, a) x I(legal move)), taken literally, gives illegal moves the weight e^0, more than legal moves of q < 0
  have. The paper masks in order to remove illegal moves from the distribution, so they have probability 0 here. Among
  untried actions the softmax is over these alone.
* Its figure 9 draws q as points that will be won, but its players play the highest q. So q is minus points here, in
  points, as in ``learner.state_model``: each point less makes an action e times as likely.
* The reward is (26 - points) / 26, the moon scored by the game's rule: 1 for the seat that shoots it, 0 for the others.
  This is ``unit_utility(game, "own")`` in Hearts unless options give points below 0 or above 26; other utilities work
  too.

All searches advance together, one action of each at a time, so that one call of the network serves all of them. A seat
with one legal action needs no query. Letters: ``B`` searches, ``M`` of them with a choice, ``V`` tokens, ``K`` outcome
labels.
"""

from collections.abc import Callable

import numpy as np

from games.game import Game
from learner.state_model import StateModel
from search.alphahearts.tree import GuidedForest, choose, survey
from search.uct.search import grow


def alphahearts(
    game: Game,
    model: StateModel,
    states: np.ndarray,
    seeds: np.ndarray,
    utility: np.ndarray,
    iterations: int,
    exploration: float,
    seconds: float = 0.0,
) -> GuidedForest:
    """A tree for every state.

    Args:
        states: ``[B]``, none of them over; not changed.
        seeds: ``uint64[B]``, one for each search.
        utility: ``float64[K]``, the value of every outcome label, see ``search.uct.search.unit_utility``.
        iterations: of every search.
        exploration: K, in the units of ``utility``.
        seconds: wall time after which no further iteration begins; 0 for no limit. All searches get equally many.
    """
    forest = GuidedForest(seeds, game.vocabulary.size)

    def begin(leaves: np.ndarray, states: np.ndarray, seeds: np.ndarray) -> Callable[[], None]:
        rollout = Rollout(game, model, states, seeds)
        forest.expand(leaves, game.to_move(states), rollout.legal)
        forest.set_q(*rollout.open_decisions(leaves))
        return rollout.finish

    grow(forest, game, states, seeds, utility, iterations, exploration, seconds, begin)
    return forest


class Rollout:
    """Deals that are played to their ends by softmax(q), side by side."""

    def __init__(self, game: Game, model: StateModel, states: np.ndarray, seeds: np.ndarray) -> None:
        """
        Args:
            states: ``[B]``, changed in place.
            seeds: ``uint64[B]``, one for the actions of each row.
        """
        self._game, self._model, self._states = game, model, states
        self._counters = np.array(seeds, np.uint64)
        self._look()

    def open_decisions(self, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows with a choice ``int64[M]``, their leaves, and q of their actions ``float32[M, V]``."""
        return self._free, leaves[self._free], self._q

    def finish(self) -> None:
        """Play on until every deal is over."""
        while self._under_way:
            with np.errstate(over="ignore"):
                choose(self._q, self.legal, self._free, self._counters, self._actions)
            self._game.play(self._states, self._actions)
            self._look()

    def _look(self) -> None:
        """Find the legal actions of every row, and query q for rows with a choice."""
        self.legal = self._game.legal(self._states)
        self._actions, free = np.empty(len(self.legal), np.int64), np.empty(len(self.legal), np.int64)
        self._under_way, count = survey(self.legal, self._actions, free)
        self._free = free[:count]
        self._q = np.empty((0, self.legal.shape[1]), np.float32)
        if count:
            asked = self._states.take(self._free)
            self._q = self._model.values(asked, self._game.to_move(asked))
