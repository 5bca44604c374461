"""Check before any actor starts that the machines have the resources that a command requests.

Ray queues actors that cannot be placed and waits for ever; this check refuses them in seconds.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.errors import UserError
from cluster.files.storage import check_writable, is_remote, resolve
from cluster.reader import check_lasts

_TINY = 1e-6
_Row = tuple[str, int, float, float, int]
"""Name, count, and the CPUs, GPUs and memory in MB of each."""


@dataclass(frozen=True)
class Request:
    """Actors of one kind that run at the same time."""

    name: str
    count: int
    cpus: float
    """CPUs of each."""
    gpus: float = 0.0
    memory_mb: int = 0


@dataclass(frozen=True)
class Node:
    """The resources of one machine of the cluster."""

    name: str
    cpus: float
    gpus: float
    memory_mb: int


def preflight(requests: Sequence[Request], available: Sequence[Node]) -> None:
    """Check that all requests fit on the nodes together, no actor across two nodes.

    Placement is first fit, largest actors first, so it may refuse a set that only a cleverer packing would place.

    Raises:
        UserError: they do not; with a table of requests and resources.
    """
    left = [[node.gpus, node.cpus, float(node.memory_mb)] for node in available]
    actors = [(request, [request.gpus, request.cpus, float(request.memory_mb)]) for request in requests]
    refused: list[str] = []
    for request, need in sorted(actors, key=lambda pair: pair[1], reverse=True):
        for _ in range(request.count):
            place = next((free for free in left if all(n <= f + _TINY for n, f in zip(need, free, strict=True))), None)
            if place is None:
                refused.append(request.name)
                continue
            for resource, amount in enumerate(need):
                place[resource] -= amount
    if refused:
        missing = ", ".join(f"{refused.count(name)} {name}" for name in dict.fromkeys(refused))
        raise UserError(
            f"the cluster has no room for {missing}; lower the counts or sizes in cluster.*, or add machines\n"
            + table(requests, available)
        )


def table(requests: Sequence[Request], available: Sequence[Node]) -> str:
    """Requests and available resources, as text."""
    asked = [(f"{one.name}, each", one.count, one.cpus, one.gpus, one.memory_mb) for one in requests]
    there = [(f"node {node.name}", 1, node.cpus, node.gpus, node.memory_mb) for node in available]
    lines = [f"  {'':<24}{'count':>7}{'CPUs':>9}{'GPUs':>7}{'memory MB':>12}"]
    for name, count, cpus, gpus, memory_mb in (*asked, _sum("asked", asked), *there, _sum("available", there)):
        lines.append(f"  {name:<24}{count:>7}{cpus:>9g}{gpus:>7g}{memory_mb:>12}")
    return "\n".join(lines)


def wait_for_room(request: Request, count: int, available: Sequence[Node]) -> str:
    """One line: which actors wait, the resources they need, and those available."""
    there = _size(sum(n.cpus for n in available), sum(n.gpus for n in available), sum(n.memory_mb for n in available))
    each = _size(request.cpus, request.gpus, request.memory_mb)
    waiting = f"{request.name}: {count} of {request.count} actors wait for room in the cluster"
    return f"{waiting}; each asks for {each}, the machines have {there} in all"


def _size(cpus: float, gpus: float, memory_mb: int) -> str:
    return f"{cpus:g} CPU, {gpus:g} GPU, {memory_mb} MB"


def _sum(name: str, rows: Sequence[_Row]) -> _Row:
    """The totals over rows, as a row."""
    return (
        name,
        sum(row[1] for row in rows),
        sum(row[1] * row[2] for row in rows),
        sum(row[1] * row[3] for row in rows),
        sum(row[1] * row[4] for row in rows),
    )


def check_actors(place: str) -> None:
    """``UserError`` where there is no Ray, for a command that needs actors; ``place``: of ``ClusterConfig``."""
    if place == "process":
        raise UserError("cluster.mode=process: this command needs actors; take another, such as cluster=local")


def check_directory(directory: str, *, in_job: bool, free_mb: int) -> None:
    """Check that a run directory can be used and written to, before it is made.

    Args:
        directory: path or URI.
        in_job: whether this command takes the cluster of a Ray job; relative paths are refused there.
        free_mb: space that must be free on its disk, in MB; not checked behind a URI.

    Raises:
        UserError: naming the directory and what to do.
    """
    if is_remote(directory):  # the lock on it, which comes next, is the first thing written
        return
    check_lasts(directory, "run.dir", in_job)
    check_writable(directory)
    place = Path(resolve(directory)[1])
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free // 2**20
    if free < free_mb:
        raise UserError(
            f"run.dir={directory} has {free} MB free, {free_mb} MB are needed; free some or take another disk"
        )
