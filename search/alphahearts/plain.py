"""The search of paper 002 ("Monte Carlo Tree Search") in one deal, one iteration and one query at a time.

This is the definition. ``search.alphahearts.search`` explains how it reads the paper, and must grow the same trees from
the same seeds, which the tests check; the benchmarks measure its speed-up.
"""

import numpy as np

from games.game import Game
from games.rng import next_state, output, uniform
from learner.state_model import StateModel
from search.uct.plain import PlainNode, PlainUct


class PlainAlphaHearts(PlainUct):
    """UCT that draws untried actions and playouts from softmax(q). Arguments as in ``search.alphahearts.search``, for a
    single deal (``states[1]``)."""

    def __init__(
        self, game: Game, model: StateModel, state: np.ndarray, seed: int, utility: np.ndarray, exploration: float
    ) -> None:
        super().__init__(game, state, seed, utility, exploration)
        self._model = model

    def _untried(self, node: PlainNode, world: np.ndarray) -> int:
        """One of the untried actions, with probability softmax(q) over them."""
        return _drawn(self._ask(world), node.untried, self._draw())

    def _play_out(self, world: np.ndarray) -> None:
        """Play to the end, every seat with probability softmax(q) over its legal actions."""
        counter = self._draw()
        while self._game.to_move(world)[0] >= 0:
            actions = [int(token) for token in np.flatnonzero(self._game.legal(world)[0])]
            if len(actions) > 1:
                counter = np.uint64(next_state(counter))
                actions = [_drawn(self._ask(world), actions, np.uint64(output(counter)))]
            self._game.play(world, np.array(actions))

    def _ask(self, world: np.ndarray) -> np.ndarray:
        return self._model.values(world, self._game.to_move(world))[0]


def _drawn(q: np.ndarray, actions: list[int], bits: np.uint64) -> int:
    """One of the actions, with probability softmax(q) over them."""
    logits = q[actions].astype(np.float64)
    weights = np.exp(logits - logits.max())
    place = np.searchsorted(np.cumsum(weights), uniform(bits) * weights.sum(), side="right")
    return actions[min(int(place), len(actions) - 1)]
