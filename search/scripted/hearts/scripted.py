"""What the scripted players of Hearts have in common: they choose by their seat's view alone, and remember nothing."""

import numpy as np

from games.game import Game
from search.players.player import Turns


class HeartsScripted:
    """Plays Hearts by ``choose``."""

    name: str
    sees_hidden = False

    def start(self, game: Game, num_games: int) -> None:
        """Remember the game; ``ValueError`` for any but Hearts."""
        if game.name != "hearts":
            raise ValueError(f"player {self.name!r} plays hearts only, not {game.name}")
        self._game = game

    def forget(self, games: np.ndarray) -> None:
        """Nothing to forget: every turn tells all."""

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn."""
        views, chosen = self._game.views(turns.tokens, turns.lengths), np.empty(len(turns.tokens), np.int64)
        self.choose(turns, views, chosen)
        return chosen

    def choose(self, turns: Turns, views: np.ndarray, chosen: np.ndarray) -> None:
        """Write a legal token for every view (``[M]``) into ``chosen``, ``int64[M]``."""
        raise NotImplementedError
