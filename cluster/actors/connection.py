"""Connect to Ray: start a local Ray, join a running cluster, or join the cluster that runs this job."""

import json
import logging
import os
import re
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import ray
from ray._private import ray_constants  # private: see ``_loopback_only``
from ray._private.grpc_utils import init_grpc_channel  # private, as the next two: see ``_knock``
from ray.core.generated.gcs_service_pb2 import CheckAliveRequest
from ray.core.generated.gcs_service_pb2_grpc import NodeInfoGcsServiceStub
from ray.job_config import JobConfig

from cluster.config import ClusterConfig
from cluster.errors import UserError
from cluster.files.scratch import keep, scratch
from cluster.preflight import Node, check_actors
from cluster.reader import IN_JOB

_FORWARDED = re.compile(
    "KIBITZ_CACHE_DIR|OMP_WAIT_POLICY|GOMP_SPINCOUNT"
    "|NCCL_.*|TORCH_(?!.*(HOME|DIR|PATH|FILE)).*|PYTORCH_(CUDA_)?ALLOC_CONF"
    "|CUDA_(LAUNCH_BLOCKING|MODULE_LOADING|DEVICE_MAX_CONNECTIONS|DEVICE_WAITS_ON_EXCEPTION|ENABLE_COREDUMP_.*)"
)
"""Environment variables of the driver that its actors on other machines get too. Not those that say what the driver's
machine has, such as CUDA_VISIBLE_DEVICES, which Ray sets for each actor, or paths of torch and CUDA."""

_CLUSTERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Environment variable that keeps Ray on the loopback interface where it is 0."""
_MB = 2**20
_TMP = Path("/tmp")  # not $TMPDIR, whose path is often too long for Ray's sockets
_PROBE_SECONDS = 5.0
_JOB_ADDRESS = "RAY_ADDRESS"
"""Environment variable in which a Ray job finds its cluster."""
_ADDRESS_HINT = "give the head's host:port, 6379 by default"
_TOKEN_HINT = "set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN (or RAY_AUTH_TOKEN_PATH) as on the head"


@contextmanager
def connect(config: ClusterConfig) -> Iterator[Any]:
    """Connect to Ray for the ``with`` block; disconnect, or end a local Ray, after it. Yields ``ray.init``'s result.

    A local Ray listens on the loopback interface only, asks every client for a token (``RAY_AUTH_TOKEN``, drawn if it
    is not set), and keeps its files in a directory of its own.

    Raises:
        UserError: no cluster answers, or it refuses; no loopback interface.
    """
    check_actors(config.place)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    local = config.place == "local"
    if local:
        _check_loopback()
        _draw_token()
    else:
        _check_head(config)
    with _loopback_only() if local else nullcontext(), _temp_dir(config) as temp_dir:
        try:
            with _own_handler(signal.SIGTERM):
                print("starting Ray" if local else "joining Ray", file=sys.stderr, flush=True)
                context = ray.init(**_arguments(config, temp_dir))
        except Exception as error:  # Ray raises its own, the standard ones, grpc's, and Exception itself
            hint = "" if local else "; is the token that of the head, and this machine one of the cluster's?"
            raise UserError(f"cannot connect to Ray ({_address(config)}): {_reason(error)}{hint}") from error
        try:
            yield context
        finally:
            ray.shutdown()


def nodes() -> list[Node]:
    """The resources of every machine of the connected cluster, in use or not."""
    return [
        Node(
            name=node["NodeManagerAddress"],
            cpus=node["Resources"].get("CPU", 0.0),
            gpus=node["Resources"].get("GPU", 0.0),
            memory_mb=int(node["Resources"].get("memory", 0) // _MB),
            labels=node.get("Labels", {}),
        )
        for node in ray.nodes()
        if node["Alive"]
    ]


def actor_options(
    cpus: float, gpus: float = 0.0, memory_mb: int = 0, labels: Iterable[tuple[str, str]] = ()
) -> dict[str, Any]:
    """Arguments of ``Actor.options`` for an actor of this size, on a machine that has all of these labels.

    An actor without a GPU sees no GPU: by default Ray would show it all of them. Ray does not restart the actor, which
    would lose its work; ``cluster.actors.pool`` replaces it.
    """
    options: dict[str, Any] = {"num_cpus": cpus, "num_gpus": gpus, "max_restarts": 0}
    if memory_mb:
        options["memory"] = memory_mb * _MB
    if labels:
        options["label_selector"] = dict(labels)
    if not gpus:
        options["runtime_env"] = {"env_vars": {"CUDA_VISIBLE_DEVICES": ""}}
    return options


def _arguments(config: ClusterConfig, temp_dir: str | None) -> dict[str, Any]:
    """Arguments of ``ray.init``."""
    arguments: dict[str, Any] = {"log_to_driver": config.log_to_driver, "logging_level": logging.WARNING}
    if config.place == "local":
        job = JobConfig()
        job._py_driver_sys_path = _PathsOfOurs()  # private: no setting leaves out the working directory
        local: dict[str, Any] = {
            "job_config": job,
            "address": "local",
            "num_cpus": config.num_cpus or None,
            "num_gpus": None if config.num_gpus < 0 else config.num_gpus,
            "object_store_memory": config.object_store_mb * _MB,
            "include_dashboard": config.dashboard,
            "_temp_dir": temp_dir,
            "_metrics_export_port": config.metrics_port or None,
        }
        return arguments | local
    runtime_env: dict[str, Any] = {}
    if forwarded := _forwarded():
        runtime_env["env_vars"] = forwarded
    if config.working_dir:
        runtime_env["working_dir"] = config.working_dir
    return arguments | {"address": _address(config), "runtime_env": runtime_env or None}


def _forwarded() -> dict[str, str]:
    """Variables for the actors. Those that a job was submitted with reach them by themselves, and Ray refuses to be
    given them twice."""
    submitted = (json.loads(os.environ.get(IN_JOB) or "{}").get("runtime_env") or {}).get("env_vars") or {}
    return {name: value for name, value in os.environ.items() if _FORWARDED.fullmatch(name) and name not in submitted}


def _address(config: ClusterConfig) -> str:
    """Address of the cluster to join; "local" for a local Ray, empty for ``mode=job`` outside a job."""
    if config.place == "job":
        return os.environ.get(_JOB_ADDRESS, "")
    return config.address or config.place


def _check_head(config: ClusterConfig) -> None:
    """Check that a head answers at the address and accepts our token; Ray itself tries for minutes.

    Raises:
        UserError: it does not, or ``mode=job`` in a process that is no Ray job.
    """
    address = _address(config)
    if not address:
        raise UserError(
            f"cluster=job: this is no Ray job ({_JOB_ADDRESS} is not set); submit the command with ray job submit, "
            "or take cluster=local or cluster=existing"
        )
    if config.place == "job" and IN_JOB in os.environ:
        return  # Ray started this process with the address, and a busy head may be slow to answer
    what = f"{'cluster.address' if config.place == 'existing' else _JOB_ADDRESS}={address}"
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PROBE_SECONDS).close()
    except (OSError, ValueError) as error:
        raise UserError(f"{what}: nothing answers there ({error}); {_ADDRESS_HINT}") from error
    _knock(address, what)


def _check_loopback() -> None:
    """``UserError`` where the loopback interface is down, as in some containers; Ray itself tries for minutes."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=_PROBE_SECONDS).close()
    except OSError as error:
        raise UserError(f"cluster=local: 127.0.0.1 cannot be reached ({error}); try: ip link set lo up") from error


