"""Skat's card play solved with all hands open: an evaluator of PIMC, a solver, and lines of perfect play."""

import numpy as np

from games.game import Game
from games.skat.cards import FIRST_BID, NUM_CARDS
from games.skat.game import SkatGame
from games.skat.rules import PLAY
from games.skat.values import NUM_BIDS
from search.pimc.player import Pimc, played_out
from search.scripted.skat.solver.solve import Solver


def solver(pimc: Pimc, worlds: np.ndarray, considered: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
    """A ``search.pimc.player.Evaluator``: 1 for a card that wins under perfect play, 0 for others. Earlier decisions
    are played out; of all bids only the lowest is considered, as sixty jumps would take nearly all the time."""
    game = pimc.game
    values = np.full((len(worlds), game.vocabulary.size), -np.inf)
    legal, playing = considered.copy(), worlds["public"]["phase"] == PLAY
    bids = legal[:, FIRST_BID : FIRST_BID + NUM_BIDS]
    bids &= bids.cumsum(axis=1) == 1
    before = ~playing
    values[before] = played_out(game, pimc.scripted, worlds[before], seeds[before], legal[before], pimc.config)
    worlds, legal = worlds[playing], legal[playing, :NUM_CARDS]
    won = Solver().card_wins(worlds)
    soloist = worlds["public"]["turn"] == worlds["public"]["soloist"]
    values[playing, :NUM_CARDS] = np.where(legal, won == soloist[:, None], -np.inf)
    return values


def solve(game: Game, states: np.ndarray) -> np.ndarray:
    """A ``search.players.support.Solve``: how the deal ends after each card if all play perfectly with open hands, each
    side for the win alone."""
    assert isinstance(game, SkatGame)
    labels = np.full((len(states), game.vocabulary.size), -1, np.int32)
    playing = np.flatnonzero(states["public"]["phase"] == PLAY)
    won, seats = Solver().card_wins(states[playing]), game.to_move(states[playing]).astype(np.int64)
    row, card = np.nonzero(game.legal(states[playing]))
    ends = states[playing][row]
    game.play(ends, card)
    labels[playing[row], card] = game.decided(ends, seats[row], won[row, card])
    return labels


def line(game: Game, states: np.ndarray, real: np.ndarray) -> np.ndarray:
    """A ``search.players.support.Line``: the soloist plays for the most card points, the defenders for the fewest; in
    null, and where every trick is needed, for the win."""
    cards, ends = Solver().lines(states, real), states.copy()
    for place in range(cards.shape[1]):
        cards[game.to_move(ends) < 0, place:] = -1
        game.play(ends, cards[:, place])
    return cards
