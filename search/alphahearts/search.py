"""The search of AlphaHearts Zero (paper 002, "Monte Carlo Tree Search") in known deals, many at a time.

A network says what the legal actions of a true state are worth to the seat to act, q(s, a). An iteration

* goes down the tree while all actions of a node have been tried, by w / n + K sqrt(ln N / n), each seat by its own
  values (max^n);
* tries one of the untried actions, with probability softmax(q(s, a)) over those;
* plays on from there to the end of the deal, every seat with probability softmax(q(s, a)) over its legal actions;
* counts the result for every seat on its way.

How the text is read where it leaves something open:

* softmax(q(s, a) x I(legal move)), taken at its word, gives illegal moves e^0, which is more than any legal move has
  whose q is below 0. The paper masks before the softmax so that nothing of illegal moves is left in the distribution:
  they have no part in it here. Among untried actions the same weights count, so softmax(q) is over those alone.
* Its figure 9 draws q as points that will be won, and its players play the highest q. So q is minus points here, in
  points, as in ``learner.state_model``: less points are more likely, e times for each point.
* The reward is (26 - points) / 26, the moon counted as the game counts it: 1 for who shoots it, 0 for the others. This
  is ``unit_utility(game, "own")`` in Hearts unless options give points below 0 or above 26; other utilities may be
  searched for as well.

All searches advance together, an iteration of each at a time and in it an action of each, so that one call of the
network serves all of them. A seat with one legal action needs no query. Letters: ``B`` searches, ``M`` of them
that leave a choice, ``V`` tokens, ``K`` outcome labels.
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
    puct: bool = False,
    seconds: float = 0.0,
) -> GuidedForest:
    """A tree for every state.

    Args:
        states: ``[B]``, none of them over; they stay as they are.
        seeds: ``uint64[B]``, from which everything random in a search follows.
        utility: ``float64[K]``, the value of every outcome label, see ``search.uct.search.unit_utility``.
        iterations: of every search.
        exploration: K, in the units of ``utility``.
        puct: select by softmax(q) too (``GuidedForest``); beyond the paper.
        seconds: no further iterations begin after so much wall time; 0 for no limit. Every search gets equally many.
    """
    forest = GuidedForest(seeds, game.vocabulary.size, puct)

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
            states: ``[B]``, which change in place.
            seeds: ``uint64[B]``, from which the actions of a row follow.
        """
        self._game, self._model, self._states = game, model, states
        self._counters = np.array(seeds, np.uint64)
        self._look()

    def open_decisions(self, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows that leave a choice ``int64[M]``, their leaves, and q of their actions ``float32[M, V]``, -inf for
        illegal ones."""
        return self._free, leaves[self._free], np.where(self.legal[self._free], self._q, np.float32(-np.inf))

    def finish(self) -> None:
        """Play on until every deal is over."""
        while self._under_way:
            with np.errstate(over="ignore"):
                choose(self._q, self.legal, self._free, self._counters, self._actions)
            self._game.play(self._states, self._actions)
            self._look()

    def _look(self) -> None:
        """What every row may do now, and what the network makes of it where there is a choice."""
        self.legal = self._game.legal(self._states)
        self._actions, free = np.empty(len(self.legal), np.int64), np.empty(len(self.legal), np.int64)
        self._under_way, count = survey(self.legal, self._actions, free)
        self._free = free[:count]
        self._q = np.empty((0, self.legal.shape[1]), np.float32)
        if count:
            asked = self._states.take(self._free)
            self._q = self._model.values(asked, self._game.to_move(asked))
