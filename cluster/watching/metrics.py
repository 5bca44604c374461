"""Metrics of a run, in three places: ``metrics.jsonl``, a tracker, and Ray's metrics for Prometheus.

``metrics.jsonl`` is the record; Ray's metrics live as long as the cluster and are extra. No failure of a sink ends a
run: it is reported once, and the sink gets no more.
"""

import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cluster.files import storage
from cluster.files.appended import AppendedText
from cluster.foreign import parse_json
from cluster.watching.trackers import Tracker, run_name

log = logging.getLogger(__name__)

METRICS = {
    "games_total": "Games of the run played by generators",
    "decisions_total": "Decisions of the run taken by players that ask a model",
    "games_per_second": "Games per second over all generators",
    "decisions_per_second": "Decisions per second over all generators",
    "batch_fill": "Part of a batch's rows that held a query, 0 to 1",
    "evaluator_decisions_per_second": "Decisions per second over all evaluators",
    "evaluator_fill": "Part of the evaluators' table places with a match going on, 0 to 1",
    "iteration": "Iteration of the loop that is under way",
    "loss": "Training loss",
    "observation_loss": "Cross-entropy of the next token, nats",
    "outcome_loss": "Cross-entropy of the outcome, nats",
    "validation_loss": "Loss on the deals that training does not see",
    "tokens_per_second": "Tokens trained on per second",
    "matmul_share": "Part of the device's matrix product rate that training makes",
    "illegal_mass": "Probability the model gives to illegal actions, 0 to 1",
    "points_ahead": "Points a hand better than the baseline named by the role",
    "idle": "Part of the time in which the role's actors, or the GPUs, had nothing to do, 0 to 1",
    "lost_items_total": "Pieces of work of the run done again because their actor died",
}
"""Metrics for Prometheus, as ``ray_kibitz_<name>``.

All are gauges, also totals of the run (names ending in ``_total``): a counter of Ray cannot hold zero, begins anew with
every command, and stays with the cluster when its command has ended, so that sums count work twice.
"""

_RENEW_SECONDS = 5.0
"""Ray forgets a gauge that has not been set for 20 s."""


class MetricsLogger:
    """Writes values of one process. A key is one of ``METRICS`` or any other; ``key/role`` sets the role's label.

    Use as a context manager, or call ``close``.
    """

    def __init__(self, directory: str | Path, game: str, tracker: Tracker | None = None) -> None:
        """Log into ``directory`` (path or URI, made if missing), appending to what is there, and to a tracker.

        Behind a URI ``metrics.jsonl`` is written anew at every call of ``flush``.
        """
        path = f"{str(directory).rstrip('/')}/metrics.jsonl"
        self.totals, self._steps = _earlier(path)
        """Name of every total -> the last value that earlier commands on the directory have logged, else 0."""
        self._labels = {"game": game, "run": run_name(directory)}
        self._lines = AppendedText(path)
        self._tracker = tracker
        self._resting: set[str] = set()
        self._writing = threading.Lock()  # two stages may log at the same time
        self._gauges: dict[str, Any] = {}
        self._shown: dict[str, float] = {**self.totals}
        """Current values of Prometheus' gauges."""
        self._ended = threading.Event()
        self._renewing = threading.Thread(target=self._renew, daemon=True)
        self._renewing.start()

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Record values at a step. Totals (names ending in ``_total``) are of the whole run, ``totals`` included."""
        now = time.time()
        numbers = {key: float(value) for key, value in values.items()}
        line = json.dumps({"step": step, "time": round(now, 3), "values": numbers})
        with self._writing:
            self._steps |= {key: max(step, self._steps.get(key, step)) for key in numbers}
            self._attempt("metrics.jsonl", lambda: self._lines.add(line))
            if (tracker := self._tracker) is not None:
                self._attempt("the tracker", lambda: tracker.log(step, now, numbers))
            self._shown.update(numbers)
            self._attempt("Ray metrics", lambda: self._set_gauges(numbers))

    def log_new(self, step: int, values: Mapping[str, float]) -> None:
        """Record values at a step, unless one of their keys is already logged at this step or a later one.

        A command that resumes from a checkpoint repeats steps that the earlier command has logged.
        """
        if all(step > self.last_step(key) for key in values):
            self.log(step, values)

    def last_step(self, key: str) -> int:
        """The highest step at which this or an earlier command on the directory has logged a key; -1 without."""
        return self._steps.get(key, -1)

    def flush(self) -> None:
        """Make everything logged so far visible to readers."""
        self._attempt("metrics.jsonl", self._lines.flush)
        if self._tracker is not None:
            self._attempt("the tracker", self._tracker.flush)

    def close(self, failed: bool = False) -> None:
        """Flush and release files; ``failed``: the run was ended by an exception."""
        self._ended.set()
        self._renewing.join()
        self.flush()
        if (tracker := self._tracker) is not None:
            self._attempt("the tracker", lambda: tracker.close(failed))

    def __enter__(self) -> "MetricsLogger":
        return self

    def __exit__(self, *error: object) -> None:
        self.close(failed=error[0] is not None)

    def _attempt(self, sink: str, write: Callable[[], None]) -> None:
        if sink in self._resting:
            return
        try:
            write()
        except Exception as error:  # the run goes on after any failure
            self._resting.add(sink)
            log.warning("%s gets no more values from this process: %s: %s", sink, type(error).__name__, error)

    def _renew(self) -> None:
        """Set every gauge again and again, in a thread: hours may pass between two values."""
        while not self._ended.wait(_RENEW_SECONDS):
            with self._writing:
                self._attempt("Ray metrics", lambda: self._set_gauges(self._shown))

    def _set_gauges(self, values: Mapping[str, float]) -> None:
        ray = sys.modules.get("ray")
        if ray is None or not ray.is_initialized():
            return
        from ray.util.metrics import Gauge

        for key, value in values.items():
            name, _, role = key.partition("/")
            if name not in METRICS:
                continue
            if name not in self._gauges:
                labels = ("role", *self._labels)
                self._gauges[name] = Gauge(f"kibitz_{name}", description=METRICS[name], tag_keys=labels)
            self._gauges[name].set(value, tags={"role": role or "driver", **self._labels})


def _earlier(path: str) -> tuple[dict[str, int], dict[str, int]]:
    """The last value of every total in a ``metrics.jsonl``, 0 without, and the highest step of every key; skips
    incomplete lines."""
    totals = {name: 0 for name in METRICS if name.endswith("_total")}
    steps: dict[str, int] = {}
    for line in storage.read_text(path, "replace").splitlines() if storage.exists(path) else []:
        try:
            entry = parse_json(line)
            step, values = int(entry["step"]), dict(entry["values"])
            totals |= {key: int(value) for key, value in values.items() if key.endswith("_total")}
        except (ValueError, KeyError, TypeError, OverflowError):
            continue
        steps |= {key: max(step, steps.get(key, step)) for key in values}
    return totals, steps
