"""Two network namespaces with a cable between them, each with a Ray of one CPU. Needs root and the program ``ip``."""

import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

HOSTS = {"kibitz-a": "10.99.0.1", "kibitz-b": "10.99.0.2"}
QUICK = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 500,
    "health_check_failure_threshold": 3,
}
"""A machine that does not answer counts as lost after some two seconds instead of fifteen."""


def possible() -> bool:
    """Whether this process may make them."""
    return os.geteuid() == 0 and bool(shutil.which("ip"))


def ip(*arguments: str) -> None:
    """The program of this name."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def two(temp_dir: str) -> Iterator[dict[str, str]]:
    """Both with their Rays; the environment of their users. ``temp_dir``: of the head's Ray."""
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    environment = {**os.environ, **token, **{f"RAY_{key}": str(value) for key, value in QUICK.items()}}
    environment.pop("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", None)
    head, worker = HOSTS
    with ExitStack() as ended:
        for host in HOSTS:
            ip("netns", "add", host)
            ended.callback(ip, "netns", "del", host)
            ended.callback(end_processes, host)
        ip("link", "add", "kibitz-a0", "netns", head, "type", "veth", "peer", "name", "kibitz-b0", "netns", worker)
        for host, address in HOSTS.items():
            ip("-n", host, "addr", "add", f"{address}/24", "dev", f"{host}0")
            ip("-n", host, "link", "set", f"{host}0", "up")
            ip("-n", host, "link", "set", "lo", "up")
        start_ray(head, environment, "--head", "--port=6399", "--include-dashboard=false", f"--temp-dir={temp_dir}")
        start_ray(worker, environment, f"--address={HOSTS[head]}:6399")
        yield environment


def end_processes(host: str) -> None:
    """End everything that runs in a namespace, and nothing else."""
    for pid in processes(host):
        subprocess.run(["kill", "-9", str(pid)], check=False)
    time.sleep(1)


def start_ray(host: str, environment: dict[str, str], *how: str) -> None:
    """A Ray of one CPU on a host."""
    ray = [str(Path(sys.executable).parent / "ray"), "start", "--num-cpus=1", "--num-gpus=0", "--disable-usage-stats"]
    command = ["ip", "netns", "exec", host, *ray, "--object-store-memory=100000000", *how]
    command.append(f"--node-ip-address={HOSTS[host]}")
    started = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert started.returncode == 0, started.stdout + started.stderr


def processes(host: str) -> list[int]:
    """Numbers of what runs on a host."""
    listed = subprocess.run(["ip", "netns", "pids", host], check=True, capture_output=True, text=True)
    return [int(pid) for pid in listed.stdout.split()]
