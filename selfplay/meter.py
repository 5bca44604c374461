"""Statistics over the queries of a shard: batch sizes, and the probability of illegal tokens."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from learner.observation_model import Answer, ObservationModel, Pool, Query


@dataclass
class Meter:
    """Counts over all models that report to it."""

    batches: int = 0
    """Calls of ``query``, of several models together counted once."""
    rows: int = 0
    """Queries in them."""
    judged: int = 0
    """Queries with candidates (the legal actions)."""
    illegal: float = 0.0
    """Probability of other tokens, summed over these queries."""

    @property
    def illegal_mass(self) -> float:
        """Mean probability of illegal tokens, 0 to 1; 0 before the first query with candidates."""
        return self.illegal / self.judged if self.judged else 0.0

    def batch_fill(self, size: int) -> float:
        """Mean rows of a batch divided by ``size``; 0 before the first batch."""
        return self.rows / self.batches / size if self.batches else 0.0


class MeteredModel:
    """An observation model that passes every call on and counts it in a meter."""

    def __init__(self, model: ObservationModel, meter: Meter) -> None:
        self._model = model
        self._meter = meter

    @property
    def slots_left(self) -> int:
        """See ``ObservationModel``."""
        return self._model.slots_left

    @property
    def pool(self) -> Pool | None:
        """See ``Pool``."""
        return getattr(self._model, "pool", None)

    @property
    def network(self) -> Any:
        """See ``Pool``."""
        return getattr(self._model, "network", None)

    def query(
        self,
        handles: np.ndarray,
        tokens: np.ndarray,
        counts: np.ndarray,
        candidates: np.ndarray | None = None,
        values: np.ndarray | None = None,
        look_ahead: bool = False,
    ) -> Answer:
        """See ``ObservationModel``."""
        answer = self._model.query(handles, tokens, counts, candidates, values, look_ahead)
        self.count(Query(handles, tokens, counts, candidates, values), answer)
        return answer

    def count(self, query: Query, answer: Answer, passes: int = 1) -> None:
        """Count a query that took so many passes, and its answer."""
        self._meter.batches += passes
        self._meter.rows += len(query.counts)
        if query.candidates is not None:
            asked = query.candidates.any(1)
            self._meter.judged += int(asked.sum())
            self._meter.illegal += float((1.0 - (answer.next_token * query.candidates).sum(1))[asked].sum())

    def outcomes(self, handles: np.ndarray, tokens: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """See ``ObservationModel``."""
        return self._model.outcomes(handles, tokens, counts)

    def release(self, handles: np.ndarray) -> None:
        """See ``ObservationModel``."""
        self._model.release(handles)
