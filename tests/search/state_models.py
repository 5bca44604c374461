"""State models without a network."""

import numpy as np

from games.game import Game
from games.hearts.game import HeartsGame
from tests.learner import material

NO_PASS = HeartsGame(**material.NO_PASS)
"""``game=hearts_no_pass``."""


class LinearStates:
    """q is a fixed linear function of the numbers of a state, so that everything in it makes a difference. It fails
    where it is asked about states that leave no choice, and counts what it is asked."""

    def __init__(self, game: Game, scale: float = 0.3, illegal: float = 0.0, forced: bool = False) -> None:
        """
        Args:
            scale: standard deviation of the weights.
            illegal: what is added to q of illegal actions.
            forced: whether it may be asked about forced moves too, as plain versions do.
        """
        self._forced = forced
        assert game.state_features is not None
        self.calls = self.rows = 0
        self._game, self._features, self._illegal = game, game.state_features, illegal
        weights = np.random.default_rng(1).normal(size=(self._features.size, game.vocabulary.size))
        self._weights = np.round(weights * scale * 1024) / 1024  # sums are then exact, whatever the batch

    def values(self, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """As ``StateModel.values``."""
        legal = self._game.legal(states)
        assert self._forced or (legal.sum(axis=1) > 1).all(), "asked where there is nothing to choose"
        np.testing.assert_array_equal(seats, self._game.to_move(states))
        self.calls, self.rows = self.calls + 1, self.rows + len(states)
        q = self._features.encode(states, seats) @ self._weights
        return (q + np.where(legal, 0.0, self._illegal)).astype(np.float32)
