"""Trackers that show a run's metrics: TensorBoard, MLflow or Weights & Biases, through their own clients.

``metrics.jsonl`` has everything with any of them. A client is imported when it is chosen.
"""

import importlib.util
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from cluster.errors import UserError
from cluster.fields import flat
from cluster.files import storage, uris

TRACKERS = ("none", "tensorboard", "mlflow", "wandb")
PROJECT = "kibitz"
"""The MLflow experiment and the W&B project, unless their environment variables name another."""
_PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}
"""Without them an unreachable MLflow server holds up the run for many minutes."""


class Tracker(Protocol):
    """Sink for the metrics of one command on a run."""

    def log(self, step: int, seconds: float, values: Mapping[str, float]) -> None:
        """Values at a step, and the time in seconds since 1970."""

    def flush(self) -> None:
        """Make everything logged so far visible to readers."""

    def close(self, failed: bool) -> None:
        """Finish when the command ends; ``failed``: by an exception."""


def check_tracker(tracker: str) -> None:
    """``UserError`` where the package of a tracker is not installed."""
    if tracker not in ("mlflow", "wandb"):
        return
    package = importlib.util.find_spec(tracker)
    if package is None or package.origin is None:  # a folder of that name, as both trackers make, is no package
        raise UserError(f"tracker={tracker}: the package is not installed here; pip install 'kibitz[{tracker}]'")


def open_tracker(tracker: str, directory: str, settings: Mapping[str, Any]) -> Tracker | None:
    """The tracker of this name for a run directory (path or URI), going on where an earlier command stopped.

    Args:
        tracker: one of ``TRACKERS``.
        settings: the run's configuration, nested.

    Raises:
        UserError: the program behind it cannot be reached or refuses.
    """
    if tracker == "none" or (tracker == "tensorboard" and uris.is_remote(directory)):
        return None
    if tracker == "tensorboard":
        return _TensorBoard(Path(uris.resolve(directory)[1]) / "tensorboard")
    try:
        if tracker == "mlflow":
            return _MLflow(directory, run_name(directory), flat(settings))
        return _WandB(directory, run_name(directory), flat(settings))
    except UserError:
        raise
    except Exception as error:  # any failure of a client: the user chose it and must know before work starts
        reason, others = " ".join(str(error).split()).rstrip("."), ", ".join(TRACKERS)
        raise UserError(f"tracker={tracker}: {reason}; mend that, or choose another of {others}") from error


def run_name(directory: str | Path) -> str:
    """Name of a run among several: the last part of its directory."""
    if uris.is_remote(directory):
        return uris.beside(directory, "").partition("?")[0].rpartition("/")[2]
    return Path(uris.resolve(directory)[1]).resolve().name


class _TensorBoard:
    """Event files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._events: Any = None

    def log(self, step: int, seconds: float, values: Mapping[str, float]) -> None:
        if self._events is None:
            from torch.utils.tensorboard import SummaryWriter  # a second to import

            self._events = SummaryWriter(str(self._directory))
        for key, value in values.items():
            self._events.add_scalar(key, float(value), step, walltime=seconds)

    def flush(self) -> None:
        if self._events is not None:
            self._events.flush()

    def close(self, failed: bool) -> None:
        if self._events is not None:
            self._events.close()


class _MLflow:
    """A run of MLflow: at ``MLFLOW_TRACKING_URI``, else in files of the run directory."""

    def __init__(self, directory: str, name: str, settings: Mapping[str, Any]) -> None:
        store = os.environ.get("MLFLOW_TRACKING_URI", "")
        if not store:
            if uris.is_remote(directory):
                raise UserError(f"tracker=mlflow: {directory} cannot hold its files; set MLFLOW_TRACKING_URI")
            store = (Path(uris.resolve(directory)[1]) / "mlflow").as_uri()
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # MLflow prefers databases and refuses files else
        for variable, value in _PATIENCE.items():
            os.environ.setdefault(variable, value)
        from mlflow import MlflowClient, entities

        self._entities, self._client = entities, MlflowClient(store)
        self._run: str = _stored_id(directory, "mlflow")
        if self._run:
            self._client.get_run(self._run)  # a clear error if the store is another than before
            self._client.update_run(self._run, "RUNNING")
            return
        title = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        experiment = self._client.get_experiment_by_name(title)
        where = experiment.experiment_id if experiment else self._client.create_experiment(title)
        self._run = self._client.create_run(where, run_name=name).info.run_id
        parameters = [entities.Param(_mlflow_name(key), str(value)[:6000]) for key, value in settings.items()]
        for first in range(0, len(parameters), 100):  # MLflow's limit for one call
            self._client.log_batch(self._run, params=parameters[first : first + 100])
        _store_id(directory, "mlflow", self._run)

    def log(self, step: int, seconds: float, values: Mapping[str, float]) -> None:
        now = int(seconds * 1000)
        metrics = [self._entities.Metric(_mlflow_name(key), float(value), now, step) for key, value in values.items()]
        self._client.log_batch(self._run, metrics=metrics)

    def flush(self) -> None:
        """Nothing to do: values are written at once."""

    def close(self, failed: bool) -> None:
        self._client.set_terminated(self._run, "FAILED" if failed else "FINISHED")


class _WandB:
    """A run of Weights & Biases; ``WANDB_MODE=offline`` keeps it in files of the run directory."""

    def __init__(self, directory: str, name: str, settings: Mapping[str, Any]) -> None:
        import wandb

        remote = uris.is_remote(directory)
        self._scratch = tempfile.mkdtemp(prefix="kibitz-wandb-") if remote else ""
        before = _stored_id(directory, "wandb")
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=name,
            id=before or None,
            resume="allow" if before else None,
            dir=self._scratch or uris.resolve(directory)[1],
            config=dict(settings),
            settings=wandb.Settings(console="off", quiet=True),
        )
        self._run.define_metric("step")
        self._run.define_metric("*", step_metric="step")  # W&B's own steps must rise, and ours are of several kinds
        if not before:
            _store_id(directory, "wandb", self._run.id)

    def log(self, step: int, seconds: float, values: Mapping[str, float]) -> None:
        self._run.log({**values, "step": step})

    def flush(self) -> None:
        """Nothing to do: W&B's own process flushes."""

    def close(self, failed: bool) -> None:
        self._run.finish(exit_code=int(failed))
        if self._scratch and not self._run.offline:  # else only these files have the values
            shutil.rmtree(self._scratch, ignore_errors=True)


def _stored_id(directory: str, tracker: str) -> str:
    """The tracker's name for this run; empty where an earlier command has not stored one."""
    path = f"{directory}/tracker.json"
    return str(storage.read_json(path).get(tracker, "")) if storage.exists(path) else ""


def _store_id(directory: str, tracker: str, run: str) -> None:
    path = f"{directory}/tracker.json"
    before = storage.read_json(path) if storage.exists(path) else {}
    storage.write_json_atomic(path, {**before, tracker: run})


def _mlflow_name(key: str) -> str:
    """A key without the characters that MLflow refuses."""
    return re.sub(r"[^\w\-./ :]", "_", key)
