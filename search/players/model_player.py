"""What players have in common that ask a model about the histories they meet.

Letters: ``M`` turns of a batch.
"""

import numpy as np

from games.game import Game
from learner.observation_model import ObservationModel
from search.players.histories import Histories
from search.players.player import Turns


class ModelPlayer:
    """Decides the turns that leave a choice with ``choose``; a forced move costs no query."""

    name: str
    sees_hidden = False

    def __init__(self, model: ObservationModel) -> None:
        self.histories = Histories(model)

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins: every earlier history is forgotten."""
        self.histories.start(game, num_games)

    def forget(self, games: np.ndarray) -> None:
        """Give back what was computed of ended deals."""
        self.histories.forget(games)

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn."""
        actions = turns.legal.argmax(axis=1)
        free = np.flatnonzero(turns.legal.sum(axis=1) > 1)
        if len(free):
            actions[free] = self.choose(turns.take(free))
        return actions

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token for each of these turns, which have several."""
        raise NotImplementedError
