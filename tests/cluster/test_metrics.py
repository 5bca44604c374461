"""Numbers that reach their files, and failures that end no run."""

import io
import json
import logging
import time
import urllib.request
from pathlib import Path

import pytest
import ray
from ray._private.worker import BaseContext
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from cluster.metrics import MetricsLogger
from cluster.progress import Progress


def test_values_reach_the_jsonl_file_and_tensorboard_and_are_appended_on_resume(tmp_path: Path) -> None:
    for step in (1, 2):
        with MetricsLogger(tmp_path, "hearts") as metrics:
            metrics.log(step, {"loss": 0.5 / step, "points_ahead/random": 3})
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2]
    assert lines[1]["values"] == {"loss": 0.25, "points_ahead/random": 3.0}
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars("loss")] == [(1, 0.5), (2, 0.25)]


def test_a_sink_that_fails_is_told_once_and_the_others_go_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "tensorboard").write_text("in the way")
    with caplog.at_level(logging.WARNING), MetricsLogger(tmp_path, "hearts") as metrics:
        metrics.log(1, {"loss": 1})
        metrics.log(2, {"loss": 1})
    assert [record.message.split(" gets")[0] for record in caplog.records] == ["TensorBoard"]
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2


def test_values_are_served_to_prometheus(ray_connection: BaseContext, tmp_path: Path) -> None:
    with MetricsLogger(tmp_path, "hearts") as metrics:
        metrics.log(1, {"games_total": 100, "iteration": 4, "points_ahead/random": 2.5, "not_exported": 1})
        metrics.log(2, {"games_total": 250})
    port = ray.nodes()[0]["MetricsExportPort"]
    deadline = 40
    page = ""
    while "kibitz_games_total" not in page and deadline:
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
        deadline -= 1
        ray.get(_pause.remote())
    rows = {row.split("{")[0]: row for row in page.splitlines() if row.startswith("ray_kibitz")}
    assert rows["ray_kibitz_games_total"].endswith(" 250.0")
    assert 'game="hearts"' in rows["ray_kibitz_iteration"] and 'role="driver"' in rows["ray_kibitz_iteration"]
    assert 'role="random"' in rows["ray_kibitz_points_ahead"]
    assert not any("not_exported" in row for row in rows)


@ray.remote(num_cpus=0)
def _pause() -> None:
    import time

    time.sleep(0.5)


def test_progress_into_a_file_is_plain_lines_and_always_a_last_one() -> None:
    out = io.StringIO()
    with Progress("iteration 3", 10, "games", console=Console(file=out, width=40)) as progress:
        for done in range(11):
            progress.update(done, {"loss": 0.123456, "who": "random"})
    assert out.getvalue().startswith("iteration 3: 10 of 10 games, 0 s")
    assert out.getvalue().endswith("loss 0.1235  who random\n") and out.getvalue().count("\n") == 1


def test_progress_of_a_whole_is_a_percentage() -> None:
    out = io.StringIO()
    with Progress("training", 1, "", console=Console(file=out)) as progress:
        progress.update(0.25, {"loss": 1})
    assert out.getvalue() == "training: 25%, 0 s  loss 1\n"


def test_lines_keep_coming_while_nothing_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.progress._PLAIN_SECONDS", 0.01)
    out = io.StringIO()
    with Progress("tournaments", 10, "deals", console=Console(file=out)) as progress:
        progress.update(0, {"decisions": 12345})
        until = time.monotonic() + 20
        while out.getvalue().count("\n") < 3 and time.monotonic() < until:
            time.sleep(0.01)
        assert out.getvalue().count("tournaments: 0 of 10 deals") >= 3 and "decisions 12,345" in out.getvalue()


def test_progress_in_a_terminal_shows_a_bar() -> None:
    out = io.StringIO()
    with Progress("iteration 3", 10, "games", console=Console(file=out, force_terminal=True, width=100)) as progress:
        progress.update(5)
    assert "50%" in out.getvalue()


def test_of_two_side_by_side_one_has_a_bar_and_the_other_prints_lines_above_it() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100)
    for _ in range(2):
        with (
            Progress("training", 1, "", console=console) as training,
            Progress("playing", 10, "games", console=console) as playing,
        ):
            playing.update(7)
            training.update(0.25)
    assert out.getvalue().count("playing: 7 of 10 games, 0 s") == 2 and "training: " not in out.getvalue()
    assert " 25%" in out.getvalue() and "70%" not in out.getvalue()
