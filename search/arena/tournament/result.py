"""Result of a tournament: the paper's tables, with intervals and tests over deals.

Letters: ``D`` deals, ``S`` seatings of every deal, ``P`` seats, ``E`` entrants.

An entrant's points in a match are the mean over its seats; a column's figures are means over its matches, as in Tables
2 and 3 of paper 001, whose "All" weighs all matches equally. Tests and intervals take the deal as the unit, since
matches of one deal are not independent. ``by_seat`` weighs all games and seats equally instead, as paper 004 does; it
differs where two entrants hold unequal numbers of seats. In a cooperative game an entrant plays one match of each deal,
in all seats; if its points are 1 or 0, their mean is the success rate.

In a tournament of pairs (paper 002, Figure 1) an entrant holds two seats of a match, so the points of the pairs differ
by twice ``Comparison.delta``; the paper's total point differential is the sum of this over all matches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from games.game import Game
from search.arena.recorded import Recorded
from search.arena.tournament.deals import Deals
from search.arena.tournament.matches import Matches
from search.arena.tournament.seatings import PAIRS
from search.arena.tournament.statistics import ends_of, mean_interval, rate_interval, wilcoxon_p

Lead = tuple[float, float | None, float | None]
"""Points a hand ahead, and the ends of the 95 % interval, None without one."""


@dataclass(frozen=True)
class Comparison:
    """Two entrants within one column, points per hand and seat."""

    a: str
    b: str
    delta: float
    """Mean of a's points minus b's."""
    low: float | None
    high: float | None
    """95 % t interval of ``delta`` over deals; None for too few deals."""
    p_value: float
    """Two-sided Wilcoxon signed-rank test over deals."""
    advantage: float
    """Lead of a over b: ``delta``, or its negative where fewer points are better."""


@dataclass(frozen=True)
class Column:
    """One column of the table: all matches, or all with the same number of seats for each entrant."""

    name: str
    """``All``, or for two entrants e.g. ``3A/1B``."""
    matches: int
    points: dict[str, float]
    """Entrant -> mean points per hand and seat."""
    comparisons: tuple[Comparison, ...]
    """Every pair of entrants, in order."""


@dataclass(frozen=True)
class Variant:
    """The deals of one kind."""

    deals: int
    intervals: dict[str, tuple[float, float] | None]
    """Entrant -> ends of the 95 % interval of its points over deals: of a rate where all points are 1 or 0, else as for
    differences."""
    column: Column
    """All matches of these deals, with the kind's name."""


@dataclass(frozen=True)
class Indicator:
    """What an entrant's deals show beside points, or the points themselves: over deals."""

    mean: float
    deviation: float
    """Standard deviation; 0 for a single deal."""
    low: float | None
    high: float | None
    """95 % t interval of the mean; None for too few deals."""


@dataclass(frozen=True)
class TournamentResult(Recorded):
    """The result of a tournament with its settings."""

    FORMAT = 2
    WHAT = "a tournament"

    players: tuple[str, ...]
    """Entrants, A first."""
    sees_hidden: tuple[str, ...]
    """Entrants that look at cards that a real player cannot see."""
    seed: int
    deals: int
    matches: int
    lower_is_better: bool
    """Whether fewer points are better, see ``OutcomeTable.lower_is_better``."""
    columns: tuple[Column, ...]
    """``All`` first."""
    decisions: dict[str, int]
    """Entrant -> turns it decided."""
    seconds_per_turn: dict[str, float]
    """Entrant -> mean wall time of a turn, in batches as large as the tables allowed."""
    settings: dict[str, Any]
    """The caller's record: search settings, checkpoints."""
    variants: tuple[Variant, ...]
    """The kinds of deals that were played, in the game's order; empty for a game without."""
    by_deal: dict[str, list[float]]
    """Entrant -> mean points per hand and seat on every deal, over all seatings, for comparing tournaments on the same
    deals."""
    seating: str
    """One of ``search.arena.tournament.seatings.SEATINGS``."""
    first: int
    """Number of the first deal."""
    dealing_options: tuple[str, ...]
    """Names of the options that say which deals come and nothing else."""
    series: int
    """``Game.series``."""
    indicators: dict[str, dict[str, Indicator]]
    """Name -> entrant -> figure, ``points`` first; empty for games without."""
    by_seat: dict[str, Column]
    """The same names -> all matches, means over games and seats; empty where these are means over matches."""

    def check(self) -> None:
        """See ``Recorded``: every figure has all players."""
        figures: dict[str, Any] = {
            "decisions": self.decisions,
            "seconds_per_turn": self.seconds_per_turn,
            "by_deal": self.by_deal,
        }
        figures |= {f"columns: {column.name}: points": column.points for column in self.columns}
        for name, found in figures.items():
            if missing := set(self.players) - found.keys():
                raise ValueError(f"{name}: {', '.join(sorted(missing))} is missing")
        if not self.columns or len({len(points) for points in self.by_deal.values()}) > 1:
            raise ValueError("columns, or deals of a player, are missing")

    @property
    def advantage(self) -> float:
        """Lead of A over the others, over all matches, in points per hand and seat; of a lone entrant its points, so
        that more is better."""
        if len(self.players) == 1:
            return float(self.columns[0].points[self.players[0]] * (-1 if self.lower_is_better else 1))
        pairs = [pair for pair in self.columns[0].comparisons if pair.a == self.players[0]]
        return sum(pair.advantage for pair in pairs) / len(pairs)

    @property
    def advantage_by_deal(self) -> np.ndarray:
        """``float64[D]``: ``advantage`` on every deal."""
        first, *others = (np.array(self.by_deal[player]) for player in self.players)
        others = others or [np.zeros_like(first)]
        return (np.mean(others, axis=0) - first) * (1 if self.lower_is_better else -1)

    @property
    def dealt(self) -> str:
        """What says which deals were played (``Game.dealing_options``), as ``key=value``; empty where nothing does."""
        shown = {key: value for key, value in self.game_options.items() if key in self.dealing_options}
        return ", ".join(f"{key}={value}" for key, value in shown.items())

    @property
    def pair_differential(self) -> float | None:
        """Paper 002's "total point differential" (Figure 1) over all matches, A's pair minus B's: ``2 * matches`` times
        the delta of column All. None except for ``seating=pairs``."""
        return 2 * self.matches * self.columns[0].comparisons[0].delta if self.seating == PAIRS else None

    @property
    def depends_on(self) -> dict[str, Any]:
        """See ``Recorded``."""
        deals = Deals(self.seed, self.deals, self.first, self.seating)
        return {**self.settings, **identity(self.game, self.game_options, self.players, deals)}


