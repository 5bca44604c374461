"""What memory there is, and what is refused for want of it."""

import os
from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.memory import fits_memory, machine_bytes

RAM = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
MIB = 2**20


@pytest.mark.parametrize(
    ("groups", "limits", "most"),
    [
        ("0::/", {"memory.max": 100 * MIB}, 100 * MIB),
        ("0::/job/step", {"memory.max": "max", "job/memory.max": 90 * MIB, "job/step/memory.max": "max"}, 90 * MIB),
        ("0::/unseen/outside", {"memory.max": 80 * MIB}, 80 * MIB),
        ("5:cpu:/\n4:memory:/job\n0::/", {"memory/job/memory.limit_in_bytes": 70 * MIB}, 70 * MIB),
        ("4:memory:/unseen", {"memory/memory.limit_in_bytes": 60 * MIB}, 60 * MIB),
        ("3:cpu,memory:/a", {"memory/a/memory.limit_in_bytes": 2**63 - 4096}, RAM),
        ("0::/", {"memory.max": "max"}, RAM),
        ("0::/", {}, RAM),
    ],
)
def test_a_control_group_bounds_the_memory_there_is(
    groups: str, limits: dict[str, int | str], most: int, tmp_path: Path
) -> None:
    for name, limit in limits.items():
        file = tmp_path / "mount" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{limit}\n")
    (tmp_path / "cgroup").write_text(f"{groups}\n")
    assert machine_bytes(tmp_path / "cgroup", tmp_path / "mount") == most


def test_a_machine_without_control_groups_has_all_of_its_memory(tmp_path: Path) -> None:
    assert machine_bytes(tmp_path / "none", tmp_path) == RAM


def test_limits_that_cannot_be_read_are_none(tmp_path: Path) -> None:
    (tmp_path / "cgroup").write_text("0::/job\n")
    (tmp_path / "job/memory.max").mkdir(parents=True)  # even root cannot read that
    assert machine_bytes(tmp_path / "cgroup", tmp_path) == RAM
    assert machine_bytes(tmp_path / "job", tmp_path) == RAM


def test_what_this_machine_cannot_hold_is_refused_with_what_to_do() -> None:
    there = machine_bytes()
    fits_memory("a table", there, "lower it")
    with pytest.raises(UserError, match=r"^a table may take .* GiB, and this machine has .* GiB; lower it$"):
        fits_memory("a table", there + 1, "lower it")
