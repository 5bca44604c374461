"""Checks of a connected cluster before a long run: software, token, ports, storage, devices, threads, room.

Every check yields findings with advice. ``selfplay.doctor`` is the command.
"""

import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import ray
from ray.exceptions import GetTimeoutError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from cluster.actors.connection import actor_options
from cluster.errors import UserError
from cluster.files.uris import is_remote
from cluster.inspector import Compute, Inspector, Machine, compute
from cluster.preflight import Request, check_gpu_memory

_ANSWER_SECONDS = 60.0
"""Time for all machines together to start a process each, load torch and answer."""
_HTTP_SECONDS = 5.0
_LOW_DISK_MB = 5_000
_FULL_DISK = 0.95
"""Ray stores no more objects on a disk that is fuller than this share."""
_SILENT = "install kibitz there, or let it come along as working_dir; Ray's logs on that machine say more"


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    status: Literal["ok", "warn", "fail"]
    check: str
    where: str
    """Machine or role; empty for the whole cluster."""
    found: str
    mend: str = ""
    """What to do about it; empty for nothing."""
    values: Mapping[str, float] = field(default_factory=dict)
    """What was measured, for programs."""


def examine(requests: Sequence[Request], storage: str = "", dashboard: str = "") -> Iterator[Finding]:
    """Check the cluster that this process is connected to; findings come as they are made.

    Args:
        requests: actors of each role.
        storage: directory or URI that all machines are to share, such as the run directory; empty to leave that out.
        dashboard: ``host:port`` of the cluster's dashboard; empty if there is none.
    """
    if dashboard:
        yield check_token(dashboard)
    nodes = [node for node in ray.nodes() if node["Alive"]]
    inspectors = {name_of(node): _inspector(node["NodeID"]) for node in nodes}
    ray_dirs = {name_of(node): str(Path(node["RayletSocketName"]).parents[1]) for node in nodes}
    try:
        answers = _answers({where: actor.machine.remote(ray_dirs[where]) for where, actor in inspectors.items()})
        for where, answer in answers.items():
            if isinstance(answer, Exception):
                ray.kill(inspectors.pop(where))
                yield Finding("fail", "machine", where, f"no answer: {_line(answer)}", _SILENT)
        machines = {where: answers[where] for where in inspectors}
        yield from check_versions(Inspector().machine(), machines)
        yield from check_room(machines)
        yield from _check_ports(nodes, inspectors)
        if storage:
            yield from _check_storage(storage, inspectors)
    finally:
        for actor in inspectors.values():
            ray.kill(actor)
    for request in requests:
        yield from _check_role(request, nodes)


def name_of(node: Mapping[str, Any]) -> str:
    """A node's name in findings: its address and the beginning of its id, as a machine may hold several nodes."""
    return f"{node['NodeManagerAddress']} ({node['NodeID'][:6]})"


def check_token(dashboard: str) -> Finding:
    """Whether the cluster asks for a token: calls its dashboard without one."""
    try:
        urllib.request.urlopen(f"http://{dashboard}/api/version", timeout=_HTTP_SECONDS).close()
    except urllib.error.HTTPError as error:
        if error.code in (401, 403):
            return Finding("ok", "token", "", "the cluster refuses connections without it")
    except OSError as error:
        return Finding("warn", "token", f"dashboard {dashboard}", f"no answer: {error}",
                       "jobs cannot be submitted from here; open its port, or forward it")  # fmt: skip
    return Finding("warn", "token", "", "the cluster asks for none: anyone who reaches its ports can run code there",
                   "start every node with RAY_AUTH_MODE=token and the same RAY_AUTH_TOKEN")  # fmt: skip


def check_versions(ours: Machine, machines: Mapping[str, Machine]) -> Iterator[Finding]:
    """Software of every machine against the driver's."""
    mend = "install the same everywhere (constraints.txt has the pins); code goes along with a job or as working_dir"
    for where, machine in machines.items():
        other = {name: version for name, version in machine.versions.items() if version != ours.versions[name]}
        notes = [f"{name} {version or 'missing'} (driver: {ours.versions[name]})" for name, version in other.items()]
        if machine.code != ours.code:
            notes.append(f"other code of kibitz: {machine.code} (driver: {ours.code})")
        if not notes:
            said = ", ".join(f"{name} {version}" for name, version in machine.versions.items() if version)
            yield Finding("ok", "versions", where, said)
        else:
            fatal = machine.code != ours.code or {"ray", "kibitz"} & other.keys() or "" in other.values()
            yield Finding("fail" if fatal else "warn", "versions", where, ", ".join(notes), mend)


def check_room(machines: Mapping[str, Machine]) -> Iterator[Finding]:
    """Disk space for Ray's files on every machine."""
    for where, machine in machines.items():
        found = f"{machine.disk_mb:,} MB of disk free"
        if machine.disk_share > _FULL_DISK:
            found += f"; the disk is {machine.disk_share:.0%} full, and Ray stores nothing above {_FULL_DISK:.0%}"
            yield Finding("fail", "room", where, found, "free some, or start Ray with another --temp-dir")
        elif machine.disk_mb < _LOW_DISK_MB:
            yield Finding("warn", "room", where, found, "free some disk, or start Ray with another --temp-dir")
        else:
            yield Finding("ok", "room", where, found)