def identity(game: str, options: Mapping[str, Any], players: Sequence[str], deals: Deals) -> dict[str, Any]:
    """The values that a tournament depends on besides settings, by key of the configuration."""
    named = {"game": game, "game.options": dict(options), "players": list(players)}
    return {**named, "deals": deals.count, "seed": deals.seed, "seating": deals.seating, "first": deals.first}


def summarize(
    game: Game,
    players: Sequence[str],
    matches: Matches,
    settings: Mapping[str, Any] | None = None,
) -> TournamentResult:
    """The result of all the matches of a tournament between ``players`` (distinct names)."""
    seats = matches.deals.seatings(game, len(players))
    means, lower_better = _means(matches.points, seats), game.outcomes.lower_is_better
    return TournamentResult(
        game=game.name,
        game_options=dict(game.options),
        players=tuple(players),
        sees_hidden=tuple(name for name, sees in zip(players, matches.sees_hidden, strict=False) if sees),
        seed=matches.deals.seed,
        deals=matches.deals.count,
        matches=means.shape[0] * means.shape[1],
        lower_is_better=lower_better,
        columns=tuple(
            _column(name, players, means[:, chosen], lower_better) for name, chosen in _groups(seats).items()
        ),
        decisions={name: int(n) for name, n in zip(players, matches.decisions, strict=True)},
        seconds_per_turn={
            name: float(seconds / max(n, 1))
            for name, n, seconds in zip(players, matches.decisions, matches.seconds, strict=True)
        },
        settings=dict(settings or {}),
        variants=tuple(
            _variant(game, int(kind), players, means[matches.variant == kind], lower_better)
            for kind in np.unique(matches.variant)
        ),
        seating=matches.deals.seating,
        first=matches.deals.first,
        dealing_options=tuple(name for name in game.dealing_options if not name.endswith("_digest")),
        series=game.series,
        indicators=_indicators(players, seats, matches),
        by_seat=_by_seat(players, seats, matches, lower_better),
        by_deal={name: np.round(by_deal, 9).tolist() for name, by_deal in zip(players, _by_deal(means).T, strict=True)},
    )


def lead(result: TournamentResult, column: int = -1) -> Lead:
    """Lead of the first entrant in points a hand, with its interval: with one seat against the others (two in pairs,
    all in a cooperative game), or in another column of the result."""
    if len(result.players) == 1:
        return result.advantage, *ends_of(result.advantage_by_deal)
    pair = result.columns[column].comparisons[0]
    if pair.low is None or pair.high is None or not result.lower_is_better:
        return pair.advantage, pair.low, pair.high
    return pair.advantage, -pair.high, -pair.low


