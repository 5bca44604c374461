"""A player that sometimes plays a random action, so that games show the outcomes of rare actions."""

import numpy as np

from games.game import Game
from games.rng import mix
from search.players.player import Player, Turns
from search.players.random_player import choose_uniformly

_WHETHER, _WHAT = 1, 2
"""Salts of the turn's seed; the player inside draws from the seed itself."""


class Exploring:
    """Plays as another player, but with a small probability a uniformly drawn legal action."""

    def __init__(self, player: Player, probability: float) -> None:
        """``probability``: 0 to 1."""
        self.name, self.sees_hidden = player.name, player.sees_hidden
        self._player, self._probability = player, probability

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins."""
        self._player.start(game, num_games)

    def forget(self, games: np.ndarray) -> None:
        """The deals at these places have ended."""
        self._player.forget(games)

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn."""
        explores = mix(turns.seeds, _WHETHER) / 2.0**64 < self._probability
        anything = choose_uniformly(turns.legal, mix(turns.seeds, _WHAT))
        return np.where(explores, anything, self._player.act(turns))