def _check_ports(nodes: Sequence[Mapping[str, Any]], inspectors: Mapping[str, Any]) -> Iterator[Finding]:
    """Every machine connects to the raylet and the object manager of every other."""
    kinds = ("NodeManagerPort", "ObjectManagerPort")
    endpoints = [(node["NodeManagerAddress"], node[kind]) for node in nodes for kind in kinds]
    closed = _answers({where: actor.unreachable.remote(endpoints) for where, actor in inspectors.items()})
    for where, answer in closed.items():
        if isinstance(answer, Exception):
            yield Finding("fail", "ports", where, f"no answer: {_line(answer)}", _SILENT)
        elif answer:
            missing = ", ".join(f"{host}:{port}" for host, port in answer)
            yield Finding("fail", "ports", where, f"does not reach {missing}",
                          "open them; ray start --node-manager-port and --object-manager-port fix them")  # fmt: skip
        else:
            yield Finding("ok", "ports", where, f"reaches all {len(endpoints)} ports of the machines")


def _check_storage(directory: str, inspectors: Mapping[str, Any]) -> Iterator[Finding]:
    """Every machine writes a file, and reads the files of all others."""
    names = {f"{number:03d}": where for number, where in enumerate(inspectors)}
    errors = _answers({where: inspectors[where].mark.remote(directory, name) for name, where in names.items()})
    written = [name for name, where in names.items() if not errors[where]]
    unseen = _answers({where: actor.unseen.remote(directory, written) for where, actor in inspectors.items()})
    _answers({where: actor.clean.remote(directory) for where, actor in inspectors.items()})
    shared = "give run.dir on storage that all machines share (NFS, for one), or a URI such as s3://bucket/run"
    for where in inspectors:
        if errors[where]:
            yield Finding("fail", "storage", where, f"cannot write to {directory}: {_line(errors[where])}",
                          "let it write there" if is_remote(directory) else shared)  # fmt: skip
        elif unseen[where]:
            theirs = ", ".join(names[name] for name in unseen[where]) if isinstance(unseen[where], list) else "others"
            yield Finding("fail", "storage", where, f"does not see in {directory} what {theirs} wrote", shared)
        else:
            yield Finding("ok", "storage", where, f"writes to {directory}, and reads what all have written")


def _check_role(request: Request, nodes: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """What torch sees in a process of this role; on every machine with a GPU if the role uses GPUs."""
    options = {key: value for key, value in actor_options(request.cpus, request.gpus, request.memory_mb).items()
               if key != "max_restarts"}  # fmt: skip
    look = ray.remote(max_calls=1)(compute).options(**options, max_retries=0)  # each in its own process
    if not request.gpus:
        looks = {request.name: look.remote()}
    else:
        looks = {
            f"{request.name}, {name_of(node)}": look.options(
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            ).remote()
            for node in nodes
            if node["Resources"].get("GPU", 0) > 0
        }
    if not looks:
        yield Finding("fail", "device", request.name, f"asks for {request.gpus:g} of a GPU, and no machine has one",
                      "add machines with GPUs, or set cluster.*_gpus to 0")  # fmt: skip
    for where, seen in _answers(looks).items():
        yield check_compute(where, request, seen)
        if isinstance(seen, GetTimeoutError):
            ray.cancel(looks[where])


def check_compute(where: str, request: Request, seen: Compute | Exception) -> Finding:
    """The finding about a role, from what torch sees in its process, or the exception in place of an answer."""
    if isinstance(seen, GetTimeoutError):
        return Finding("warn", "device", where, f"got no place within {_ANSWER_SECONDS:.0f} s",
                       "another command may hold the machines: ask again when it has ended")  # fmt: skip
    if isinstance(seen, Exception):
        return Finding("fail", "device", where, f"cannot compute there: {_line(seen)}",
                       "install a torch that fits the driver, or set cluster.*_gpus to 0")  # fmt: skip
    found = seen.device + (f", {seen.memory_mb:,} MB" if seen.memory_mb else "") + f", {seen.threads} threads"
    if request.gpus and seen.device == "cpu":
        return Finding("fail", "device", where, f"{found}: Ray lends it a GPU, and torch sees none",
                       "install the driver and a torch that fits it, or set cluster.*_gpus to 0")  # fmt: skip
    together = [request] * min(request.count, int(1 / min(request.gpus, 1.0) + 1e-6)) if request.gpus else []
    if request.gpu_mb:
        found += f"; {len(together)} on one GPU may take {len(together) * request.gpu_mb:,} MB"
    try:
        check_gpu_memory(together, seen.memory_mb)
    except UserError as error:
        return Finding("fail", "device", where, found, str(error).partition("; ")[2])
    if seen.threads > max(request.cpus, 1):
        return Finding("warn", "threads", where, f"{found}, and {request.cpus:g} CPUs: they get in each other's way",
                       "unset OMP_NUM_THREADS where Ray is started")  # fmt: skip
    return Finding("ok", "device", where, found)


def _inspector(node_id: str) -> Any:
    """An inspector as an actor on this node; it takes no CPU, so it finds a place on a busy machine too."""
    here = NodeAffinitySchedulingStrategy(node_id, soft=False)
    return ray.remote(Inspector).options(**actor_options(0), scheduling_strategy=here).remote()


def _answers(references: Mapping[str, Any]) -> dict[str, Any]:
    """The results of Ray references, awaited together up to a time limit; exceptions in place of missing ones."""
    if references:
        ray.wait(list(references.values()), num_returns=len(references), timeout=_ANSWER_SECONDS)
    answers: dict[str, Any] = {}
    for where, reference in references.items():
        try:
            answers[where] = ray.get(reference, timeout=0)
        except RayError as error:
            answers[where] = error
    return answers


def _line(message: object) -> str:
    """The last line of a message; Ray puts the cause there."""
    lines = [line.strip() for line in str(message).splitlines() if line.strip()]
    return lines[-1] if lines else type(message).__name__
