"""The timeline is a file that Perfetto opens, at any time: Chrome's trace event format, its JSON array."""

import json
import logging
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from cluster.watching import timeline
from cluster.watching.timeline import Timeline, recorded, span


def checked(path: Path) -> list[dict[str, Any]]:
    """The events of a file that holds to the format: required keys, whole numbers, times that rise and slices that
    nest, on every thread of every process."""
    events: list[dict[str, Any]] = json.loads(path.read_text())
    last: dict[tuple[int, int], int] = defaultdict(int)
    open_slices: dict[tuple[int, int], int] = defaultdict(int)
    for event in events:
        thread = event["pid"], event["tid"]
        assert all(isinstance(number, int) for number in thread)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and event["args"]["name"]
            continue
        assert isinstance(event["ts"], int) and event["ts"] >= last[thread]
        last[thread] = event["ts"]
        assert event["ph"] in "BE" and (event["ph"] == "E" or event["name"])
        open_slices[thread] += 1 if event["ph"] == "B" else -1
        assert open_slices[thread] in (0, 1)
    return events


def test_stages_and_items_are_slices_and_the_file_is_whole_after_each(tmp_path: Path) -> None:
    path = tmp_path / "results/timeline.json"
    timeline.begin("generators-0", "shard 0")  # outside of a recording nothing happens
    with recorded(str(path)):
        with span("generate", "iteration 0: playing"):
            timeline.begin("generators-0", "shard 0")
            assert checked(path)[-1]["name"] == "shard 0"
            timeline.begin("generators-0", "shard 1")  # which ends the one before
            timeline.end("generators-0", "shard 0")  # it has ended
            timeline.end("generators-0", "shard 1")
            timeline.end("generators-1", "shard 2")  # never begun
        timeline.begin("learner-0", "never ended")
    events = checked(path)
    assert [event["args"]["name"] for event in events if event.get("name") == "thread_name"] == [
        "generate",
        "generators-0",
        "learner-0",
    ]
    assert "".join(event["ph"] for event in events if event["ph"] != "M") == "BBEBEEBE"


def test_each_command_is_a_process_though_the_one_before_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    Timeline(str(path)).begin("learner-0", "killed in the middle")
    path.write_bytes(path.read_bytes()[:-9] + b"\xa0")  # and its last event was cut, and is no UTF-8
    second = Timeline(str(path))
    second.begin("learner-0", "goes on")
    second.close()
    events = checked(path)
    assert [event["pid"] for event in events if event.get("name") == "process_name"] == [1, 2]
    assert [event["name"] for event in events if event["ph"] == "B"] == ["goes on"]


def test_a_timeline_that_cannot_be_written_ends_no_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "results").write_text("in the way")
    with caplog.at_level(logging.WARNING), recorded(str(tmp_path / "results/timeline.json")), span("train", "x"):
        pass
    assert [record.message.split(" gets")[0] for record in caplog.records] == [str(tmp_path / "results/timeline.json")]
