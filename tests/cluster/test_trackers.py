"""Trackers through their own clients, into their own files."""

import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from cluster.errors import UserError
from cluster.watching import trackers
from cluster.watching.metrics import MetricsLogger
from cluster.watching.trackers import TRACKERS, check_tracker, open_tracker

SETTINGS = {"model": {"n_layer": 2}, "selfplay": {"initial": {"players": {"hearts_rules:explore=0.08": 1.0}}}}
CLIENTS = ("mlflow", "wandb")


def command(directory: Path, tracker: str, step: int, loss: float) -> None:
    """What one command does on a run directory."""
    with MetricsLogger(directory, "hearts", open_tracker(tracker, str(directory), SETTINGS)) as metrics:
        metrics.log(step, {"loss": loss, "final/go_mcts:num_runs=40 against hearts_rules": 1.0})


@pytest.fixture(autouse=True)
def on_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_ALLOW_FILE_STORE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "wandb-config"))


def test_mlflow_gets_settings_and_values_and_goes_on_in_the_same_run(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    for step, loss in ((1, 0.5), (2, 0.25)):
        command(tmp_path / "demo", "mlflow", step, loss)
    client = mlflow.MlflowClient((tmp_path / "demo/mlflow").as_uri())
    experiment = client.get_experiment_by_name("kibitz")
    (run,) = client.search_runs([experiment.experiment_id])
    assert (run.info.run_name, run.info.status) == ("demo", "FINISHED")
    assert run.data.params["model.n_layer"] == "2" and len(run.data.params) == 2
    assert [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, "loss")] == [(1, 0.5), (2, 0.25)]
    assert len(run.data.metrics) == 2, "a name that it would not take is written in another way"


def test_mlflow_is_told_that_a_run_failed(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    with (
        pytest.raises(KeyboardInterrupt),
        MetricsLogger(tmp_path, "hearts", open_tracker("mlflow", str(tmp_path), SETTINGS)),
    ):
        raise KeyboardInterrupt
    client = mlflow.MlflowClient((tmp_path / "mlflow").as_uri())
    (run,) = client.search_runs([client.get_experiment_by_name("kibitz").experiment_id])
    assert run.info.status == "FAILED"


def test_a_run_that_another_mlflow_knows_ends_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow")
    command(tmp_path, "mlflow", 1, 0.5)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "other").as_uri())
    with pytest.raises(UserError, match=r"tracker=mlflow: .*not found.*; mend that, or choose another of none"):
        command(tmp_path, "mlflow", 2, 0.5)


def test_wandb_offline_goes_on_under_the_same_name(tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    for step in (1, 2):
        command(tmp_path / "demo", "wandb", step, 0.5)
    written = sorted((tmp_path / "demo/wandb").glob("offline-run-*/run-*.wandb"))
    assert len(written) == 2 and len({path.name for path in written}) == 1, written
    limit = time.monotonic() + 30
    while not all(b"final/go_mcts:num_runs=40" in path.read_bytes() for path in written):
        assert time.monotonic() < limit, "its own process has not written the values"
        time.sleep(0.1)


@pytest.mark.parametrize("offline", [False, True])
def test_files_of_wandb_beside_a_remote_run_go_at_its_end_unless_they_are_all_there_is(
    offline: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = MagicMock()
    wandb.init.return_value = MagicMock(id="one", offline=offline)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(trackers, "_stored_id", lambda *_: "one")
    tracker = open_tracker("wandb", "s3://bucket/run", SETTINGS)
    assert tracker is not None and len(list(tmp_path.glob("kibitz-wandb-*"))) == 1
    tracker.close(failed=False)
    assert len(list(tmp_path.glob("kibitz-wandb-*"))) == offline


@pytest.mark.parametrize("tracker", CLIENTS)
def test_a_package_that_is_not_there_is_one_line_with_the_extra(
    tracker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / tracker).mkdir()  # files of an earlier run, in a place where modules are looked for
    monkeypatch.delitem(sys.modules, tracker, raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(UserError, match=rf"tracker={tracker}: .*pip install 'kibitz\[{tracker}\]'"):
        check_tracker(tracker)


@pytest.mark.parametrize("tracker", TRACKERS)
def test_metrics_jsonl_is_written_whichever_is_chosen(tracker: str, tmp_path: Path) -> None:
    if tracker in CLIENTS:
        pytest.importorskip(tracker)
    command(tmp_path, tracker, 1, 0.5)
    assert (tmp_path / "metrics.jsonl").read_text().count("\n") == 1
    made = {path.name for path in tmp_path.iterdir()} - {"metrics.jsonl", "wandb-config"}
    files = {"none": set(), "tensorboard": {"tensorboard"}}
    assert made == files.get(tracker, {tracker, "tracker.json"})


def test_object_storage_needs_a_server_of_mlflow() -> None:
    pytest.importorskip("mlflow")
    with pytest.raises(UserError, match="set MLFLOW_TRACKING_URI"):
        open_tracker("mlflow", "s3://bucket/run", SETTINGS)
