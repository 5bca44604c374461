"""The evaluator of PIMC that solves Skat's card play."""

import numpy as np

from games.skat.cards import FIRST_BID, NUM_CARDS
from games.skat.rules import PLAY
from games.skat.values import NUM_BIDS
from search.pimc.player import Pimc, played_out
from search.scripted.skat.solver.solve import Solver


def solver(pimc: Pimc, worlds: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
    """A ``search.pimc.player.Evaluator``: 1 for a card that wins under perfect play, 0 for others. Earlier decisions
    are played out; of all bids only the lowest is considered, as sixty jumps would take nearly all the time."""
    game = pimc.game
    values = np.full((len(worlds), game.vocabulary.size), -np.inf)
    legal, playing = game.legal(worlds), worlds["public"]["phase"] == PLAY
    bids = legal[:, FIRST_BID : FIRST_BID + NUM_BIDS]
    bids &= bids.cumsum(axis=1) == 1
    before = ~playing
    values[before] = played_out(game, pimc.scripted, worlds[before], seeds[before], legal[before], pimc.config)
    worlds, legal = worlds[playing], legal[playing, :NUM_CARDS]
    won = Solver().card_wins(worlds)
    soloist = worlds["public"]["turn"] == worlds["public"]["soloist"]
    values[playing, :NUM_CARDS] = np.where(legal, won == soloist[:, None], -np.inf)
    return values
