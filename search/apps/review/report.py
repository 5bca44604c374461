"""A review as plain values: what ``review.json`` holds, and the page and the terminal show."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from games.vocabulary import Vocabulary
from search.apps.review.decisions import Judged
from search.apps.review.figures import Course, Figure, costliest_decisions, course, phase_name

FORMAT = 1
"""Increased whenever the meaning of the JSON changes."""


@dataclass(frozen=True)
class ActionNote:
    """A legal action of a decision."""

    name: str
    probability: float | None
    """How likely the judge finds it; None where it does not say."""
    value: float | None
    """Points; None where the judge did not consider it."""
    hindsight: float | None
    """Points with all cards open; None where no solver says."""


@dataclass(frozen=True)
class DecisionNote:
    """A decision with a choice."""

    place: int
    """Tokens that the seat had seen."""
    phase: str
    played: str
    best: str
    """What the judge would have done."""
    cost: float | None
    """Points lost against it; None where the judge did not consider what was played."""
    hindsight: float | None
    """Points lost against the best action with all cards open: known only afterwards."""
    actions: tuple[ActionNote, ...]
    """The likeliest first, or the best."""


@dataclass(frozen=True)
class Change:
    """A card after which the result under perfect play was another."""

    number: int
    """Cards that were played before it."""
    seat: int
    card: str
    cost: float
    """Points that it cost its seat."""


@dataclass(frozen=True)
class PerfectPlay:
    """What a seat would have got if all had played perfectly with all cards open: known only afterwards."""

    first: float
    """Points, if all had done so from the first card on."""
    changes: tuple[Change, ...]
    """The changes of all seats, in order."""
    start: int
    """Cards that were played before ``line``: those before the seat's own first change, or none."""
    points: float
    """At the end of ``line``."""
    line: tuple[str, ...]
    """Cards of perfect play to the end of the deal, whoever plays them."""


@dataclass(frozen=True)
class SeatNote:
    """A seat of a deal."""

    row: int
    """History in the file."""
    seat: int
    player: str
    course: Course
    decisions: tuple[DecisionNote, ...]
    dearest: tuple[int, ...]
    """Places in ``decisions``, the costliest first."""
    perfect: PerfectPlay | None = None
    """None where it was not asked for, or no solver says."""


@dataclass(frozen=True)
class DealNote:
    """A deal with the seats that were reviewed."""

    title: str
    seats: tuple[SeatNote, ...]

    @property
    def lost(self) -> float:
        """Points that all its seats lost."""
        return sum(seat.course.lost for seat in self.seats)


@dataclass(frozen=True)
class Review:
    """A reviewed file."""

    file: str
    """Empty for the last hand at a table."""
    asked: dict[str, str | int]
    """What was asked for, so that another review does not replace this one."""
    game: str
    player: str
    """The judge."""
    network: str
    """``id`` of its network; empty without one."""
    unit: str
    """Unit of all points."""
    notes: tuple[str, ...]
    figures: dict[str, list[Figure]]
    deals: tuple[DealNote, ...]

    def record(self) -> dict[str, Any]:
        """As JSON types."""
        return {"format": FORMAT, **asdict(self)}


def deal_notes(
    judged: Judged, rows: np.ndarray, hindsight: np.ndarray | None, results: Mapping[int, float]
) -> tuple[DealNote, ...]:
    """The deals of these histories.

    Args:
        hindsight: ``float64[M, V]``, see ``search.apps.review.open_cards``; None without.
        results: history -> what it ended with in points.
    """
    sequences, decisions = judged.deals.sequences, judged.decisions
    starts = np.searchsorted(decisions.row, np.arange(len(sequences) + 1))
    found = dict[int, list[SeatNote]]()
    for row in rows.tolist():
        mine = np.arange(starts[row], starts[row + 1])
        notes = tuple(_decision(judged, number, hindsight) for number in mine)
        lost = float(np.nansum(decisions.cost[mine]))
        seat = SeatNote(
            row=row,
            seat=int(sequences.seat[row]),
            player=str(sequences.player[row]),
            course=course(judged, row, results.get(row), lost),
            decisions=notes,
            dearest=tuple(costliest_decisions(decisions.take(mine)).tolist()),
        )
        found.setdefault(int(sequences.game[row]), []).append(seat)
    return tuple(DealNote(judged.deals.titles[deal], tuple(seats)) for deal, seats in found.items())


def _decision(judged: Judged, number: int, hindsight: np.ndarray | None) -> DecisionNote:
    game, decisions = judged.deals.game, judged.decisions
    legal = np.flatnonzero(decisions.legal[number])
    chances, values = decisions.probabilities[number], decisions.values[number]
    after = np.full(len(chances), np.nan) if hindsight is None else hindsight[number]
    played = int(decisions.played[number])
    lost = after[legal].max() - after[played] if np.isfinite(after[legal]).all() else np.nan
    names: Vocabulary = game.vocabulary
    return DecisionNote(
        place=int(decisions.place[number]),
        phase=phase_name(game.token_types[decisions.phase[number]]),
        played=names.name(played),
        best=names.name(int(decisions.best[number])),
        cost=rounded(decisions.cost[number]),
        hindsight=rounded(lost),
        actions=tuple(
            ActionNote(names.name(int(a)), rounded(chances[a]), rounded(values[a]), rounded(after[a]))
            for a in likeliest_first(legal, chances, values)
        ),
    )


def likeliest_first(actions: np.ndarray, probabilities: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The ``actions`` (``int64[...]``) by their probabilities, or by their values where the judge says none of these
    (``float[V]`` each)."""
    known = probabilities if np.isfinite(probabilities[actions]).any() else values
    return np.asarray(actions[np.argsort(-np.nan_to_num(known[actions], nan=-1e9))])


def rounded(value: float) -> float | None:
    """Rounded to what is worth telling; None for NaN."""
    return None if np.isnan(value) else round(float(value), 4)


def costliest(deals: Sequence[DealNote], most: int) -> list[DealNote]:
    """The ``most`` deals in which the most was lost."""
    return sorted(deals, key=lambda deal: -deal.lost)[:most]


def costliest_notes(deals: Sequence[DealNote], count: int) -> list[tuple[DealNote, SeatNote, DecisionNote]]:
    """The decisions of all deals that cost the most, the costliest first."""
    every = [(deal, seat, note) for deal in deals for seat in deal.seats for note in seat.decisions if note.cost]
    return sorted(every, key=lambda one: -(one[2].cost or 0.0))[:count]
