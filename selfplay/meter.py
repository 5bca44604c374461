"""Statistics over the queries of a shard: batch sizes, and the probability of illegal tokens."""

from dataclasses import dataclass

import numpy as np

from learner.observation_model import Answer, ObservationModel


@dataclass
class Meter:
    """Counts over all models that report to it."""

    batches: int = 0
    """Calls of ``query``."""
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
        self._meter.batches += 1
        self._meter.rows += len(counts)
        if candidates is not None:
            asked = candidates.any(1)
            self._meter.judged += int(asked.sum())
            self._meter.illegal += float((1.0 - (answer.next_token * candidates).sum(1))[asked].sum())
        return answer

    def outcomes(self, handles: np.ndarray, tokens: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """See ``ObservationModel``."""
        return self._model.outcomes(handles, tokens, counts)

    def release(self, handles: np.ndarray) -> None:
        """See ``ObservationModel``."""
        self._model.release(handles)
