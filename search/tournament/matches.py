"""Playing the matches of a tournament.

Letters: ``D`` deals, ``S`` seatings of every deal, ``P`` seats, ``E`` entrants. A *match* is one deal in one seating.
What a match ends with depends on the tournament's seed, the number of its deal and its seating alone, so that the deals
can be shared out among any number of workers and put together again with ``merge``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from games.game import Game
from games.rng import derive, derive_many
from search.players.player import Player
from search.table import play_table


@dataclass(frozen=True)
class Matches:
    """Every seating of a run of consecutive deals."""

    first: int
    """Number of the first deal."""
    points: np.ndarray
    """``float32[D, S, P]``: points of every seat."""
    decisions: np.ndarray
    """``int64[E]``: turns each entrant decided."""
    seconds: np.ndarray
    """``float64[E]``: wall time each entrant took for them."""
    fill: float = 1.0
    """Mean share of the table's places at which a match was going on."""


def seatings(num_entrants: int, num_seats: int) -> np.ndarray:
    """``int64[S, P]``: which entrant has which seat, in every seating of a deal.

    Two entrants: all ``2**P - 2`` seatings in which both play (14 at four seats, 6 at three). As many entrants as
    seats: all ``P!`` permutations. ``ValueError`` for any other number.
    """
    if num_entrants == 2:
        both = [seating for seating in product(range(2), repeat=num_seats) if len(set(seating)) == 2]
        return np.array(both, np.int64)
    if num_entrants == num_seats:
        return np.array(list(permutations(range(num_seats))), np.int64)
    raise ValueError(f"{num_entrants} players for {num_seats} seats: a tournament takes 2 players or {num_seats}")


def play_deals(
    game: Game,
    players: Sequence[Player],
    first: int,
    count: int,
    seed: int,
    table_size: int = 256,
    on_progress: Callable[[int], None] | None = None,
) -> Matches:
    """Play deals ``first .. first + count - 1`` of the tournament that ``seed`` names, each in every seating.

    Args:
        players: the entrants.
        table_size: matches played side by side; bounds the memory.
        on_progress: called now and then with the number of deals' worth of matches that have ended since.
    """
    if count < 1:
        raise ValueError(f"deals={count}: at least 1 deal must be played")
    seats = seatings(len(players), game.num_players)
    deals = derive_many(derive(seed, "tournament"), count, first)
    ended = 0

    def count_matches(matches: int) -> None:
        nonlocal ended
        before, ended = ended, ended + matches
        if on_progress is not None and ended // len(seats) > before // len(seats):
            on_progress(ended // len(seats) - before // len(seats))

    seating, seeds = np.tile(seats, (count, 1)), np.repeat(deals, len(seats))
    secret = derive(seed, "decisions")
    result = play_table(game, players, seating, seeds, table_size, count_matches, secret=secret)
    return Matches(first, result.points.reshape(count, *seats.shape), result.decisions, result.seconds, result.fill)


def merge(parts: Sequence[Matches]) -> Matches:
    """All parts of a tournament as one; ``ValueError`` where deals are missing or there twice."""
    ordered = sorted(parts, key=lambda part: part.first)
    expected = ordered[0].first
    for part in ordered:
        if part.first != expected:
            raise ValueError(f"the parts do not fit: deal {expected} is to follow, but {part.first} does")
        expected += len(part.points)
    return Matches(
        ordered[0].first,
        np.concatenate([part.points for part in ordered]),
        np.sum([part.decisions for part in ordered], axis=0),
        np.sum([part.seconds for part in ordered], axis=0),
        float(np.average([part.fill for part in ordered], weights=[len(part.points) for part in ordered])),
    )