class _PathsOfOurs(list[str]):
    """The first entries of the workers' ``sys.path``, collected by Ray.

    Ray always adds the working directory. The program ``kibitz`` does not import from there: a ``search.py`` or
    ``conf/`` of the user's would hide our packages from the workers.
    """

    def extend(self, paths: Iterable[str]) -> None:
        """Add the paths that are also in this process's ``sys.path``."""
        super().extend(path for path in paths if path in sys.path)


def _knock(address: str, what: str) -> None:
    """Ping a head. ``ray.init``, the public way, tries for 20 s, with a warning every second, and does not say why.

    Raises:
        UserError: it refuses our token, or is no Ray head.
    """
    try:
        head = NodeInfoGcsServiceStub(init_grpc_channel(address))
        head.CheckAlive(CheckAliveRequest(), timeout=_PROBE_SECONDS)
    except Exception as error:  # Ray's for a token that is missing here, else grpc's
        hint = _TOKEN_HINT if "token" in _reason(error) else _ADDRESS_HINT
        raise UserError(f"{what}: {_reason(error)}; {hint}") from error


def _reason(error: Exception) -> str:
    """Why Ray refused the connection, in one line."""
    details = getattr(error, "details", lambda: None)()  # errors of grpc have this method
    return " ".join((details or str(error)).partition(". ")[0].split()) or type(error).__name__


@contextmanager
def _own_handler(number: signal.Signals) -> Iterator[None]:
    """Keep this process's handler of a signal; Ray's own prints a stack and aborts."""
    if threading.current_thread() is not threading.main_thread():  # Python sets handlers in the main thread only
        yield
        return
    handler = signal.getsignal(number)
    try:
        yield
    finally:
        signal.signal(number, handler)


@contextmanager
def _loopback_only() -> Iterator[None]:
    """Make a local Ray listen on the loopback interface alone. No argument of ``ray.init`` does that, and Ray reads the
    public environment variable when it is imported, before it is known whether this command joins a cluster."""
    before = os.environ.get(_CLUSTERS), ray_constants.ENABLE_RAY_CLUSTER
    os.environ[_CLUSTERS] = "0"  # for the processes Ray starts
    ray_constants.ENABLE_RAY_CLUSTER = False  # for this process, which read the variable when it imported ray
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before[1]
        if before[0] is None:
            del os.environ[_CLUSTERS]
        else:
            os.environ[_CLUSTERS] = before[0]


def _draw_token() -> None:
    """Draw a token for a local Ray where the user has set none.

    Ray would write a token to the home directory. The variable stays set: Ray keeps the token while the process lives.
    """
    logging.getLogger("ray._private.authentication").setLevel(logging.ERROR)  # "token authentication is enabled"
    token_file = Path.home() / ".ray" / "auth_token"
    if not {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys() and not token_file.exists():
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


@contextmanager
def _temp_dir(config: ClusterConfig) -> Iterator[str | None]:
    """The directory of a local Ray. If made here, it is removed, except after an exception: its logs are needed.

    Ray opens its directory to all users of the machine, so one made here lies in another that is ours alone.
    """
    if config.place != "local" or config.temp_dir:
        yield config.temp_dir or None
        return
    with scratch("kibitz-", _TMP if _TMP.is_dir() else None) as private:
        directory = private / "ray"
        directory.mkdir()
        try:
            yield str(directory)
        except UserError:
            raise
        except Exception as error:
            keep(private)
            error.add_note(f"Ray's log files: {directory}/session_latest/logs")
            raise
