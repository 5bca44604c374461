"""A rule-based player of The Crew.

It takes the tasks that its hand can fulfil, tells by radio what helps a task most, and plays the card with the least
estimated chance to fail: who wins the trick then, which tasks lie in it or may have to be played to it, what is left to
be done, and what the card would be worth later.

It sees what its seat has seen (``games.crew.view``), never hidden cards, and uses no random numbers.
"""

import numpy as np

from games.game import Game
from search.players.player import Turns
from search.scripted.crew.rules.deciding import choose_batch
from search.scripted.crew.rules.notes import NOTES


class CrewRules:
    """Plays The Crew by rules of thumb; deterministic."""

    name = "crew_rules"
    sees_hidden = False

    def start(self, game: Game, num_games: int) -> None:
        """Remember the game; ``ValueError`` for any but The Crew."""
        if game.name != "crew":
            raise ValueError(f"player {self.name!r} plays crew only, not {game.name}")
        self._game = game

    def forget(self, games: np.ndarray) -> None:
        """Nothing to forget: every turn tells all."""

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn."""
        views = self._game.views(turns.tokens, turns.lengths)
        chosen = np.empty(len(views), np.int64)
        choose_batch(views, np.zeros(1, NOTES), chosen)
        return chosen
