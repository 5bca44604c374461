"""What commands leave in the machine's temporary directory when a signal ends them: nothing that stays."""

import os
import re
from pathlib import Path

import pytest

from cluster.files.scratch import scratch
from tests.selfplay.commands import TINY, Command, descendants

RUN = (*TINY, "cluster.generators=1", "selfplay.initial_games=4000", "selfplay.games_per_shard=200")


def started(tmp_path: Path, log: str) -> tuple[Command, Path]:
    """A run under way, and the directory of its Ray."""
    command = Command("selfplay", *RUN, f"run.dir={tmp_path}/{log}", log=tmp_path / "tmp" / log)
    command.until(lambda: "playing" in command.output or list(tmp_path.glob(f"{log}/iterations/000/shards")))
    titles = " ".join(process.title for process in descendants(command.pid))
    return command, Path(re.findall(r"/tmp/kibitz-\w+", titles)[0])


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "tmp").glob("kibitz-*"))


def test_what_a_command_left_that_was_killed_before_it_had_a_lock_goes_and_nothing_else(tmp_path: Path) -> None:
    names = ["kibitz-abcd1234", "kibitz-sweep-abcd_234", "kibitz-verify-12345678", "kibitz-of-the-user", "kibitz-demo"]
    names += ["kibitz-sweep-holding1", "kibitz-sweep-keptkept"]
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / "kibitz-sweep-abcd_234/.owner.tmp").touch()
    (tmp_path / "kibitz-sweep-holding1/run").touch()
    (tmp_path / "kibitz-sweep-keptkept/.kept").touch()
    for name in names:
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / "kibitz-sweep-justnow1").mkdir()
    with scratch("kibitz-sweep-", tmp_path) as own:
        there = {path.name for path in tmp_path.iterdir()} - {own.name}
    assert there == {*names[3:], "kibitz-sweep-justnow1"}


@pytest.mark.slow
def test_a_command_ended_by_a_signal_leaves_nothing_and_the_next_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    killed, ray_of_killed = started(tmp_path, "killed")
    below = killed.kill()
    assert len(left(tmp_path)) == 1 and ray_of_killed.exists()
    (tmp_path / "tmp" / "kibitz-of-the-user").mkdir()
    try:
        command, ray_of_it = started(tmp_path, "terminated")
        try:
            assert not ray_of_killed.exists() and len(left(tmp_path)) == 2, "its own, and the user's"
            assert command.terminate() == 143, command.output
        finally:
            command.clean_up()
    finally:
        for process in below:
            process.kill()
    assert left(tmp_path) == ["kibitz-of-the-user"] and not ray_of_it.exists()
