"""What killed commands leave in the machine's temporary directory goes. Those that run are killed and ended in
``tests.selfplay.test_faults`` and ``tests.selfplay.test_command``."""

import os
from pathlib import Path

from cluster.files.scratch import scratch


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
