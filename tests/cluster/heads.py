"""A head of ``ray start`` that asks for a token, as people start it."""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
PATIENCE = 120


@dataclass(frozen=True)
class Head:
    """A running head."""

    url: str
    env: dict[str, str]
    """Environment of its clients."""
    gcs: str
    """Where drivers connect, ``host:port``."""

    def submit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """``ray job submit`` of our code, once the job has ended."""
        command = ["ray", "job", "submit", "--address", self.url, "--working-dir", str(ROOT), "--", *arguments]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=4 * PATIENCE)


def free_ports(count: int) -> list[int]:
    """Outside the range of Ray's workers, which ``ray start`` refuses to share."""
    found: list[int] = []
    for port in range(20100 + os.getpid() % 4000, 30000):
        with socket.socket() as probe:
            if len(found) < count and probe.connect_ex(("127.0.0.1", port)):
                found.append(port)
        if len(found) == count:
            break
    return found


@contextmanager
def started() -> Iterator[Head]:
    """A head of eight CPUs, which jobs and drivers find beside any other Ray of this machine."""
    gcs, dashboard, agent, metrics, client = free_ports(5)
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # every socket on the loopback interface
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "PYTHONPATH": str(ROOT),
    }
    with TemporaryDirectory(prefix="kj-", dir="/tmp", ignore_cleanup_errors=True) as temp_dir:
        command = [
            *("ray", "start", "--head", "--block", f"--port={gcs}", f"--temp-dir={temp_dir}", "--num-cpus=8"),
            *(f"--dashboard-port={dashboard}", f"--dashboard-agent-listen-port={agent}", "--disable-usage-stats"),
            *(f"--metrics-export-port={metrics}", f"--ray-client-server-port={client}", "--num-gpus=0"),
            *("--dashboard-host=127.0.0.1", "--object-store-memory=100000000"),
        ]
        log = (Path(temp_dir) / "head.log").open("w")
        ray = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for_jobs(dashboard, Path(log.name))
            yield Head(f"http://127.0.0.1:{dashboard}", env, f"127.0.0.1:{gcs}")
        finally:
            ray.terminate()  # ray start --block ends its own processes, and nobody else's
            ray.wait(60)


def wait_for_jobs(port: int, log: Path) -> None:
    """Until the dashboard answers."""
    limit = time.monotonic() + PATIENCE
    while True:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                return
        assert time.monotonic() < limit, log.read_text()
        time.sleep(0.2)
