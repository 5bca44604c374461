"""Branches: what else a seat could have done at a decision of its sequence, and how the deal ended after that.

An action may have several outcomes: draws of a distribution, or of several playouts. It is listed once for each, side
by side, and all that reads branches takes their mean. Or it has a value that a player gives it, and no outcome.

Letters: ``N`` sequences, ``Z`` branches of all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from games.vocabulary import Vocabulary

NO_OUTCOME = -1


@dataclass(frozen=True)
class Branches:
    """``Z`` single actions at decisions of ``N`` sequences, each with one outcome after it; sequence ``n`` has
    ``starts[n] .. starts[n + 1] - 1``. Raises ``ValueError`` for arrays that do not fit."""

    starts: np.ndarray
    """``int64[N + 1]``, from 0 to ``Z``."""
    place: np.ndarray
    """``int32[Z]``: tokens of the sequence that the seat had seen, which is where its own action stands."""
    token: np.ndarray
    """``int32[Z]``: the action played instead of the sequence's own, or once more that one."""
    outcome: np.ndarray
    """``int32[Z]``: outcome label seen from the seat of the sequence, ``NO_OUTCOME`` where the action has a value."""
    value: np.ndarray | None = None
    """``float32[Z]``: what a player says the action is worth to the seat, more is better, in that player's unit; NaN
    where it has an outcome. None where all have one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", np.asarray(self.starts, np.int64))
        if self.starts[0] != 0 or (np.diff(self.starts) < 0).any():
            raise ValueError("starts of branches must rise from 0")
        for name in ("place", "token", "outcome"):
            column = np.asarray(getattr(self, name), np.int32)
            if column.shape != (self.starts[-1],):
                raise ValueError(f"{name} of branches has shape {column.shape}; there are {self.starts[-1]}")
            object.__setattr__(self, name, column)
        if self.value is not None and np.shape(self.value) != (self.starts[-1],):
            raise ValueError(f"value of branches has shape {np.shape(self.value)}; there are {self.starts[-1]}")

    @property
    def with_outcomes(self) -> "Branches":
        """Those that have an outcome."""
        if self.value is None:
            return self
        kept = self.outcome != NO_OUTCOME
        return Branches.of_rows(
            len(self.starts) - 1, *(each[kept] for each in (self.row, self.place, self.token, self.outcome))
        )

    @property
    def row(self) -> np.ndarray:
        """``int64[Z]``: the sequence of each branch."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def first(self) -> np.ndarray:
        """``bool[Z]``: the first of each action's outcomes."""
        first = np.ones(len(self.place), np.bool_)
        first[1:] = np.any([column[1:] != column[:-1] for column in (self.row, self.place, self.token)], axis=0)
        return first

    @staticmethod
    def none(count: int) -> "Branches":
        """No branches of ``count`` sequences."""
        return Branches(np.zeros(count + 1, np.int64), *np.zeros((3, 0), np.int32))

    @staticmethod
    def of_rows(
        count: int,
        row: np.ndarray,
        place: np.ndarray,
        token: np.ndarray,
        outcome: np.ndarray,
        value: np.ndarray | None = None,
    ) -> "Branches":
        """Branches of ``count`` sequences in any order, with the sequence of each (``int[Z]``); by row, place, token
        from now on."""
        order = np.lexsort((token, place, row))
        starts = np.searchsorted(np.asarray(row)[order], np.arange(count + 1))
        place, token, outcome = (np.asarray(column)[order] for column in (place, token, outcome))
        return Branches(starts, place, token, outcome, None if value is None else np.asarray(value, np.float32)[order])

    @staticmethod
    def concat(parts: Sequence["Branches"]) -> "Branches":
        """Those of all sequences of ``parts``, in order; at least one part."""
        counts = np.concatenate([np.diff(part.starts) for part in parts])
        names = "place", "token", "outcome"
        place, token, outcome = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        value = None
        if any(part.value is not None for part in parts):
            value = np.concatenate([part.value if part.value is not None else _no_values(part) for part in parts])
        return Branches(np.append(0, np.cumsum(counts)), place, token, outcome, value)

    def take(self, rows: np.ndarray) -> "Branches":
        """Those of the sequences ``rows`` (``int64[...]``), in this order."""
        counts = np.diff(self.starts)[rows]
        starts = np.append(0, np.cumsum(counts))
        index = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], counts)
        value = None if self.value is None else self.value[index]
        return Branches(starts, self.place[index], self.token[index], self.outcome[index], value)

    def check(self, tokens: np.ndarray, vocabulary: Vocabulary, num_labels: int) -> None:
        """``ValueError`` for branches that cannot be of the sequences ``tokens`` (``[N, L]``): a place behind the last
        action, tokens or outcome labels that there are not."""
        row = self.row
        valued = self.outcome == NO_OUTCOME
        if self.value is None and valued.any():
            raise ValueError(f"row {row[np.argmax(valued)]}: outcome label {NO_OUTCOME} of a branch without a value")
        if self.value is not None and not (np.isfinite(self.value) == valued).all():
            bad = int(np.argmin(np.isfinite(self.value) == valued))
            raise ValueError(f"row {row[bad]}: a branch has value {self.value[bad]} beside outcome {self.outcome[bad]}")
        for what, values, limit in (
            ("place", self.place, (tokens == vocabulary.eos).argmax(axis=1)[row]),
            ("token", self.token, np.full(len(row), vocabulary.eos)),
            ("outcome label", self.outcome, np.full(len(row), num_labels)),
        ):
            wrong = (values < 0) | (values >= limit)
            if what == "outcome label":
                wrong &= ~valued
            if wrong.any():
                bad = int(np.argmax(wrong))
                raise ValueError(f"row {row[bad]}: {what} {values[bad]} of a branch is outside 0..{limit[bad] - 1}")


def _no_values(part: Branches) -> np.ndarray:
    return np.full(len(part.place), np.nan, np.float32)
