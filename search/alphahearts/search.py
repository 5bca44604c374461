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

from games.compiling import kernel
from games.game import Game
from games.rng import next_state, output
from learner.state_model import StateModel
from search.uct.search import grow
from search.uct.tree import WorldForest, drawn


def alphahearts(
    game: Game,
    model: StateModel,
    states: np.ndarray,
    seeds: np.ndarray,
    utility: np.ndarray,
    iterations: int,
    exploration: float,
    seconds: float = 0.0,
) -> WorldForest:
    """A tree for every state.

    Args:
        states: ``[B]``, none of them over; not changed.
        seeds: ``uint64[B]``, one for each search.
        utility: ``float64[K]``, the value of every outcome label, see ``search.uct.search.unit_utility``.
        iterations: of every search.
        exploration: K, in the units of ``utility``.
        seconds: wall time after which no further iteration begins; 0 for no limit. All searches get equally many.
    """
    forest = WorldForest(seeds, game.vocabulary.size, guided=True)

    def begin(leaves: np.ndarray, states: np.ndarray, seeds: np.ndarray) -> Callable[[], None]:
        rollout = Rollout(game, model, states, seeds)
        forest.expand(leaves, game.to_move(states), rollout.legal)
        forest.q[rollout.free, leaves[rollout.free]] = rollout.q
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

    def finish(self) -> None:
        """Play on until every deal is over."""
        while self._under_way:
            with np.errstate(over="ignore"):
                _choose(self.q, self.legal, self.free, self._counters, self._actions)
            self._game.play(self._states, self._actions)
            self._look()

    def _look(self) -> None:
        """Find the legal actions of every row, the rows ``free`` that have a choice (``int64[M]``), and their ``q``
        (``float32[M, V]``)."""
        self.legal = self._game.legal(self._states)
        self._actions, free = np.empty(len(self.legal), np.int64), np.empty(len(self.legal), np.int64)
        self._under_way, count = _survey(self.legal, self._actions, free)
        self.free = free[:count]
        self.q = np.empty((0, self.legal.shape[1]), np.float32)
        if count:
            asked = self._states.take(self.free)
            self.q = self._model.values(asked, self._game.to_move(asked))


@kernel
def _survey(legal, actions, free):
    """Write the first legal action of every row of ``bool[B, V]`` into ``int64[B]``, -1 where the deal is over, and the
    rows with several into the beginning of ``free``, ``int64[B]``. Returns whether any deal goes on, and the number of
    free rows."""
    under_way, count = False, 0
    for i in range(len(legal)):
        actions[i], several = -1, False
        for token in range(legal.shape[1]):
            if legal[i, token]:
                several = actions[i] >= 0
                if several:
                    break
                actions[i] = token
        under_way |= actions[i] >= 0
        if several:
            free[count] = i
            count += 1
    return under_way, count


@kernel
def _choose(q, legal, free, counters, actions):
    """Draw an action by softmax(q) (``float32[M, V]``) for the rows ``free`` (``int64[M]``) of ``legal``; advances
    their counters (``uint64[B]``) by one."""
    for row in range(len(free)):
        i = free[row]
        counters[i] = next_state(counters[i])
        actions[i] = drawn(q[row], legal[i], output(counters[i]))
