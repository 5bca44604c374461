"""Numbers that reach their files, and failures that end no run."""

import io
import json
import logging
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import ray
import yaml
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from cluster.watching.metrics import METRICS, MetricsLogger
from cluster.watching.progress import Progress
from cluster.watching.trackers import open_tracker

FILES = Path(__file__).parents[2] / "cluster"


def test_values_reach_the_jsonl_file_and_tensorboard_and_are_appended_on_resume(tmp_path: Path) -> None:
    for step in (1, 2):
        with MetricsLogger(tmp_path, "hearts", open_tracker("tensorboard", str(tmp_path), {})) as metrics:
            metrics.log(step, {"loss": 0.5 / step, "points_ahead/random": 3})
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2]
    assert lines[1]["values"] == {"loss": 0.25, "points_ahead/random": 3.0}
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars("loss")] == [(1, 0.5), (2, 0.25)]


def test_a_sink_that_fails_is_told_once_and_the_others_go_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "tensorboard").write_text("in the way")
    tracker = open_tracker("tensorboard", str(tmp_path), {})
    with caplog.at_level(logging.WARNING), MetricsLogger(tmp_path, "hearts", tracker) as metrics:
        metrics.log(1, {"loss": 1})
        metrics.log(2, {"loss": 1})
    assert [record.message.split(" gets")[0] for record in caplog.records] == ["the tracker"]
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2


def test_totals_go_on_though_lines_of_an_earlier_command_were_cut_or_damaged(tmp_path: Path) -> None:
    with MetricsLogger(tmp_path, "hearts") as metrics:
        assert metrics.totals == {"games_total": 0, "decisions_total": 0, "lost_items_total": 0}
        metrics.log(10, {"games_total": 10, "decisions_total": 300})
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step": 15, "values": {"games\xa0total": 15}}\n{"step": 20, "values": {"games_to')
    with MetricsLogger(tmp_path, "hearts") as metrics:
        assert metrics.totals == {"games_total": 10, "decisions_total": 300, "lost_items_total": 0}
        metrics.log(30, {"games_total": 30})
    assert json.loads((tmp_path / "metrics.jsonl").read_bytes().splitlines()[-1])["step"] == 30


def test_a_step_that_the_run_has_logged_is_not_logged_again(tmp_path: Path) -> None:
    for steps in ((10, 20, 20), (10, 20, 30)):  # the second command goes on from a checkpoint at step 0
        with MetricsLogger(tmp_path, "hearts") as metrics:
            for step in steps:
                metrics.log_new(step, {"loss": 1.0})
            metrics.log_new(10, {"validation_loss": 1.0})
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line["values"]] == [10, 20, 30]
    assert [line["step"] for line in lines if "validation_loss" in line["values"]] == [10]


