"""Skat's auction, for players that bid up to a percentile (``search.players.bidding``)."""

import numpy as np

from games.game import Game
from games.skat.cards import HOLD, PASS
from search.players.player import Turns
from search.players.support import Calls


def calls(game: Game, turns: Turns) -> Calls:
    """A ``search.players.support.Auction``: bids and replies. The smallest one after the pass is ``hold``, or the next
    value, never a jump."""
    rows = np.flatnonzero(turns.legal[:, PASS] & (turns.legal.sum(axis=1) > 1))  # a pass is legal in auctions alone
    lengths = turns.lengths[rows]
    views = game.prefixes(turns.tokens[rows, : lengths.max(initial=1)])
    legal = game.view_legal(views.reshape(-1)).reshape(*views.shape, turns.legal.shape[1])
    own = legal.any(axis=2) & (np.arange(views.shape[1]) <= lengths[:, None])
    row, length = np.nonzero(own)
    legal = legal[own]
    return Calls(rows[row], length, legal, HOLD + legal[:, HOLD:].argmax(axis=1), PASS)
