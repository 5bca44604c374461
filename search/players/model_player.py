"""Base of players that query a model about histories."""

import numpy as np

from games.game import Game
from learner.observation_model import ObservationModel
from search.players.histories import Histories
from search.players.player import ChoosingPlayer


class ModelPlayer(ChoosingPlayer):
    """A player that queries a network, and keeps handles of histories until their deals have ended."""

    def __init__(self, model: ObservationModel) -> None:
        self.histories = Histories(model)

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins: every earlier history is forgotten."""
        super().start(game, num_games)
        self.histories.start(game, num_games)

    def forget(self, games: np.ndarray) -> None:
        """Release the model's handles of ended deals."""
        self.histories.forget(games)