def _means(points: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """``float64[D, S, E]``: mean points of every entrant's seats in every match; NaN where it has none."""
    share = (seats[:, :, None] == np.arange(seats.max() + 1)).astype(np.float64)
    held = share.sum(axis=1, keepdims=True)
    shown = np.where(share > 0, points[..., None], 0.0)  # NaN of others' seats
    means = (shown * (share / np.maximum(held, 1))).sum(axis=2)
    return np.where(held[:, 0] > 0, means, np.nan)


def _by_deal(means: np.ndarray) -> np.ndarray:
    """``float64[D, E]``: mean points of every entrant over its matches (``float64[D, S, E]``) of each deal."""
    with np.errstate(invalid="ignore"):
        held = ~np.isnan(means)
        return np.asarray(np.where(held, means, 0).sum(axis=1) / held.sum(axis=1))


def _indicators(players: Sequence[str], seats: np.ndarray, matches: Matches) -> dict[str, dict[str, Indicator]]:
    """``TournamentResult.indicators``; an entrant has none where it shows nothing of a name."""
    found: dict[str, dict[str, Indicator]] = {}
    if not matches.indicators:
        return found
    for name, shown in {"points": matches.points, **matches.indicators}.items():
        by_deal = _by_deal(_means(shown, seats))
        there = [i for i in range(len(players)) if not np.isnan(by_deal[:, i]).any()]
        found[name] = {players[i]: _indicator(by_deal[:, i]) for i in there}
    return found


def _by_seat(players: Sequence[str], seats: np.ndarray, matches: Matches, lower_better: bool) -> dict[str, Column]:
    """``TournamentResult.by_seat``. A deal's figure is the mean over the seats of all its matches."""
    held = (seats[:, :, None] == np.arange(len(players))).astype(np.float64)
    counts = held.sum(axis=1)
    if not matches.indicators or np.isin(counts, (0, counts.max())).all():
        return {}
    found = {}
    for name, shown in {"points": matches.points, **matches.indicators}.items():
        own = np.where(held > 0, shown.astype(np.float64)[..., None], 0.0)  # NaN of others' seats
        by_deal = own.sum(axis=(1, 2)) / held.sum(axis=(0, 1))
        if not np.isnan(by_deal).any():
            column = _column(name, players, by_deal[:, None], lower_better)
            found[name] = replace(column, matches=len(by_deal) * len(seats))
    return found


def _indicator(by_deal: np.ndarray) -> Indicator:
    deviation = float(by_deal.std(ddof=1)) if len(by_deal) > 1 else 0.0
    return Indicator(float(by_deal.mean()), deviation, *ends_of(by_deal))


def _groups(seats: np.ndarray) -> dict[str, np.ndarray]:
    """Column name -> which seatings it takes, ``bool[S]``."""
    everything = np.ones(len(seats), bool)
    teams = (seats == seats[:, :1]).all()
    if teams or seats.max() > 1:
        return {"All": everything}
    num_seats, held = seats.shape[1], (seats == 0).sum(axis=1)
    groups = {f"{a}A/{num_seats - a}B": held == a for a in range(num_seats - 1, 0, -1) if a in held}
    return {"All": everything, **groups}


def _variant(game: Game, kind: int, players: Sequence[str], means: np.ndarray, lower_better: bool) -> Variant:
    """The deals of one kind (an index of ``game.scenarios``) from the means of their matches, ``float64[D', S, E]``."""
    by_deal = _by_deal(means)
    is_rate = np.isin(game.outcomes.points, (0, 1)).all() and np.isin(by_deal, (0, 1)).all()
    ends = rate_interval(by_deal) if is_rate else mean_interval(by_deal)
    return Variant(
        deals=len(means),
        intervals={
            name: (float(ends[0][i]), float(ends[1][i])) if ends is not None else None for i, name in enumerate(players)
        },
        column=_column(game.scenarios[kind], players, means, lower_better),
    )


def _column(name: str, players: Sequence[str], means: np.ndarray, lower_better: bool) -> Column:
    """One column from the means of its matches, ``float64[D, S', E]``."""
    by_deal = _by_deal(means)
    pairs = list(combinations(range(len(players)), 2))
    one, other = ([pair[side] for pair in pairs] for side in (0, 1))
    # Rounded, so that equal means tie in the test despite rounding errors; + 0 makes -0 a plain 0.
    differences = np.round(by_deal[:, one] - by_deal[:, other], 9) + 0.0
    ends = mean_interval(differences)
    comparisons = []
    for k, (i, j) in enumerate(pairs):
        delta = float(differences[:, k].mean())
        comparisons.append(
            Comparison(
                a=players[i],
                b=players[j],
                delta=delta,
                low=float(ends[0][k]) if ends else None,
                high=float(ends[1][k]) if ends else None,
                p_value=wilcoxon_p(differences[:, k]),
                advantage=-delta if lower_better else delta,
            )
        )
    points = {player: float(by_deal[:, i].mean()) for i, player in enumerate(players)}
    return Column(name, means.shape[0] * means.shape[1], points, tuple(comparisons))
