"""The memory of this machine, so that work which cannot fit is refused before it starts."""

import os
from pathlib import Path

from cluster.errors import UserError

_LIMITS = {"": ("", "memory.max"), "memory": ("memory", "memory.limit_in_bytes")}
"""Controller as ``/proc/self/cgroup`` names it (none in version 2) -> where its groups are mounted, and the file of a
group's limit in bytes, which says ``max`` where there is none."""


def machine_bytes(groups: Path = Path("/proc/self/cgroup"), mount: Path = Path("/sys/fs/cgroup")) -> int:
    """RAM that this process can have: the machine's, or the lower limit of a container or control group around it.

    Args:
        groups: file that lists the process's control groups; missing where there are none.
        mount: where control groups are mounted.
    """
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for line in _read(groups).splitlines():
        _, controllers, group = line.split(":", 2)
        for controller in _LIMITS.keys() & set(controllers.split(",")):
            folder, name = _LIMITS[controller]
            # A container sees its own group as the root of the mount, whatever the group is called outside.
            for place in (Path(group), *Path(group).parents):
                text = _read(mount / folder / place.relative_to("/") / name).strip()
                sizes += [int(text)] if text.isdigit() else []
    return min(sizes)


def _read(file: Path) -> str:
    """The content of a file; empty where it is missing or unreadable."""
    try:
        return file.read_text()
    except OSError:
        return ""


def fits_memory(what: str, needed: float, advice: str) -> None:
    """``UserError`` where ``what`` takes more bytes than this machine has, by an estimate that ignores other programs.
    Call it only on the machine that would do the work (``ClusterConfig.here``)."""
    there = machine_bytes()
    if needed > there:
        sizes = f"{needed / 2**30:,.1f} GiB, and this machine has {there / 2**30:,.1f} GiB"
        raise UserError(f"{what} may take {sizes}; {advice}")
