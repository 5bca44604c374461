"""Log files and the timeline: what they hold, and what happens where there can be none."""

import json
import logging
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from cluster.errors import UserError
from cluster.watching import logs, timeline
from cluster.watching.timeline import Timeline, recorded, span

log = logging.getLogger("somewhere")


class Worker:
    @logs.logged("shard {0}")
    def play(self, shard: int) -> int:
        """Fails for shard 0."""
        return 100 // shard


def test_a_log_says_what_was_done_how_long_it_took_and_why_it_failed(tmp_path: Path) -> None:
    path = tmp_path / "logs/driver.log"
    with pytest.raises(ZeroDivisionError), logs.kept(str(path)):
        log.warning("an actor died")
        Worker().play(3)
        Worker().play(0)
    text = path.read_text()
    assert "WARNING somewhere: an actor died" in text and f"{__name__}: shard 3: done in 0.0 s" in text
    assert "shard 0: failed after 0.0 s\nTraceback" in text and "return 100 // shard\n" in text
    assert text.count("Traceback") == 2 and "failed\nTraceback" in text, "of the item and of the command"


def test_a_log_is_appended_to_and_says_how_commands_ended(tmp_path: Path) -> None:
    path = tmp_path / "driver.log"
    with pytest.raises(UserError), logs.kept(str(path)):
        raise UserError("no room")
    with pytest.raises(SystemExit), logs.kept(str(path)):
        raise SystemExit(143)
    with logs.kept(str(path)):
        pass
    log.warning("after the end")
    ends = [line.partition("cluster.watching.logs: ")[2] for line in path.read_text().splitlines()]
    assert ends[1::2] == ["error: no room", "ended by SystemExit", "done"] and len(ends) == 6


def test_a_log_that_cannot_be_written_is_told_once_and_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").write_text("in the way")
    with logs.kept(str(tmp_path / "logs/driver.log")):
        log.warning("one")
        log.warning("two")
    assert capsys.readouterr().err.count("driver.log gets no more lines: ") == 1


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
