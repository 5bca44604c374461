"""Which lane of an observation model holds which history.

A player meets a history as (game row, seat). It gets a lane when it is first seen, and keeps it until the table ends.
"""

import numpy as np

from search.queries import ObservationModel


class Lanes:
    """Lanes of one player at one table, provided as they are needed.

    A player often sits in one seat of each game only, so lanes come in blocks of one per game. Providing another block
    empties the model's lanes; queries carry whole histories, so the next ones merely compute the beginnings again.
    There are at most as many blocks as seats, and they come with the seats' first decisions, when histories are short.
    """

    def __init__(self, model: ObservationModel) -> None:
        self._model = model
        self._capacity = 0
        self._used = 0
        self._lane = np.zeros((0, 0), np.int64)

    def start(self, num_games: int, num_players: int) -> None:
        """Forget every lane: a new table of ``num_games`` deals with ``num_players`` seats begins."""
        self._lane = np.full((num_games, num_players), -1, np.int64)
        self._used = 0
        self._capacity = 0

    def of(self, game: np.ndarray, seat: np.ndarray) -> np.ndarray:
        """``int64[M]``: the lanes of the histories (game row, seat), no pair twice."""
        new = self._lane[game, seat] < 0
        count = int(np.count_nonzero(new))
        if count:
            self._lane[game[new], seat[new]] = np.arange(self._used, self._used + count)
            self._used += count
            self._provide()
        return np.asarray(self._lane[game, seat])

    def _provide(self) -> None:
        num_games = len(self._lane)
        if self._used > self._capacity:
            self._capacity = -(-self._used // num_games) * num_games
            self._model.reset(self._capacity)
