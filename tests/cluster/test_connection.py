"""Connecting, and running as a job of the connected cluster."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ray._private.worker import BaseContext

from cluster.config import ClusterConfig
from cluster.connection import connect, nodes
from cluster.errors import UserError
from cluster.submit import main

ROOT = Path(__file__).parents[2]

JOB = """
import os, sys
import ray
from cluster.config import ClusterConfig
from cluster.connection import actor_options, connect

@ray.remote
class Actor:
    def where(self):
        import cluster
        return cluster.__file__

with connect(ClusterConfig(mode="job")):
    path = ray.get(Actor.options(**actor_options(cpus=0.5)).remote().where.remote())
    print("code", "working_dir_files" in path)
sys.exit(3)
"""


def test_a_local_ray_offers_what_was_asked_on_the_loopback_interface_only(ray_connection: BaseContext) -> None:
    (node,) = nodes()
    assert (node.name, node.cpus, node.gpus) == ("127.0.0.1", 2, 0)
    assert ray_connection.address_info["gcs_address"].startswith("127.0.0.1:")
    assert ray_connection.dashboard_url.startswith("127.0.0.1:")


def test_leaving_a_local_ray_leaves_nothing_behind(tmp_path: Path) -> None:
    script = """
import os, ray
from cluster.config import ClusterConfig
from cluster.connection import connect
before = dict(os.environ)
with connect(ClusterConfig(num_cpus=1, num_gpus=0, object_store_mb=80)):
    directory = ray._private.worker.global_worker.node.get_session_dir_path()
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


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "headless"])
def test_a_cluster_that_does_not_answer_is_the_users_to_mend(address: str) -> None:
    with (
        pytest.raises(UserError, match=rf"cluster\.address={address}: nothing answers"),
        connect(ClusterConfig(mode="existing", address=address)),
    ):
        pass


def test_a_command_runs_as_a_job_with_its_code_output_and_exit_code(
    ray_connection: BaseContext, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = ["--address", f"http://{ray_connection.dashboard_url}", "--working-dir", str(ROOT)]
    assert main([*address, "--", sys.executable, "-c", JOB]) == 3
    assert "code True" in capsys.readouterr().out


def test_a_job_to_a_cluster_that_is_not_there_is_an_error_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--address", "http://127.0.0.1:9", "--", "true"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
