"""What a run measures, in three places: ``metrics.jsonl``, TensorBoard, and Ray's metrics for Prometheus.

The run directory's files are the record; Ray's metrics live as long as the cluster and are extra. No failure of a
sink ends a run: it is said once, and the sink rests.
"""

import json
import logging
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from cluster import storage

log = logging.getLogger(__name__)

TAGS = ("role", "game")
"""The only labels of our own: every other one would multiply the series that Prometheus keeps."""


@dataclass(frozen=True)
class Metric:
    """A number that Prometheus gets, under ``ray_<name>``."""

    name: str
    kind: Literal["counter", "gauge"]
    description: str


METRICS = {
    metric.name.removeprefix("kibitz_"): metric
    for metric in (
        Metric("kibitz_games_total", "counter", "Games played by generators"),
        Metric("kibitz_decisions_total", "counter", "Decisions taken by players that ask a model"),
        Metric("kibitz_games_per_second", "gauge", "Games per second over all generators"),
        Metric("kibitz_decisions_per_second", "gauge", "Decisions per second over all generators"),
        Metric("kibitz_batch_fill", "gauge", "Part of a batch's rows that held a query, 0 to 1"),
        Metric("kibitz_evaluator_decisions_per_second", "gauge", "Decisions per second over all evaluators"),
        Metric("kibitz_evaluator_fill", "gauge", "Part of the evaluators' table places with a match going on, 0 to 1"),
        Metric("kibitz_iteration", "gauge", "Iteration of the loop that is under way"),
        Metric("kibitz_loss", "gauge", "Training loss"),
        Metric("kibitz_observation_loss", "gauge", "Cross-entropy of the next token, nats"),
        Metric("kibitz_outcome_loss", "gauge", "Cross-entropy of the outcome, nats"),
        Metric("kibitz_tokens_per_second", "gauge", "Tokens trained on per second"),
        Metric("kibitz_matmul_share", "gauge", "Part of the device's matrix product rate that training makes"),
        Metric("kibitz_illegal_mass", "gauge", "Probability the model gives to illegal actions, 0 to 1"),
        Metric("kibitz_points_ahead", "gauge", "Points a hand better than the baseline named by the role"),
        Metric("kibitz_lost_items_total", "counter", "Pieces of work done again because their actor died"),
    )
}
"""By the key under which values are logged: the name without ``kibitz_``."""


class MetricsLogger:
    """Writes values of one process. A key is one of ``METRICS`` or any other; ``key/role`` sets the role's label."""

    def __init__(self, directory: str | Path, game: str, role: str = "driver") -> None:
        """Log into ``directory`` (path or URI, made if missing), appending to what is there.

        Behind a URI ``metrics.jsonl`` is written anew at every call of ``flush``, and TensorBoard files are not
        written.
        """
        self._directory = str(directory).rstrip("/")
        self._tags = {"role": role, "game": game}
        self._resting: set[str] = set()
        self._lines: list[str] | None = None
        self._events: Any = None
        self._series: dict[str, Any] = {}
        self._counted: dict[str, float] = {}
        if storage.is_remote(directory):
            path = f"{self._directory}/metrics.jsonl"
            self._lines = storage.read_text(path).splitlines() if storage.exists(path) else []
        else:
            storage.makedirs(directory)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Record values at a step. Counters (names ending in ``_total``) are given as totals, not as increments."""
        now = time.time()
        self._attempt("metrics.jsonl", lambda: self._write_line(step, now, values))
        self._attempt("TensorBoard", lambda: self._write_events(step, now, values))
        self._attempt("Ray metrics", lambda: self._write_series(values))

    def flush(self) -> None:
        """Make everything logged so far visible to readers."""
        if self._lines is not None:
            text = "".join(f"{line}\n" for line in self._lines)
            self._attempt("metrics.jsonl", lambda: storage.write_text_atomic(f"{self._directory}/metrics.jsonl", text))
        if self._events is not None:
            self._attempt("TensorBoard", self._events.flush)

    def close(self) -> None:
        """Flush and release files."""
        self.flush()
        if self._events is not None:
            self._attempt("TensorBoard", self._events.close)
            self._events = None

    def __enter__(self) -> "MetricsLogger":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _attempt(self, sink: str, write: Callable[[], None]) -> None:
        if sink in self._resting:
            return
        try:
            write()
        except Exception as error:  # whatever it is, the run goes on
            self._resting.add(sink)
            log.warning("%s gets no more values from this process: %s: %s", sink, type(error).__name__, error)

    def _write_line(self, step: int, now: float, values: Mapping[str, float]) -> None:
        numbers = {key: float(value) for key, value in values.items()}
        line = json.dumps({"step": step, "time": round(now, 3), "values": numbers})
        if self._lines is not None:
            self._lines.append(line)
            return
        with (Path(storage.resolve(self._directory)[1]) / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def _write_events(self, step: int, now: float, values: Mapping[str, float]) -> None:
        if self._lines is not None:
            return
        if self._events is None:
            from torch.utils.tensorboard import SummaryWriter  # a second to import, and only the driver needs it

            self._events = SummaryWriter(f"{storage.resolve(self._directory)[1]}/tensorboard")
        for key, value in values.items():
            self._events.add_scalar(key, float(value), step, walltime=now)

    def _write_series(self, values: Mapping[str, float]) -> None:
        ray = sys.modules.get("ray")
        if ray is None or not ray.is_initialized():
            return
        from ray.util import metrics as ray_metrics

        for key, value in values.items():
            name, _, role = key.partition("/")
            metric = METRICS.get(name)
            if metric is None:
                continue
            if name not in self._series:
                kind = ray_metrics.Counter if metric.kind == "counter" else ray_metrics.Gauge
                self._series[name] = kind(metric.name, description=metric.description, tag_keys=TAGS)
            tags = self._tags | ({"role": role} if role else {})
            if metric.kind == "gauge":
                self._series[name].set(float(value), tags=tags)
                continue
            increment = float(value) - self._counted.get(key, 0.0)
            if increment > 0:
                self._series[name].inc(increment, tags=tags)
                self._counted[key] = float(value)
