"""What decisions cost with all cards open, where a game has an exact judge: known only afterwards.

Letters: ``D`` deals, ``P`` seats, ``M`` decisions, ``V`` tokens.
"""

from pkgutil import resolve_name

import numpy as np

from games.recorded_deals import RecordedDeals
from search.players.support import Rebuild, Support
from search.review.decisions import Decisions


def hindsight(deals: RecordedDeals, decisions: Decisions, support: Support, utility: np.ndarray) -> np.ndarray | None:
    """``float64[M, V]``: what each legal action would have brought the seat if all played perfectly from there; NaN
    where the judge does not say. None where the game has no judge, or the file lacks histories of some seats.

    Args:
        utility: ``float64[K]``: points of outcome labels.
    """
    game, sequences = deals.game, deals.sequences
    seats = game.num_players
    whole = len(sequences) % seats == 0 and (sequences.seat.reshape(-1, seats) == np.arange(seats)).all()
    if not support.hindsight or not whole:
        return None
    rebuild: Rebuild = resolve_name(support.rebuild)
    tokens = sequences.tokens.reshape(-1, seats, sequences.tokens.shape[1])
    states = rebuild(game, tokens, decisions.row // seats, decisions.row % seats, decisions.place)
    labels = support.judge(support.hindsight)(game, states)
    return np.where(labels >= 0, utility[labels], np.nan)
