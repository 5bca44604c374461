"""What a run measures, in three places: ``metrics.jsonl``, TensorBoard, and Ray's metrics for Prometheus.

The run directory's files are the record; Ray's metrics live as long as the cluster and are extra. No failure of a
sink ends a run: it is said once, and the sink rests.
"""

import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cluster import storage

log = logging.getLogger(__name__)

METRICS = {
    "games_total": "Games played by generators",
    "decisions_total": "Decisions taken by players that ask a model",
    "games_per_second": "Games per second over all generators",
    "decisions_per_second": "Decisions per second over all generators",
    "batch_fill": "Part of a batch's rows that held a query, 0 to 1",
    "evaluator_decisions_per_second": "Decisions per second over all evaluators",
    "evaluator_fill": "Part of the evaluators' table places with a match going on, 0 to 1",
    "iteration": "Iteration of the loop that is under way",
    "loss": "Training loss",
    "observation_loss": "Cross-entropy of the next token, nats",
    "outcome_loss": "Cross-entropy of the outcome, nats",
    "tokens_per_second": "Tokens trained on per second",
    "matmul_share": "Part of the device's matrix product rate that training makes",
    "illegal_mass": "Probability the model gives to illegal actions, 0 to 1",
    "points_ahead": "Points a hand better than the baseline named by the role",
    "lost_items_total": "Pieces of work done again because their actor died",
}
"""What Prometheus gets, under ``ray_kibitz_<name>``: counters where the name ends in ``_total``, else gauges."""


class MetricsLogger:
    """Writes values of one process. A key is one of ``METRICS`` or any other; ``key/role`` sets the role's label."""

    def __init__(self, directory: str | Path, game: str) -> None:
        """Log into ``directory`` (path or URI, made if missing), appending to what is there.

        Behind a URI ``metrics.jsonl`` is written anew at every call of ``flush``, and TensorBoard files are not
        written.
        """
        self._path = f"{str(directory).rstrip('/')}/metrics.jsonl"
        self._game = game
        self._resting: set[str] = set()
        self._writing = threading.Lock()  # two stages may log at the same time
        self._local: Path | None = None
        self._lines: list[str] = []
        """Of ``metrics.jsonl`` behind a URI."""
        self._events: Any = None
        self._series: dict[str, Any] = {}
        self._counted: dict[str, float] = {}
        if not storage.is_remote(directory):
            self._local = Path(storage.resolve(directory)[1])
            self._local.mkdir(parents=True, exist_ok=True)
        elif storage.exists(self._path):
            self._lines = storage.read_text(self._path).splitlines()

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Record values at a step. Counters (names ending in ``_total``) are given as totals, not as increments."""
        now = time.time()
        with self._writing:
            self._attempt("metrics.jsonl", lambda: self._write_line(step, now, values))
            self._attempt("TensorBoard", lambda: self._write_events(step, now, values))
            self._attempt("Ray metrics", lambda: self._write_series(values))

    def flush(self) -> None:
        """Make everything logged so far visible to readers."""
        if self._local is None:
            text = "".join(f"{line}\n" for line in self._lines)
            self._attempt("metrics.jsonl", lambda: storage.write_bytes_atomic(self._path, text.encode()))
        if self._events is not None:
            self._attempt("TensorBoard", self._events.flush)

    def close(self) -> None:
        """Flush and release files."""
        self.flush()
        if self._events is not None:
            self._attempt("TensorBoard", self._events.close)

    def __enter__(self) -> "MetricsLogger":
        return self

    def __exit__(self, *error: object) -> None:
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
        if self._local is None:
            self._lines.append(line)
            return
        with (self._local / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def _write_events(self, step: int, now: float, values: Mapping[str, float]) -> None:
        if self._local is None:
            return
        if self._events is None:
            from torch.utils.tensorboard import SummaryWriter  # a second to import, and only the driver needs it

            self._events = SummaryWriter(str(self._local / "tensorboard"))
        for key, value in values.items():
            self._events.add_scalar(key, float(value), step, walltime=now)

    def _write_series(self, values: Mapping[str, float]) -> None:
        ray = sys.modules.get("ray")
        if ray is None or not ray.is_initialized():
            return
        from ray.util.metrics import Counter, Gauge

        for key, value in values.items():
            name, _, role = key.partition("/")
            if name not in METRICS:
                continue
            counts = name.endswith("_total")
            if name not in self._series:
                kind = Counter if counts else Gauge
                self._series[name] = kind(f"kibitz_{name}", description=METRICS[name], tag_keys=("role", "game"))
            tags = {"role": role or "driver", "game": self._game}
            if not counts:
                self._series[name].set(float(value), tags=tags)
            elif value > self._counted.get(key, 0):
                self._series[name].inc(float(value) - self._counted.get(key, 0), tags=tags)
                self._counted[key] = float(value)
