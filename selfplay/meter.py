"""What the queries of a shard have been like: how full their batches, how much probability on illegal tokens."""

from dataclasses import dataclass

import numpy as np

from learner.observation_model import Answer, ObservationModel


@dataclass
class Meter:
    """Counts over all the models that report to it."""

    batches: int = 0
    """Calls of ``query``."""
    rows: int = 0
    """Queries in them."""
    judged: int = 0
    """Queries with candidates, which are the legal actions."""
    illegal: float = 0.0
    """Probability that fell on other tokens, summed over those."""

    @property
    def illegal_mass(self) -> float:
        """Mean probability on illegal tokens, 0 to 1; 0 before the first query that can tell."""
        return self.illegal / self.judged if self.judged else 0.0

    def batch_fill(self, size: int) -> float:
        """Mean rows of a batch as a part of ``size``; 0 before the first."""
        return self.rows / self.batches / size if self.batches else 0.0


class MeteredModel:
    """An observation model that passes everything on and tells a meter."""

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

    def release(self, handles: np.ndarray) -> None:
        """See ``ObservationModel``."""
        self._model.release(handles)
