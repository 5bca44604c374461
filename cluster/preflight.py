"""Check before any actor starts that the machines have the resources that a command requests.

Ray queues actors that cannot be placed and waits for ever; this check refuses them in seconds.
"""

import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cluster.errors import UserError
from cluster.files.storage import check_writable
from cluster.files.uris import is_remote, resolve
from cluster.reader import check_lasts

_TINY = 1e-6
USABLE = 0.95
"""Share of a GPU's memory that is planned with: what actors take of it is an estimate, and the driver takes some."""
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
    """GPUs of each: a share of one, or whole ones."""
    memory_mb: int = 0
    gpu_mb: int = 0
    """What each may take of its GPU's memory, an estimate; 0 where nobody has made one."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels of the machines that they may be on; empty for all machines."""


@dataclass(frozen=True)
class Node:
    """The resources of one machine of the cluster."""

    name: str
    cpus: float
    gpus: float
    memory_mb: int
    gpu_mb: int = 0
    """Memory of each of its GPUs; 0 where it is not known."""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Gpu:
    """A GPU, and the actors on it."""

    free: float = 1.0
    actors: list[Request] = field(default_factory=list)


class _Machine:
    """What is left of a node while actors are placed on it."""

    def __init__(self, node: Node) -> None:
        self._cpus, self._memory_mb = node.cpus, float(node.memory_mb)
        self.gpu_mb, self.gpus = node.gpu_mb, [_Gpu() for _ in range(int(node.gpus))]
        self._labels = node.labels

    def takes(self, request: Request) -> bool:
        """Place an actor here as Ray does: a share on the fullest GPU that has room for it. False without room, or
        without its labels."""
        if any(self._labels.get(key) != value for key, value in request.labels):
            return False
        gpus = self._gpus_for(request.gpus)
        roomy = request.cpus <= self._cpus + _TINY and request.memory_mb <= self._memory_mb + _TINY
        if gpus is None or not roomy:
            return False
        self._cpus -= request.cpus
        self._memory_mb -= request.memory_mb
        for gpu in gpus:
            gpu.free -= min(request.gpus, 1.0)
            gpu.actors.append(request)
        return True

    def _gpus_for(self, asked: float) -> list[_Gpu] | None:
        count, share = math.ceil(asked), min(asked, 1.0)
        fit = sorted((gpu for gpu in self.gpus if share <= gpu.free + _TINY), key=lambda gpu: gpu.free)
        return fit[:count] if len(fit) >= count else None


def preflight(requests: Sequence[Request], available: Sequence[Node]) -> list[list[Request]]:
    """Check that all requests fit on the nodes together, no actor across two nodes; the actors of each GPU.

    Placement is first fit, those with labels first, then the largest, so it may refuse a set that only a cleverer
    packing would place.

    Raises:
        UserError: they do not, with a table of requests and resources; or a GPU has too little memory for its actors.
    """
    machines, refused = [_Machine(node) for node in available], list[Request]()
    for request in sorted(
        requests, key=lambda one: (bool(one.labels), one.gpus, one.cpus, one.memory_mb), reverse=True
    ):
        for _ in range(request.count):
            if not any(machine.takes(request) for machine in machines):
                refused.append(request)
    if refused:
        missing = ", ".join(f"{refused.count(one)} {one.name}" for one in dict.fromkeys(refused))
        whole = [_whole_shares(one, sum(len(machine.gpus) for machine in machines)) for one in dict.fromkeys(refused)]
        nowhere = [_labels_of_nobody(one, available) for one in dict.fromkeys(refused)]
        raise UserError(
            f"the cluster has no room for {missing}; {''.join(nowhere + whole)}lower the counts or sizes in cluster.*, "
            "or add machines\n" + table(requests, available)
        )
    for machine in machines:
        for gpu in machine.gpus:
            check_gpu_memory(gpu.actors, machine.gpu_mb)
    return [gpu.actors for machine in machines for gpu in machine.gpus]


