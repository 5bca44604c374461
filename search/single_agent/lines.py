"""What players have in common that search a whole game first, and then play its best line."""

import numpy as np

from games.game import Game
from search.players.player import Turns
from search.single_agent.trees import SimulatingPlayer


class LinePlayer(SimulatingPlayer):
    """Plays the line that ``find`` found where the game began, or where somebody left it."""

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins: every line is forgotten."""
        super().start(game, num_games)
        self.lines = np.zeros((num_games, game.max_length), game.vocabulary.dtype)
        self._known = np.zeros(num_games, np.bool_)

    def forget(self, games: np.ndarray) -> None:
        """The games at these places have ended."""
        super().forget(games)
        self._known[games] = False

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: the line's next action."""
        behind = np.arange(turns.tokens.shape[1]) >= turns.lengths[:, None]
        on = self._known[turns.game] & ((self.lines[turns.game] == turns.tokens) | behind).all(axis=1)
        lost = np.flatnonzero(~on)
        if len(lost):
            self.find(turns.take(lost))
            self._known[turns.game[lost]] = True
        return self.lines[turns.game, turns.lengths].astype(np.int64)

    def find(self, turns: Turns) -> None:
        """Write into ``lines``, at these turns' places, whole histories that go on from theirs, and add to
        ``simulations``."""
        raise NotImplementedError
