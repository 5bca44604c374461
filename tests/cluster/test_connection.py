"""Connecting to Ray."""

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cluster.actors.connection import _arguments, connect, nodes
from cluster.config import ClusterConfig
from cluster.errors import UserError
from tests.cluster.heads import ROOT, Head, started
from tests.selfplay.commands import descendants

SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def head() -> Iterator[Head]:
    with started() as head:
        yield head


@SLOW
def test_a_local_ray_offers_what_was_asked_on_the_loopback_interface_only(ray_connection: Any) -> None:
    (node,) = nodes()
    assert (node.name, node.cpus, node.gpus) == ("127.0.0.1", 2, 0)
    assert ray_connection.address_info["gcs_address"].startswith("127.0.0.1:")
    assert ray_connection.dashboard_url.startswith("127.0.0.1:")


@SLOW
def test_no_process_of_a_local_ray_listens_beyond_the_loopback_interface(ray_connection: Any) -> None:
    rows = [row.split() for table in ("tcp", "tcp6") for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
    listening = {row[9]: row[1].rpartition(":")[0] for row in rows if row[3] == "0A"}
    found = set()
    for process in descendants(os.getpid()):
        for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                found.add(listening.get(str(descriptor.readlink()).removeprefix("socket:[").rstrip("]")))
    mapped, ipv6 = "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"
    assert "0100007F" in found and found <= {None, "0100007F", mapped, ipv6}


@SLOW
def test_no_other_user_reaches_the_files_of_a_local_ray(ray_connection: Any) -> None:
    opened_by_ray = Path(ray_connection.address_info["session_dir"]).parent
    assert stat.S_IMODE(opened_by_ray.parent.stat().st_mode) == 0o700
    assert max(len(str(socket)) for socket in opened_by_ray.rglob("sockets/*")) < 100  # 107 at most; process ids grow


@SLOW
def test_leaving_a_local_ray_leaves_nothing_behind(tmp_path: Path) -> None:
    script = """
import os, ray
from cluster.config import ClusterConfig
from cluster.actors.connection import connect
before = dict(os.environ)
with connect(ClusterConfig(num_cpus=1, num_gpus=0, object_store_mb=80)) as context:
    directory = context.address_info["session_dir"]
    assert os.path.isdir(directory)
assert not ray.is_initialized() and not os.path.exists(directory)
kept = {name for name in os.environ if os.environ[name] != before.get(name)}
assert kept <= {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_USAGE_STATS_ENABLED"}, kept
"""
    quiet = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert quiet.returncode == 0, quiet.stderr
    assert quiet.stdout == "" and list(tmp_path.rglob("auth_token")) == []


def test_what_a_killed_command_left_goes_at_the_next_start_and_nothing_else(tmp_path: Path) -> None:
    script = """
import sys, time
from pathlib import Path
from cluster.actors import connection
from cluster.config import ClusterConfig
connection._TMP = Path(sys.argv[2])  # in /tmp any other start would clean up as well
with connection._temp_dir(ClusterConfig()) as directory:
    print(Path(directory).parent, flush=True)
    if sys.argv[1] == "sleep":
        time.sleep(60)
    raise ValueError("keep the logs") if sys.argv[1] == "fail" else SystemExit
"""

    def start(how: str) -> tuple[subprocess.Popen[str], Path]:
        command = [sys.executable, "-c", script, how, str(tmp_path)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    (killed, abandoned), (lives, in_use), (failed, with_logs) = start("sleep"), start("sleep"), start("fail")
    try:
        killed.kill()
        assert killed.wait() and failed.wait() == 1
        assert abandoned.is_dir()
        last, its_own = start("end")
        assert last.wait() == 0
        assert not abandoned.exists() and not its_own.exists() and in_use.is_dir() and with_logs.is_dir()
    finally:
        lives.kill()
        lives.wait()


def test_without_a_loopback_interface_no_ray_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*arguments: object, **settings: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr("socket.create_connection", unreachable)
    with pytest.raises(UserError, match=r"127\.0\.0\.1 cannot be reached"), connect(ClusterConfig()):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:9", "headless"])
def test_a_cluster_that_does_not_answer_is_the_users_to_mend(address: str) -> None:
    with (
        pytest.raises(UserError, match=rf"cluster\.address={address}: nothing answers"),
        connect(ClusterConfig(mode="existing", address=address)),
    ):
        pass


@pytest.mark.parametrize(
    ("address", "message"),
    [(None, "cluster=job: this is no Ray job"), ("127.0.0.1:9", "RAY_ADDRESS=127.0.0.1:9: nothing answers there")],
)
def test_outside_of_a_job_no_cluster_is_looked_for(
    monkeypatch: pytest.MonkeyPatch, address: str | None, message: str
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if address:
        monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(UserError, match=message), connect(ClusterConfig(mode="job")):
        pass


def test_what_is_set_for_torch_and_nccl_goes_to_the_actors_and_what_is_the_machines_own_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    goes = {
        "KIBITZ_CACHE_DIR": "/cache",
        "NCCL_SOCKET_IFNAME": "eth1",
        "TORCH_NCCL_TRACE_BUFFER_SIZE": "200",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "CUDA_LAUNCH_BLOCKING": "1",
    }
    stays = {"CUDA_VISIBLE_DEVICES": "3", "CUDA_HOME": "/usr/cuda", "CUDA_MPS_PIPE_DIRECTORY": "/tmp/mps",
             "TORCH_HOME": "/home/me", "TORCH_EXTENSIONS_DIR": "/x", "WANDB_API_KEY": "k", "RAY_AUTH_TOKEN": "t",
             "AWS_SECRET_ACCESS_KEY": "k", "KIBITZ_KEY": "k"}  # fmt: skip
    for name in [name for name in os.environ if name.startswith(("NCCL", "TORCH", "OMP_WAIT", "GOMP", "CUDA"))]:
        monkeypatch.delenv(name)
    for name, value in (goes | stays).items():
        monkeypatch.setenv(name, value)
    config = ClusterConfig(mode="existing", address="10.0.0.1:6379")
    assert _arguments(config, None)["runtime_env"] == {"env_vars": goes}
    job = {"runtime_env": {"env_vars": {"NCCL_SOCKET_IFNAME": "eth1"}}}  # Ray refuses the same variable from both
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", json.dumps(job))
    assert "NCCL_SOCKET_IFNAME" not in _arguments(config, None)["runtime_env"]["env_vars"]


JOB = """
import ray
from cluster.config import ClusterConfig
from cluster.actors.connection import actor_options, connect

@ray.remote
class Actor:
    def where(self):
        import cluster
        return cluster.__file__

with connect(ClusterConfig(mode="job")):
    path = ray.get(Actor.options(**actor_options(cpus=0.5)).remote().where.remote())
    print("code", "working_dir_files" in path)
"""


@SLOW
def test_a_command_runs_as_a_job_with_its_code_and_joins_the_cluster(head: Head) -> None:
    ended = head.submit(sys.executable, "-c", JOB)
    assert ended.returncode == 0 and "code True" in ended.stdout, ended


@SLOW
@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"RAY_AUTH_TOKEN": "wrong"}, "Authentication token is missing or incorrect; set RAY_AUTH_MODE=token"),
        ({"RAY_AUTH_MODE": "disabled"}, "Authentication token is missing or incorrect; set RAY_AUTH_MODE=token"),
        (None, "give the head's host:port"),  # it is the dashboard's
    ],
)
def test_joining_without_the_right_token_or_port_is_one_line_at_once(
    head: Head, env: dict[str, str] | None, words: str
) -> None:
    where = head.url.removeprefix("http://") if env is None else head.gcs
    script = f"from cluster.actors.connection import *; connect(ClusterConfig('existing', '{where}')).__enter__()"
    environment = {**head.env, **(env or {})}
    refused = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True)
    *_, last = refused.stderr.splitlines()
    assert refused.returncode == 1 and f"UserError: cluster.address={where}: " in last and words in last
