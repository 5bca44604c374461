"""What decisions cost with all cards open, where a game has an exact judge: known only afterwards.

Letters: ``D`` deals, ``P`` seats, ``M`` decisions, ``V`` tokens.
"""

import numpy as np

from games.recorded_deals import RecordedDeals
from games.shards import Sequences
from search.apps.review.decisions import Decisions
from search.players.support import Support


def hindsight(deals: RecordedDeals, decisions: Decisions, support: Support, utility: np.ndarray) -> np.ndarray | None:
    """``float64[M, V]``: what each legal action would have brought the seat if all played perfectly from there; NaN
    where the judge does not say, and in deals of which the file lacks the history of a seat. None where the game has no
    judge.

    Args:
        utility: ``float64[K]``: points of outcome labels.
    """
    game, sequences, seats = deals.game, deals.sequences, deals.game.num_players
    if support.rebuild is None or not support.hindsight:
        return None
    whole = [*starts_of(deals).values()]
    number = np.full(len(sequences), -1)
    for count, first in enumerate(whole):
        number[first : first + seats] = count
    values = np.full(decisions.values.shape, np.nan)
    rows = np.flatnonzero(number[decisions.row] >= 0)
    if len(rows):
        tokens = np.stack([sequences.tokens[first : first + seats] for first in whole])
        seat = sequences.seat[decisions.row[rows]].astype(np.int64)
        states = support.rebuild(game, tokens, number[decisions.row[rows]], seat, decisions.place[rows])
        labels = support.solvers[support.hindsight](game, states)
        values[rows] = np.where(labels >= 0, utility[labels], np.nan)
    return values


def starts_of(deals: RecordedDeals) -> dict[int, int]:
    """Deal -> its first history, of the deals with the histories of all seats."""
    sequences = deals.sequences
    starts = np.flatnonzero(np.diff(sequences.game, prepend=-1)).tolist()
    whole = [first for first in starts if _is_whole(sequences, first, deals.game.num_players)]
    return {int(sequences.game[first]): first for first in whole}


def _is_whole(sequences: Sequences, first: int, seats: int) -> bool:
    """Whether a deal that begins at this row has the histories of all seats, in their order."""
    rows = slice(first, first + seats)
    here, deal = sequences.seat[rows], sequences.game[rows]
    return len(here) == seats and bool((here == np.arange(seats)).all() and (deal == deal[0]).all())
