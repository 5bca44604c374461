"""What players have in common that ask a model about the histories they meet."""

import numpy as np

from games.game import Game
from learner.observation_model import ObservationModel
from search.players.histories import Histories
from search.players.player import ChoosingPlayer


class ModelPlayer(ChoosingPlayer):
    """A player that asks a network, and keeps what was computed of histories until their deals have ended."""

    def __init__(self, model: ObservationModel) -> None:
        self.histories = Histories(model)

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins: every earlier history is forgotten."""
        super().start(game, num_games)
        self.histories.start(game, num_games)

    def forget(self, games: np.ndarray) -> None:
        """Give back what was computed of ended deals."""
        self.histories.forget(games)
