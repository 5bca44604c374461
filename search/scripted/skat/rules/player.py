"""A rule-based Skat player.

It bids what a hand can bear by how likely it is to win (``strength``, ``bidding``), lays aside, declares and announces
what is worth most (``declaring``), and plays the card of the greatest estimated worth (``playing``, ``null``).

It sees what its seat has seen (``games.skat.view``), never hidden cards. Its only random number is the noise on a
hand's strength, which follows from the cards dealt to the seat: a whole deal has one, and nothing is remembered.
"""

import numpy as np

from games.compiling import kernel
from games.game import Game
from games.skat.cards import NULL
from games.skat.rules import AUCTION, CHOICE, DISCARD, MODIFIER, PLAY
from search.players.player import Turns
from search.scripted.skat.config import SkatRulesConfig
from search.scripted.skat.rules.bidding import choose_call, choose_pickup, optimism
from search.scripted.skat.rules.coefficients import NUM_FEATURES
from search.scripted.skat.rules.declaring import choose_discard, choose_game, choose_modifier
from search.scripted.skat.rules.null import choose_null_card
from search.scripted.skat.rules.playing import choose_card
from search.scripted.skat.rules.weights import WEIGHTS


class SkatRules:
    """Plays Skat by rules of thumb; deterministic."""

    name = "skat_rules"
    sees_hidden = False

    def __init__(self, config: SkatRulesConfig) -> None:
        self._settings = np.array([config.aggression, config.noise])

    def start(self, game: Game, num_games: int) -> None:
        """Remember the game; ``ValueError`` for any but Skat."""
        if game.name != "skat":
            raise ValueError(f"player {self.name!r} plays skat only, not {game.name}")
        self._game = game

    def forget(self, games: np.ndarray) -> None:
        """Nothing to forget: every turn tells all."""

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn."""
        views = self._game.views(turns.tokens, turns.lengths)
        chosen = np.empty(len(views), np.int64)
        _choose_batch(views, self._settings, WEIGHTS, chosen)
        return chosen


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
