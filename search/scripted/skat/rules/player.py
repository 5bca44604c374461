"""A rule-based Skat player.

It bids by the hand's chance to win (``strength``, ``bidding``), discards, declares and announces for the highest worth
(``declaring``), and plays the card of the highest estimated worth (``playing``, ``null``).

It reads its seat's view (``games.skat.view``), never hidden cards. Its only random number is the noise on a hand's
strength, a function of the cards dealt to the seat, so it is constant during a deal without any state.
"""

import numpy as np

from games.compiling import kernel
from games.skat.cards import NULL
from games.skat.rules import AUCTION, CHOICE, DISCARD, MODIFIER, PLAY
from search.players.player import RulesPlayer, Turns
from search.scripted.skat.config import SkatRulesConfig
from search.scripted.skat.rules.bidding import choose_call, choose_pickup, optimism
from search.scripted.skat.rules.coefficients import NUM_FEATURES
from search.scripted.skat.rules.declaring import choose_discard, choose_game, choose_modifier
from search.scripted.skat.rules.null import choose_null_card
from search.scripted.skat.rules.playing import choose_card
from search.scripted.skat.rules.weights import WEIGHTS


class SkatRules(RulesPlayer):
    """Plays Skat by rules of thumb; deterministic."""

    name, plays = "skat_rules", "skat"

    def __init__(self, config: SkatRulesConfig) -> None:
        self._settings = np.array([config.aggression, config.noise])

    def decide(self, turns: Turns, views: np.ndarray, chosen: np.ndarray) -> None:
        """See ``RulesPlayer``."""
        _choose_batch(views, self._settings, WEIGHTS, chosen)


@kernel
def _choose_batch(views, settings, weights, chosen):
    numbers = np.zeros(NUM_FEATURES)
    for row in range(len(views)):
        chosen[row] = _choose(views[row], settings, weights, numbers)


@kernel
def _choose(view, settings, weights, numbers):
    public = view["public"]
    phase = public["phase"]
    if phase == PLAY:
        return choose_null_card(view) if public["game"] == NULL else choose_card(view, weights)
    if phase == MODIFIER:
        return choose_modifier(view)
    shift = optimism(view, settings)
    if phase == AUCTION:
        return choose_call(view, shift, numbers)
    if phase == CHOICE:
        return choose_pickup(view, shift, numbers)
    if phase == DISCARD:
        return choose_discard(view, shift, numbers)
    return choose_game(view, shift, numbers)
