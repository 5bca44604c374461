"""Connecting to Ray: a local one of our own, a cluster that runs already, or the cluster that runs this job."""

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
from functools import partial
from pathlib import Path
from typing import Any

import ray
from ray._private import parameter, ray_constants
from ray._private.grpc_utils import init_grpc_channel
from ray._private.ray_logging import stdout_deduplicator
from ray._private.utils import write_ray_address
from ray._private.worker import BaseContext
from ray.core.generated.gcs_service_pb2 import CheckAliveRequest
from ray.core.generated.gcs_service_pb2_grpc import NodeInfoGcsServiceStub
from ray.job_config import JobConfig

from cluster import threads
from cluster.config import IN_JOB, ClusterConfig
from cluster.errors import UserError
from cluster.files.scratch import keep, scratch
from cluster.preflight import Node, check_actors

_FORWARDED = ("KIBITZ_CACHE_DIR", *threads.VARIABLES)
"""Environment variables of the driver that its actors on other machines get too."""

_MB = 2**20
_PROBE_SECONDS = 5.0
_JOB_ADDRESS = "RAY_ADDRESS"
"""Environment variable in which a Ray job finds its cluster."""
_ADDRESS_HINT = "give the head's host:port, 6379 by default"
TOKEN_HINT = "set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN (or RAY_AUTH_TOKEN_PATH) as on the head"
"""What to do where a cluster refuses the token."""


@contextmanager
def connect(config: ClusterConfig) -> Iterator[BaseContext]:
    """Be connected to Ray inside the ``with`` block, disconnected (a local Ray: ended) after it.

    Gives what ``ray.init`` returns.

    A local Ray listens on the loopback interface only, asks every client for a token (``RAY_AUTH_TOKEN``, drawn if it
    is not set), and keeps its files in a directory of its own.

    Raises:
        UserError: no cluster answers, or it refuses.
    """
    check_actors(config.place)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    local = config.place == "local"
    if local:
        _draw_token()
    else:
        _check_head(config)
    with _loopback_only() if local else nullcontext(), _temp_dir(config) as temp_dir:
        _quieten()
        try:
            with _own_handler(signal.SIGTERM), _any_agent_port():
                print("starting Ray" if local else "joining Ray", file=sys.stderr, flush=True)
                context = ray.init(**_arguments(config, temp_dir))
        except Exception as error:  # Ray raises its own, the standard ones, grpc's, and Exception itself
            hint = "" if local else "; is the token that of the head, and this machine one of the cluster's?"
            raise UserError(f"cannot connect to Ray ({_address(config)}): {_reason(error)}{hint}") from error
        if local:  # its jobs look here for their head, and else take any that runs on this machine
            write_ray_address(context.address_info["gcs_address"], temp_dir)
        try:
            yield context
        finally:
            ray.shutdown()


def nodes() -> list[Node]:
    """What the machines of the connected cluster offer, whether or not it is in use."""
    return [
        Node(
            name=node["NodeManagerAddress"],
            cpus=node["Resources"].get("CPU", 0.0),
            gpus=node["Resources"].get("GPU", 0.0),
            memory_mb=int(node["Resources"].get("memory", 0) // _MB),
        )
        for node in ray.nodes()
        if node["Alive"]
    ]


def actor_options(cpus: float, gpus: float = 0.0, memory_mb: int = 0) -> dict[str, Any]:
    """Arguments of ``Actor.options`` for an actor of this size.

    An actor without a GPU sees none: Ray would show it all of them. It is not restarted by Ray, which would lose its
    work; ``cluster.actors.pool`` replaces it.
    """
    options: dict[str, Any] = {"num_cpus": cpus, "num_gpus": gpus, "max_restarts": 0}
    if memory_mb:
        options["memory"] = memory_mb * _MB
    if not gpus:
        options["runtime_env"] = {"env_vars": {"CUDA_VISIBLE_DEVICES": ""}}
    return options


def _arguments(config: ClusterConfig, temp_dir: str | None) -> dict[str, Any]:
    """Arguments of ``ray.init``."""
    arguments: dict[str, Any] = {"log_to_driver": config.log_to_driver, "logging_level": logging.WARNING}
    if config.place == "local":
        job = JobConfig()
        job._py_driver_sys_path = _PathsOfOurs()
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
    forwarded = {name: os.environ[name] for name in _FORWARDED if name in os.environ}
    if forwarded:
        runtime_env["env_vars"] = forwarded
    if config.working_dir:
        runtime_env["working_dir"] = config.working_dir
    return arguments | {"address": _address(config), "runtime_env": runtime_env or None}


def _address(config: ClusterConfig) -> str:
    """Of the cluster to join; "local" for one of our own, empty for a job's cluster outside of a job."""
    if config.place == "job":
        return os.environ.get(_JOB_ADDRESS, "")
    return config.address or config.place


def _check_head(config: ClusterConfig) -> None:
    """Check that a head answers where it should be, and knows our token; Ray itself tries for minutes.

    Raises:
        UserError: it does not, or this process should be a Ray job and is none.
    """
    address = _address(config)
    if not address:
        raise UserError(
            f"cluster=job: this is no Ray job ({_JOB_ADDRESS} is not set); submit the command with kibitz submit, or "
            "take cluster=local or cluster=existing"
        )
    if config.place == "job" and IN_JOB in os.environ:
        return  # Ray has started this process and told it where, and a busy head may be slow to answer
    what = f"{'cluster.address' if config.place == 'existing' else _JOB_ADDRESS}={address}"
    host, _, port = address.removeprefix("ray://").rpartition(":")
    probe(host, port, what, _ADDRESS_HINT)
    if not address.startswith("ray://"):
        _knock(address, what)


class _PathsOfOurs(list[str]):
    """Where workers look for modules before anything else, as Ray puts it together.

    Ray adds the working directory, always. Where this process does not import from there, as the program ``kibitz``
    does not, a ``search.py`` or ``conf/`` of the user's would hide our packages from the workers.
    """

    def extend(self, paths: Iterable[str]) -> None:
        """Take those that this process imports from itself."""
        super().extend(path for path in paths if path in sys.path)


def _quieten() -> None:
    """Keep Ray from printing a paragraph on standard output when a worker dies: the pool says so in a line. And from
    printing the traceback of work that fails when nobody waits for it any more, as while a command is being ended."""
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    if stdout_deduplicator.skip_re is None:  # else the user has set RAY_DEDUP_LOGS_SKIP_REGEX
        stdout_deduplicator.skip_re = re.compile("A worker died or was killed while executing")


def probe(host: str, port: str | int, what: str, hint: str) -> None:
    """Check that something answers at this host and port within seconds; Ray itself tries for minutes.

    Raises:
        UserError: nothing does; ``what`` names the setting with its value, ``hint`` says what to do.
    """
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PROBE_SECONDS).close()
    except (OSError, ValueError) as error:
        raise UserError(f"{what}: nothing answers there ({error}); {hint}") from error


