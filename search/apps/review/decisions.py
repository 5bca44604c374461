"""Every decision of recorded deals, and what a judge thinks of it.

Letters: ``N`` histories of the deals, ``M`` decisions, ``L`` token positions, ``V`` tokens of the vocabulary.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from games.game import Next
from games.recorded_deals import RecordedDeals
from search.arena.judges import Judge
from search.players.choices import choice_places, place_bits, turns_before

PLAY = "play"
"""How the types of token for cards played to tricks end, in games that have tricks."""


@dataclass(frozen=True)
class Decisions:
    """``M`` decisions with a choice, in the order of their histories, then of time. Values are in points."""

    row: np.ndarray
    """``int64[M]``: history."""
    place: np.ndarray
    """``int64[M]``: tokens of the history before the decision."""
    phase: np.ndarray
    """``int64[M]``: type of the action, an index into ``Game.token_types``."""
    legal: np.ndarray
    """``bool[M, V]``."""
    probabilities: np.ndarray
    """``float32[M, V]``: see ``Opinion``."""
    values: np.ndarray
    """``float64[M, V]``: see ``Opinion``."""
    best: np.ndarray
    """``int64[M]``: what the judge would have done."""
    played: np.ndarray
    """``int64[M]``: what was done."""

    @cached_property
    def cost(self) -> np.ndarray:
        """``float64[M]``: value of the judge's action less that of what was done, at least 0; NaN where the judge did
        not consider that. A network overrates what is hardly ever done, and a search what few worlds favour; so what a
        judge values more than its own action but would not do costs nothing."""
        rows = np.arange(len(self.row))
        more = np.maximum(self.values[rows, self.best] - self.values[rows, self.played], 0.0)
        return np.asarray(np.where(self.agrees, 0.0, more))

    @property
    def agrees(self) -> np.ndarray:
        """``bool[M]``: whether the judge would have done the same."""
        return np.asarray(self.best == self.played)

    def take(self, rows: np.ndarray) -> "Decisions":
        """Some of the decisions."""
        return Decisions(*(getattr(self, field.name)[rows] for field in fields(self)))

    @staticmethod
    def none(tokens: int) -> "Decisions":
        """No decision, in a game of so many tokens."""
        empty, wide = np.empty(0, np.int64), np.empty((0, tokens))
        return Decisions(empty, empty, empty, wide.astype(np.bool_), wide.astype(np.float32), wide, empty, empty)


@dataclass(frozen=True)
class Judged:
    """Recorded deals and what the judge says of them."""

    deals: RecordedDeals
    decisions: Decisions
    expected: np.ndarray
    """``float64[N, L]``: V(h) in points after so many tokens of each history; NaN where it was not asked."""
    marks: np.ndarray
    """``int64[N, 3]``: tokens after which V(h) is asked beside decisions: the first one, or all that say the kind of
    deal; all that is dealt; all before the first card; -1 where there is no such place."""


def judge_deals(
    deals: RecordedDeals,
    rows: np.ndarray,
    judge: Judge,
    scale: float,
    seed: int,
    progress: Callable[[int], None] = lambda done: None,
) -> Judged:
    """Judge every decision of some histories.

    Args:
        rows: ``int64[...]``: the histories.
        scale: points for 1 of the judge's utility.
        seed: of the judge's random numbers.
        progress: called with the number of histories judged so far.
    """
    count, width = deals.sequences.tokens.shape
    expected, marks = np.full((count, width + 1), np.nan), np.full((count, 3), -1)
    seeds, parts = place_bits(seed, count, width), [Decisions.none(deals.game.vocabulary.size)]
    for first in range(0, len(rows), judge.at_once):
        some = rows[first : first + judge.at_once]
        marks[some] = marked(deals, some)
        asked = marks[some] if judge.tells_others else np.full((len(some), 0), -1)
        for place, decisions, values, at in _judged(deals, some, asked, judge, scale, seeds):
            expected[at, place] = values
            parts.append(decisions)
        progress(first + len(some))
    expected *= scale
    joined = Decisions(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Decisions)))
    return Judged(deals, joined.take(np.lexsort((joined.place, joined.row))), expected, marks)


def _judged(
    deals: RecordedDeals, rows: np.ndarray, marks: np.ndarray, judge: Judge, scale: float, seeds: np.ndarray
) -> Iterator[tuple[np.ndarray, Decisions, np.ndarray, np.ndarray]]:
    """The places, decisions, V(h) and histories at each next place of all these histories."""
    game, tokens, seats = deals.game, deals.sequences.tokens[rows], deals.sequences.seat[rows].astype(np.int64)
    asked = choices_of(deals, rows)
    decides = np.pad(asked, ((0, 0), (0, 1)))
    asked = decides.copy()
    at, column = np.nonzero(marks >= 0)
    asked[at, marks[at, column]] = True
    nth = np.where(asked, asked.cumsum(axis=1), 0)
    judge.start(game, len(rows))
    for number in range(1, int(nth.max(initial=0)) + 1):
        here, places = np.nonzero(nth == number)
        turns = turns_before(game, tokens[here], places, here, seats[here], seeds[rows[here], places - 1])
        opinion = judge.opinion(turns)
        choice = np.flatnonzero(decides[here, places])
        views = game.views(turns.tokens[choice], places[choice])
        decisions = Decisions(
            row=rows[here[choice]],
            place=places[choice],
            phase=game.next_type(views),
            legal=turns.legal[choice],
            probabilities=opinion.probabilities[choice],
            values=opinion.values[choice] * scale,
            best=opinion.best[choice],
            played=tokens[here[choice], places[choice]].astype(np.int64),
        )
        yield places, decisions, opinion.expected, rows[here]
    judge.forget(np.arange(len(rows)))


def choices_of(deals: RecordedDeals, rows: np.ndarray) -> np.ndarray:
    """``bool[M, L]``: after how many tokens of these histories (``int64[M]``) their seats had a choice."""
    return choice_places(deals.game, deals.sequences.tokens[rows], deals.lengths[rows])


def marked(deals: RecordedDeals, rows: np.ndarray) -> np.ndarray:
    """``int64[M, 3]``: see ``Judged.marks``."""
    game, tokens, lengths = deals.game, deals.sequences.tokens[rows], deals.lengths[rows]
    kind, dealt = _dealt(deals, rows)
    views = game.prefixes(tokens)
    types = game.next_type(views.reshape(-1)).reshape(len(rows), -1)[:, : tokens.shape[1]]
    plays = np.array([name.endswith(PLAY) for name in game.token_types])[types]
    plays &= np.arange(tokens.shape[1]) < lengths[:, None]
    first_card = np.where(plays.any(axis=1), plays.argmax(axis=1), -1)
    ends = game.next(game.views(tokens, dealt)) == Next.END
    return np.stack([np.where(dealt > 1, kind, -1), np.where(ends, -1, dealt), first_card], axis=1)


def _dealt(deals: RecordedDeals, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``int64[M]``, twice: tokens by which each history says the kind of deal, and that it has when the deal begins.
    Records have numbers in place of seeds, which does not matter where all deals begin alike."""
    game, states = deals.game, deals.game.deal(deals.sequences.deal_seed[rows])
    lengths = game.histories(states, deals.sequences.seat[rows].astype(np.int64))[1].astype(np.int64)
    return game.kind_lengths(states), lengths
