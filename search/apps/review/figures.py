"""What decisions cost: of players, phases and seats, and the course of each deal.

Letters: ``D`` deals, ``N`` histories.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from search.apps.review.decisions import PLAY, Decisions, Judged
from search.arena.tournament.statistics import MIN_DEALS

MARKS = {0.2: "blunder", 0.05: "mistake", 0.01: "doubtful", 0.0: "good"}
"""Least cost, in units of the utility -> what a decision is called."""
COSTLIEST = 3
"""Decisions of a deal that are named."""
BOTH = "player and phase"
"""The longest of the tables of figures."""


@dataclass(frozen=True)
class Figure:
    """Decisions of one player, phase or seat."""

    name: str
    deals: int
    decisions: int
    cost: float | None
    """Mean points lost a decision against the judge's choice; None where none was judged."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval over deals; None for too few."""
    agreement: float
    """Share of decisions in which the judge would have done the same."""
    not_judged: int
    """Decisions whose action the judge did not consider; they count nowhere else but in ``agreement``."""


def figure(name: str, decisions: Decisions, deal: np.ndarray) -> Figure | None:
    """The figure of some decisions, None without any; ``deal``: ``int64[M]``, their deals."""
    cost = decisions.cost
    judged = np.isfinite(cost)
    if not len(cost):
        return None
    mean, low, high = ratio_interval(cost[judged], deal[judged]) if judged.any() else (None, None, None)
    return Figure(
        name=name,
        deals=len(np.unique(deal)),
        decisions=int(judged.sum()),
        cost=mean,
        low=low,
        high=high,
        agreement=float(decisions.agrees.mean()),
        not_judged=int((~judged).sum()),
    )


def ratio_interval(values: np.ndarray, group: np.ndarray) -> tuple[float, float | None, float | None]:
    """Mean of ``float64[M]`` and its 95 % t interval, where values of a group (``int64[M]``) are not independent: that
    of a ratio of sums over groups (Cochran, Sampling Techniques, section 6.3). No ends for few groups."""
    _, group = np.unique(group, return_inverse=True)
    counts, sums = np.bincount(group), np.bincount(group, weights=values)
    groups, mean = len(counts), float(values.mean())
    if groups < MIN_DEALS:
        return mean, None, None
    left = sums - mean * counts
    error = np.sqrt(groups / (groups - 1) * (left**2).sum()) / counts.sum()
    half = float(stdtrit(groups - 1, 0.975) * error)
    return mean, mean - half, mean + half


def mark_of(cost: float | None, points_per_utility: float) -> str:
    """What a decision is called; empty where it was not judged."""
    return "" if cost is None else next(name for least, name in MARKS.items() if cost >= least * points_per_utility)


def phase_name(token_type: str) -> str:
    """What a decision is about: ``my play`` is a play."""
    return token_type.removeprefix("my ")


def figures(judged: Judged) -> dict[str, list[Figure]]:
    """``player``, ``phase`` and ``seat`` -> figures, the costliest first; ``player and phase`` too where there are
    several of both."""
    decisions, sequences = judged.decisions, judged.deals.sequences
    types = np.array([phase_name(name) for name in judged.deals.game.token_types], object)
    player, phase = sequences.player[decisions.row], types[decisions.phase]
    seat = np.array([f"seat {number}" for number in sequences.seat[decisions.row]], object)
    found = {"player": player, "phase": phase, "seat": seat}
    if len(np.unique(player.astype(str))) > 1 and len(np.unique(decisions.phase)) > 1:
        found[BOTH] = np.array([f"{who}: {what}" for who, what in zip(player, phase, strict=True)], object)
    deal = sequences.game[decisions.row]
    result = {}
    for name, keys in found.items():
        parts = [(key, np.flatnonzero(keys == key)) for key in dict.fromkeys(keys)]
        made = [figure(str(key), decisions.take(rows), deal[rows]) for key, rows in parts]
        result[name] = sorted((one for one in made if one), key=lambda one: -(one.cost or 0.0))
    return result


# ---- one deal ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Course:
    """How a seat's expectation came to its result, in points: the parts add up to result less start."""

    start: float | None
    """Before it saw a card, but knew the kind of deal (in The Crew the mission)."""
    cards: float | None
    """What the cards dealt to it changed."""
    before_play: float | None
    """What all did before the first card, its own mistakes included."""
    play: float | None
    """What all did from there on."""
    result: float | None
    """None for a deal that broke off."""
    lost: float
    """Cost of its own decisions, all together."""
    curve: tuple[tuple[int, float], ...]
    """(tokens, V(h)) at each of its decisions and after the deal; then the result."""


def course(judged: Judged, row: int, result: float | None, lost: float) -> Course:
    """The course of a history.

    Args:
        result: what it ended with in the judge's points; None where it broke off.
        lost: cost of its decisions.
    """
    expected, (first, dealt, play) = judged.expected[row], judged.marks[row]

    def at(place: int) -> float | None:
        return float(expected[place]) if place >= 0 and np.isfinite(expected[place]) else None

    def change(before: float | None, after: float | None) -> float | None:
        return None if before is None or after is None else after - before

    ends = [at(first), at(dealt), at(play), result]
    if play < 0:  # passed in, or a game without tricks: all that was done is in one part
        tricks = any(name.endswith(PLAY) for name in judged.deals.game.token_types)
        ends[2] = result if tricks else ends[1]
    known = np.flatnonzero(np.isfinite(expected))
    curve = [(int(place), float(expected[place])) for place in known if place > max(first, 1)]
    if result is not None:
        curve.append((int(judged.deals.lengths[row]), result))
    return Course(
        start=ends[0],
        cards=change(ends[0], ends[1]),
        before_play=change(ends[1], ends[2]),
        play=change(ends[2], ends[3]),
        result=result,
        lost=lost,
        curve=tuple(curve),
    )


def costliest_decisions(decisions: Decisions, count: int = COSTLIEST) -> np.ndarray:
    """``int64[...]``: the decisions that cost the most, the costliest first, none that cost nothing."""
    cost = np.nan_to_num(decisions.cost)
    order = np.argsort(-cost, kind="stable")[:count]
    return np.asarray(order[cost[order] > 0])


def results_of(judged: Judged, utility: np.ndarray, scale: float) -> Mapping[int, float]:
    """History -> what it ended with, for those that were played to their end; ``utility``: ``float[K]``, of outcome
    labels."""
    deals = judged.deals
    rows = np.flatnonzero(deals.complete)
    return {int(row): float(utility[deals.sequences.outcome[row]] * scale) for row in rows}
