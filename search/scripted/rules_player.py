"""Base of players by rules of thumb: they choose by their seat's view alone, and keep no state."""

import numpy as np

from search.players.player import ChoosingPlayer, Turns


class RulesPlayer(ChoosingPlayer):
    """Plays one game by the compiled rules of ``decide``; deterministic."""

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn, forced moves included, which is faster."""
        views, chosen = self.game.views(turns.tokens, turns.lengths), np.empty(len(turns.tokens), np.int64)
        self.decide(turns, views, chosen)
        return chosen

    def decide(self, turns: Turns, views: np.ndarray, chosen: np.ndarray) -> None:
        """Write a legal token for every turn into ``chosen``, ``int64[M]``; ``views`` (``[M]``) are the turns'
        views."""
        raise NotImplementedError
