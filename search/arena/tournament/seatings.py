"""Seatings of the matches of a tournament.

Letters: ``S`` seatings of every deal, ``P`` seats.
"""

from itertools import permutations, product

import numpy as np

ALL, PAIRS = "all", "pairs"
SEATINGS = (ALL, PAIRS)
"""Names of the sets of seatings."""


def seatings(num_entrants: int, num_seats: int, cooperative: bool = False, seating: str = ALL) -> np.ndarray:
    """``int64[S, P]``: the entrant of each seat, in every seating of a deal.

    ``all`` (paper 001). Two entrants: all ``2**P - 2`` seatings in which both play (14 at four seats, 6 at three). As
    many entrants as seats: all ``P!`` permutations. In a cooperative game, and so in one of a single seat, entrants do
    not mix: each of one or more entrants has all seats of one seating.

    ``pairs`` (paper 002, "Evaluation System", Figure 1). Two entrants at four seats, each on two opposite ones: A as
    North and South (seats 0 and 2) against B as East and West (1 and 3), then vice versa.

    ``ValueError`` for any other number, or another ``seating``.
    """
    if seating == PAIRS:
        return _pairs(num_entrants, num_seats, cooperative)
    if seating != ALL:
        raise ValueError(f"seating={seating}: must be one of {', '.join(SEATINGS)}")
    if cooperative:
        if num_entrants < 1:
            raise ValueError("players: name one at least")
        return np.repeat(np.arange(num_entrants, dtype=np.int64)[:, None], num_seats, axis=1)
    if num_entrants == 2:
        both = [seating for seating in product(range(2), repeat=num_seats) if len(set(seating)) == 2]
        return np.array(both, np.int64)
    if num_entrants == num_seats:
        return np.array(list(permutations(range(num_seats))), np.int64)
    raise ValueError(f"{num_entrants} players for {num_seats} seats: a tournament takes 2 players or {num_seats}")


def _pairs(num_entrants: int, num_seats: int, cooperative: bool) -> np.ndarray:
    if cooperative:
        raise ValueError("seating=pairs: takes a game in which everybody plays alone; give seating=all")
    if num_seats != 4:
        raise ValueError(f"seating=pairs: takes a game of 4 seats, and this one has {num_seats}; give seating=all")
    if num_entrants != 2:
        raise ValueError(f"seating=pairs: takes 2 players, and there are {num_entrants}; give seating=all")
    return np.array([[0, 1, 0, 1], [1, 0, 1, 0]], np.int64)
