"""Result of a round robin: ratings, points ahead of the field, and every pair.

A comparison is a deal that two players have played in every seating. The player with the better mean points wins it;
equal means are a draw. Letters: ``D`` deals, ``N`` players, ``R`` replicates of the bootstrap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from games.rng import derive
from search.arena.rating.bradley_terry import ELO, bootstrap, strengths
from search.arena.recorded import Recorded
from search.arena.tournament.result import Lead, TournamentResult
from search.arena.tournament.seatings import ALL
from search.arena.tournament.statistics import ends_of

_REPLICATES = 1000
"""Replicates of the bootstrap: they give standard errors to within 2 or 3 %."""
_DECIMALS = 6
"""Strengths that differ by less are equal up to rounding."""


@dataclass(frozen=True)
class RatedPlayer:
    """One player of the table."""

    player: str
    rating: float
    """On Elo's scale."""
    standard_error: float
    """Standard error of ``rating``; 0 for the anchor."""
    score: float
    """Share of comparisons won, a draw as half of one."""
    ahead: float
    """Points a hand and seat ahead of the opponents, equally weighted."""
    low: float | None
    high: float | None
    """95 % t interval of ``ahead`` over deals; None for too few deals."""
    seconds_per_turn: float
    """Mean wall time of a turn over all pairs, in batches as large as the tables allowed."""
    sees_hidden: bool
    """Whether it looks at cards that a real player cannot see."""


@dataclass(frozen=True)
class RatedPair:
    """Two players, from the first one's side."""

    a: str
    b: str
    wins: int
    draws: int
    losses: int
    ahead: float
    """Points a hand and seat, over every seating."""
    low: float | None
    high: float | None
    """95 % t interval of ``ahead`` over deals."""
    superiority: float
    """Likelihood that a is stronger than b by the ratings, that is, by the comparisons of all pairs."""


@dataclass(frozen=True)
class Ratings(Recorded):
    """The table."""

    WHAT = "ratings"

    deals: int
    seed: int
    anchor: str
    """The player whose rating is 0; empty for a mean of 0."""
    players: tuple[RatedPlayer, ...]
    """Best first."""
    pairs: tuple[RatedPair, ...]
    """Every pair once, the better one first."""
    seating: str = ALL
    """One of ``search.arena.tournament.seatings.SEATINGS``."""

    def between(self, attribute: str) -> np.ndarray:
        """``float64[N, N]``: ``ahead`` or ``superiority`` of each row's player over each column's; NaN on the
        diagonal."""
        place = {rated.player: row for row, rated in enumerate(self.players)}
        values = np.full((len(place), len(place)), np.nan)
        for pair in self.pairs:
            value, a, b = getattr(pair, attribute), place[pair.a], place[pair.b]
            values[a, b], values[b, a] = value, {"ahead": -value, "superiority": 1 - value}[attribute]
        return values

    def leads(self, player: str) -> list[Lead]:
        """Leads of a player over each other one, in the order of ``players``: ``ahead``, ``low`` and ``high`` of the
        pair, from this player's side."""
        found = {}
        for pair in self.pairs:
            if pair.a == player:
                found[pair.b] = (pair.ahead, pair.low, pair.high)
            elif pair.b == player:
                ends = (None, None) if pair.low is None or pair.high is None else (-pair.high, -pair.low)
                found[pair.a] = (-pair.ahead, *ends)
        return [found[other.player] for other in self.players if other.player != player]


def rate(results: Sequence[TournamentResult], anchor: str = "") -> Ratings:
    """The table of a round robin.

    Args:
        results: of every pair of players, on the same deals.
        anchor: the player whose rating is 0; empty for a mean of 0.
    """
    names = sorted({player for result in results for player in result.players})
    ahead = _ahead(results, names)
    scores, seed = (1 + np.sign(ahead)) / 2, derive(results[0].seed, "bootstrap")
    found = np.vstack([strengths(scores), bootstrap(scores, _REPLICATES, seed)])
    if anchor:
        found -= found[:, [names.index(anchor)]]
    found = np.round(found, _DECIMALS) + 0.0  # a plain 0, never -0
    order = np.argsort(-found[0], kind="stable")
    return Ratings(
        game=results[0].game,
        game_options=results[0].game_options,
        deals=results[0].deals,
        seed=results[0].seed,
        anchor=anchor,
        players=tuple(_player(names[i], results, np.delete(ahead[:, i], i, axis=1), found[:, i]) for i in order),
        pairs=tuple(
            _pair(names[i], names[j], ahead[:, i, j], found[1:, i] - found[1:, j]) for i, j in combinations(order, 2)
        ),
        seating=results[0].seating,
    )


def _ahead(results: Sequence[TournamentResult], names: Sequence[str]) -> np.ndarray:
    """``float64[D, N, N]``: points a hand that each player is ahead of each other one on each deal; 0 on the diagonal.
    Rounded, so that equal means are a draw despite rounding errors."""
    ahead = np.zeros((results[0].deals, len(names), len(names)))
    for result in results:
        a, b = (names.index(player) for player in result.players)
        ahead[:, a, b] = np.round(result.advantage_by_deal, 9) + 0.0
        ahead[:, b, a] = -ahead[:, a, b]
    return ahead


def _player(name: str, results: Sequence[TournamentResult], ahead: np.ndarray, found: np.ndarray) -> RatedPlayer:
    """One row of the table, from the points that the player is ahead of the others (``float[D, N - 1]``) and its
    strength with the replicates behind it (``float[1 + R]``)."""
    own = [result for result in results if name in result.players]
    turns = [result.decisions[name] for result in own]
    mean, low, high = _with_interval(ahead.mean(axis=1))
    return RatedPlayer(
        player=name,
        rating=float(ELO * found[0]),
        standard_error=float(ELO * found[1:].std()),
        score=float((1 + np.sign(ahead)).mean() / 2),
        ahead=mean,
        low=low,
        high=high,
        seconds_per_turn=float(np.average([result.seconds_per_turn[name] for result in own], weights=turns)),
        sees_hidden=any(name in result.sees_hidden for result in own),
    )


def _pair(a: str, b: str, ahead: np.ndarray, stronger: np.ndarray) -> RatedPair:
    """Two players, from the points that a is ahead (``float[D]``) and the strength that it has over b in each replicate
    (``float[R]``); equal strengths count half."""
    wins, draws, losses = (int((np.sign(ahead) == sign).sum()) for sign in (1, 0, -1))
    return RatedPair(a, b, wins, draws, losses, *_with_interval(ahead), float((1 + np.sign(stronger)).mean() / 2))


def _with_interval(values: np.ndarray) -> Lead:
    """The mean over deals (``float[D]``) and its 95 % interval."""
    return float(values.mean()), *ends_of(np.round(values, 9))