@pytest.mark.slow
def test_gauges_and_zeros_are_served_as_long_as_the_run_lives(
    ray_connection: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cluster.watching.metrics._RENEW_SECONDS", 0.5)
    with MetricsLogger(tmp_path / "demo", "hearts") as metrics:
        metrics.log(1, {"games_total": 100, "iteration": 4, "points_ahead/random": 2.5, "not_exported": 1})
        metrics.log(2, {"games_total": 250})
        _until(lambda: _served()["games_total"].endswith(" 250.0"))
        time.sleep(4)  # Ray forgets a gauge after 2 s here, after 20 elsewhere
        rows = _served()
        assert rows["games_total"].endswith(" 250.0") and rows["lost_items_total"].endswith(" 0.0")
        assert all(label in rows["iteration"] for label in ('game="hearts"', 'run="demo"', 'role="driver"'))
        assert 'role="random"' in rows["points_ahead"]
        assert "not_exported" not in rows
    _until(lambda: not _served())


def _served() -> dict[str, str]:
    """What Ray serves of ours: name -> the whole row."""
    port = ray.nodes()[0]["MetricsExportPort"]
    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
    prefix = "ray_kibitz_"
    ours = [row for row in page.splitlines() if row.startswith(prefix)]
    # A page may hold some of our gauges and not yet others: a missing one reads as an empty row.
    return defaultdict(str, {row.split("{")[0].removeprefix(prefix): row for row in ours})


def _until(condition: Callable[[], object], seconds: float = 40) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, f"still not so after {seconds} s"
        time.sleep(0.2)


# ---- Prometheus


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="Prometheus is not installed")
def test_prometheus_answers_every_query_of_the_dashboard(
    ray_connection: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cluster.watching.metrics._RENEW_SECONDS", 0.5)
    dashboard = json.loads((FILES / "grafana/dashboards/kibitz.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    wanted = {query.replace("$game", "hearts").replace("$run", "demo|other") for query in queries}
    session = Path(ray_connection.address_info["session_dir"])
    with _prometheus(tmp_path, session) as address, MetricsLogger(tmp_path / "demo", "hearts") as metrics:
        metrics.log(1, {key: 0.5 for key in METRICS})
        _until(lambda: all(_answer(address, query) for query in wanted))
        (row,) = _answer(address, f"max by (run) (ray_kibitz_loss{{run={json.dumps('demo')}}})")
        assert row["metric"] == {"run": "demo"} and float(row["value"][1]) == 0.5
        for variable in dashboard["templating"]["list"]:
            label = re.fullmatch(r"label_values\(ray_kibitz_iteration.*, (\w+)\)", variable["query"]["query"])
            assert label is not None and label[1] in _answer(address, "ray_kibitz_iteration")[0]["metric"]


@contextmanager
def _prometheus(directory: Path, session: Path) -> Iterator[str]:
    """A Prometheus with the repository's settings, on a free port of the loopback interface; its address."""
    settings = yaml.safe_load((FILES / "prometheus/prometheus.yml").read_text())
    settings["global"] = {"scrape_interval": "500ms", "scrape_timeout": "500ms"}
    (scraped,) = settings["scrape_configs"]
    (discovery,) = scraped["file_sd_configs"]
    discovery |= {"files": [str(session.parent / Path(discovery["files"][0]).name)], "refresh_interval": "1s"}
    (directory / "prometheus.yml").write_text(yaml.safe_dump(settings))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    options = ("--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address={address}")
    with (directory / "log").open("wb") as output:
        process = subprocess.Popen(["prometheus", *options], cwd=directory, stdout=output, stderr=output)
    try:
        yield address
    finally:
        process.terminate()
        process.wait(30)


def _answer(address: str, query: str) -> list[dict[str, Any]]:
    """The rows of an instant query; none while Prometheus starts."""
    try:
        url = f"http://{address}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        answer = json.load(urllib.request.urlopen(url, timeout=5))
    except (ConnectionError, urllib.error.URLError) as error:
        assert not isinstance(error, urllib.error.HTTPError) or error.code == 503, f"{query}: {error.read()!r}"
        return []
    return list(answer["data"]["result"])


# ---- the terminal


def test_progress_into_a_file_is_plain_lines_and_always_a_last_one() -> None:
    out = io.StringIO()
    with Progress("iteration 3", 10, "games", console=Console(file=out, width=40)) as progress:
        for done in range(11):
            progress.update(done, {"loss": 0.123456, "who": "random"})
    assert re.fullmatch(
        r"iteration 3: 10 of 10 games, 0 s  (games/s [\d.e+]+  )?loss 0.1235  who random\n", out.getvalue()
    )
    out = io.StringIO()
    with Progress("training", 1, "", console=Console(file=out)) as progress:
        progress.update(0.25, {"loss": 1})
    assert re.fullmatch(r"training: 25%, 0 s  (\S*/s [\d.e+]+  )?loss 1\n", out.getvalue())


def test_lines_keep_coming_while_nothing_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.watching.progress._PLAIN_SECONDS", 0.01)
    out = io.StringIO()
    with Progress("tournaments", 10, "deals", console=Console(file=out)) as progress:
        progress.update(0, {"decisions": 12345})
        until = time.monotonic() + 20
        while out.getvalue().count("\n") < 3 and time.monotonic() < until:
            time.sleep(0.01)
        assert out.getvalue().count("tournaments: 0 of 10 deals") >= 3 and "decisions 12,345" in out.getvalue()


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
