"""A rule-based player of The Crew.

It takes the tasks that its hand can fulfil, shows the card by radio that helps a task most, and plays the card with the
least estimated chance to fail. The estimate counts the winner of the trick, tasks in it or forced into it, open tasks,
and the card's later value.

It reads its seat's view (``games.crew.view``), never hidden cards, and uses no random numbers.
"""

import numpy as np

from search.players.player import Turns
from search.scripted.crew.rules.deciding import choose_batch
from search.scripted.crew.rules.notes import NOTES
from search.scripted.rules_player import RulesPlayer


class CrewRules(RulesPlayer):
    """Plays The Crew by rules of thumb; deterministic."""

    name, plays = "crew_rules", "crew"

    def decide(self, turns: Turns, views: np.ndarray, chosen: np.ndarray) -> None:
        """See ``RulesPlayer``."""
        choose_batch(views, np.zeros(1, NOTES), chosen)
