"""The largest block first."""

import numpy as np

from games.compiling import kernel
from search.players.player import RulesPlayer, Turns


class SameGameGreedy(RulesPlayer):
    """Takes the largest block, of equally large ones the first."""

    name = "samegame_greedy"
    plays = "samegame"

    def decide(self, turns: Turns, views: np.ndarray, chosen: np.ndarray) -> None:
        """As ``RulesPlayer.decide``."""
        _largest(views, chosen)


@kernel
def _largest(views, chosen):
    for i in range(len(views)):
        public = views[i]["public"]
        chosen[i] = public["colours"] + np.argmax(public["size"])