def _knock(address: str, what: str) -> None:
    """Ask a head for a sign of life.

    Raises:
        UserError: it refuses us, or is something else.
    """
    try:
        head = NodeInfoGcsServiceStub(init_grpc_channel(address))
        head.CheckAlive(CheckAliveRequest(), timeout=_PROBE_SECONDS)
    except Exception as error:  # Ray's for a token that is missing here, else grpc's
        hint = TOKEN_HINT if "token" in _reason(error) else _ADDRESS_HINT
        raise UserError(f"{what}: {_reason(error)}; {hint}") from error


def _reason(error: Exception) -> str:
    """Why Ray did not let us in, in one line."""
    details = getattr(error, "details", lambda: None)()  # those of grpc
    return " ".join((details or str(error)).partition(". ")[0].split()) or type(error).__name__


@contextmanager
def _own_handler(number: signal.Signals) -> Iterator[None]:
    """Keep this process's handler of a signal; Ray puts one in its place that prints a stack and aborts."""
    if threading.current_thread() is not threading.main_thread():  # where Python lets nobody set a handler
        yield
        return
    handler = signal.getsignal(number)
    try:
        yield
    finally:
        signal.signal(number, handler)


@contextmanager
def _loopback_only() -> Iterator[None]:
    """Make a local Ray listen on the loopback interface alone; no argument of ``ray.init`` does that."""
    name = ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR
    before = os.environ.get(name), ray_constants.ENABLE_RAY_CLUSTER
    os.environ[name] = "0"  # for the processes Ray starts
    ray_constants.ENABLE_RAY_CLUSTER = False  # for this one, which read the variable when it imported ray
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before[1]
        if before[0] is None:
            del os.environ[name]
        else:
            os.environ[name] = before[0]


@contextmanager
def _any_agent_port() -> Iterator[None]:
    """Let the agent of a local Ray, which starts jobs, take any free port; no argument of ``ray.init`` does that.

    By default it wants one port for the whole machine, and starts no jobs where another Ray has it.
    """
    of_ray = parameter.RayParams
    parameter.RayParams = partial(of_ray, dashboard_agent_listen_port=0)
    try:
        yield
    finally:
        parameter.RayParams = of_ray


def _draw_token() -> None:
    """Give a local Ray a token of this process's own where the user has none.

    Ray would write one to the home directory. The variable stays set, as Ray keeps the token while the process lives.
    """
    logging.getLogger("ray._private.authentication").setLevel(logging.ERROR)  # "token authentication is enabled"
    token_file = Path.home() / ".ray" / "auth_token"
    if not {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys() and not token_file.exists():
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


@contextmanager
def _temp_dir(config: ClusterConfig) -> Iterator[str | None]:
    """The directory of a local Ray; one of our own is removed, unless something went wrong and its logs are needed."""
    if config.place != "local" or config.temp_dir:
        yield config.temp_dir or None
        return
    parent = Path("/tmp")  # not $TMPDIR, whose path is often too long for Ray's sockets
    with scratch("kibitz-", parent if parent.is_dir() else None) as directory:
        try:
            yield str(directory)
        except UserError:
            raise
        except Exception as error:
            keep(directory)
            error.add_note(f"Ray's log files: {directory}/session_latest/logs")
            raise