def _labels_of_nobody(request: Request, available: Iterable[Node]) -> str:
    """What to say of labels that no machine has, such as a misspelt one."""
    if all(any(node.labels.get(key) == value for node in available) for key, value in request.labels):
        return ""
    return f"no machine is labelled{_said(request.labels)} (cluster.{request.name.removesuffix('s')}_labels); "


def _whole_shares(request: Request, gpus: int) -> str:
    """What to take where the shares add up to no more than all GPUs, but an actor has its share of a single one."""
    share, count = request.gpus, request.count
    if not 0 < share < 1 or share * count > gpus + _TINY:
        return ""
    each = int(1 / share + _TINY)
    if each * gpus >= count:
        return ""
    better = math.ceil(count / gpus)
    key = f"cluster.{request.name.removesuffix('s')}_gpus"
    return (
        f"one GPU has room for {each} with {key}={share:g}, and {gpus} for {each * gpus}: take "
        f"{key}={math.floor(1000 / better) / 1000:g} for {count}, or {each * gpus} of them; or "
    )


def check_gpu_memory(actors: Iterable[Request], gpu_mb: int) -> None:
    """Check that actors fit into the memory of the GPU that they share, as far as both are known.

    Raises:
        UserError: they do not; names what to lower.
    """
    actors = list(actors)
    taken = sum(actor.gpu_mb for actor in actors)
    if not gpu_mb or taken <= USABLE * gpu_mb:
        return
    each = " and ".join(
        f"{actors.count(one)} {one.name} of about {one.gpu_mb:,} MB" for one in dict.fromkeys(actors) if one.gpu_mb
    )
    keys = " or ".join(dict.fromkeys(f"cluster.{one.name.removesuffix('s')}_gpus" for one in actors if one.gpu_mb))
    raise UserError(
        f"GPU memory: {each} on one GPU take {taken:,} MB, and {USABLE:.0%} of its {gpu_mb:,} MB are planned with; "
        f"give each a larger share ({keys}) and start fewer, lower engine.cache_mb with selfplay.games_per_table and "
        "evaluation.table_size, or take engine.cuda_graphs=false (cluster.check_resources=false tries it all the same)"
    )


def table(requests: Sequence[Request], available: Sequence[Node]) -> str:
    """Requests and available resources, as text."""

    def own(node: Node) -> list[tuple[str, str]]:  # not those that Ray gives every machine
        return [(key, value) for key, value in node.labels.items() if not key.startswith("ray.io/")]

    asked = [(f"{one.name}{_said(one.labels)}, each", one.count, one.cpus, one.gpus, one.memory_mb) for one in requests]
    there = [(f"node {node.name}{_said(own(node))}", 1, node.cpus, node.gpus, node.memory_mb) for node in available]
    lines = [f"  {'':<24}{'count':>7}{'CPUs':>9}{'GPUs':>7}{'memory MB':>12}"]
    for name, count, cpus, gpus, memory_mb in (*asked, _sum("asked", asked), *there, _sum("available", there)):
        lines.append(f"  {name:<24}{count:>7}{cpus:>9g}{gpus:>7g}{memory_mb:>12}")
    return "\n".join(lines)


def _said(labels: Iterable[tuple[str, str]]) -> str:
    return "".join(f" {key}={value}" for key, value in labels)


def wait_for_room(request: Request, count: int, available: Sequence[Node]) -> str:
    """One line: which actors wait, the resources they need, and those available."""
    there = _size(sum(n.cpus for n in available), sum(n.gpus for n in available), sum(n.memory_mb for n in available))
    each = _size(request.cpus, request.gpus, request.memory_mb)
    where = f" on machines labelled{_said(request.labels)}" if request.labels else ""
    waiting = f"{request.name}: {count} of {request.count} actors wait for room in the cluster{where}"
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
