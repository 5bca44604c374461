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


def test_nothing_is_removed_through_a_link(tmp_path: Path) -> None:
    (theirs := tmp_path / "theirs").mkdir()
    (shared := tmp_path / "shared").mkdir()
    for name in (".owner", ".owner.tmp", "thesis"):
        (theirs / name).touch()
    os.utime(theirs, (0, 0))
    (shared / "kibitz-abcd1234").symlink_to(theirs)
    (shared / "kibitz-linked01").mkdir()
    (shared / "kibitz-linked01/.owner").symlink_to(theirs / "thesis")
    with scratch("kibitz-sweep-", shared):
        pass
    assert {path.name for path in theirs.iterdir()} == {".owner", ".owner.tmp", "thesis"}
    assert {path.name for path in shared.iterdir()} == {"kibitz-abcd1234", "kibitz-linked01"}
