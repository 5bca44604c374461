"""Machines that are lost in the middle of a run: killed, and cut off from the network. Part of ``make chaos``."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from ray.cluster_utils import Cluster

from tests.selfplay.commands import TINY, Command

pytestmark = pytest.mark.chaos

QUICK = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 500,
    "health_check_failure_threshold": 3,
}
"""A machine that does not answer counts as lost after some two seconds instead of fifteen."""
SETTINGS = (
    *TINY,
    "cluster=existing",
    "cluster.generators=2",
    "cluster.generator_memory_mb=0",
    "cluster.generator_gpus=0",
    "cluster.evaluator_gpus=0",
    "cluster.learner_gpus=0",
    "selfplay.initial_games=60",
    "selfplay.iterations=1",
    "selfplay.games_per_iteration=400",
    "selfplay.games_per_shard=20",
    "learner.max_steps=20",
    "evaluation.final=[{players: [argmax_val, random], deals: 20}]",
    "evaluation.deals_per_task=2",
)
HOSTS = {"kibitz-a": "10.99.0.1", "kibitz-b": "10.99.0.2"}
needs_namespaces = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("ip"), reason="network namespaces need root and the program ip"
)


@pytest.fixture
def undisturbed(tmp_path: Path) -> Path:
    """The same run on one machine that nothing happens to."""
    local = [setting for setting in SETTINGS if setting != "cluster=existing"]
    command = Command("selfplay", *local, "engine=gpu", f"run.dir={tmp_path}/undisturbed", log=tmp_path / "calm.log")
    assert command.wait() == 0, command.output
    return tmp_path / "undisturbed"


def shards(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.glob("iterations/001/shards/*.parquet")}


def made(run: Path) -> dict[str, Any]:
    """What a run has made: shards, networks, the points of its last tournament."""
    (played,) = json.loads((run / "results/tournament.json").read_text())
    networks = {
        str(path.relative_to(run)): path.read_bytes() for path in run.glob("iterations/*/checkpoint/*.safetensors")
    }
    assert len(networks) == 2
    return {**shards(run), **networks, "tournament": played["columns"]}


def lose(command: Command, run: Path, strike: Callable[[], None]) -> None:
    """Strike while iteration 1 is played, and see the run come to its end."""
    try:
        command.until(lambda: len(shards(run)) >= 3)
        strike()
        assert len(shards(run)) < 20
        assert command.wait() == 0, command.output
    finally:
        command.clean_up()
    assert "doing it again" in command.output and "Traceback" not in command.output


def test_a_run_goes_on_without_a_machine_that_was_killed(
    tmp_path: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # Ray in this process has read the variable, and found none
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # loopback only
    sizes: dict[str, Any] = {"object_store_memory": 100 * 2**20, "include_dashboard": False}
    head = {"num_cpus": 1, "num_gpus": 0, "_system_config": QUICK, **sizes}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        lost = cluster.add_node(num_cpus=1, num_gpus=0, object_store_memory=100 * 2**20)
        run = tmp_path / "run"
        where = (f"cluster.address={cluster.address}", f"run.dir={run}")
        command = Command("selfplay", *SETTINGS, *where, log=tmp_path / "log")
        lose(command, run, lambda: cluster.remove_node(lost, allow_graceful=False))
    finally:
        cluster.shutdown()
    assert made(run) == made(undisturbed)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def two_hosts(temp_dir: str) -> Iterator[dict[str, str]]:
    """Two network namespaces with a cable between them, each with a Ray of one CPU; the environment of their users."""
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    environment = {**os.environ, **token, **{f"RAY_{key}": str(value) for key, value in QUICK.items()}}
    environment.pop("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", None)
    ray = [str(Path(sys.executable).parent / "ray"), "start", "--num-cpus=1", "--num-gpus=0", "--disable-usage-stats"]
    ray += ["--object-store-memory=100000000"]
    head, worker = HOSTS
    starts = {
        head: [*ray, "--head", "--port=6399", "--include-dashboard=false", f"--temp-dir={temp_dir}"],
        worker: [*ray, f"--address={HOSTS[head]}:6399"],
    }
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
            command = ["ip", "netns", "exec", host, *starts[host], f"--node-ip-address={address}"]
            started = subprocess.run(command, env=environment, capture_output=True, text=True)
            assert started.returncode == 0, started.stdout + started.stderr
        yield environment


def end_processes(host: str) -> None:
    """End everything that runs in a namespace, and nothing else."""
    listed = subprocess.run(["ip", "netns", "pids", host], check=True, capture_output=True, text=True)
    for pid in listed.stdout.split():
        subprocess.run(["kill", "-9", pid], check=False)
    time.sleep(1)


@needs_namespaces
def test_a_run_goes_on_without_a_host_whose_cable_was_cut(tmp_path: Path, undisturbed: Path) -> None:
    temp_dir, run = tempfile.mkdtemp(prefix="kibitz-", dir="/tmp"), tmp_path / "run"
    head, worker = HOSTS
    try:
        with two_hosts(temp_dir) as environment:
            command = Command(
                "selfplay",
                *SETTINGS,
                f"cluster.address={HOSTS[head]}:6399",
                f"run.dir={run}",
                log=tmp_path / "log",
                before=("ip", "netns", "exec", head),
                environment=environment,
            )
            lose(command, run, lambda: ip("-n", worker, "link", "set", f"{worker}0", "down"))
    finally:
        shutil.rmtree(temp_dir, ignore_errors=True)
    assert made(run) == made(undisturbed)
