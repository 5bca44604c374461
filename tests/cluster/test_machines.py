"""Machines that are lost in the middle of a run: killed, and cut off from the network. Part of ``make chaos``."""

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ray.cluster_utils import Cluster

from tests.cluster import hosts
from tests.selfplay.commands import TINY, Command

pytestmark = pytest.mark.chaos

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
needs_namespaces = pytest.mark.skipif(not hosts.possible(), reason="network namespaces need root and the program ip")


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
    head = {"num_cpus": 1, "num_gpus": 0, "_system_config": hosts.QUICK, **sizes}
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


@needs_namespaces
def test_a_run_goes_on_without_a_host_whose_cable_was_cut(tmp_path: Path, undisturbed: Path) -> None:
    temp_dir, run = tempfile.mkdtemp(prefix="kibitz-", dir="/tmp"), tmp_path / "run"
    head, worker = hosts.HOSTS
    try:
        with hosts.two(temp_dir) as environment:
            command = Command(
                "selfplay",
                *SETTINGS,
                f"cluster.address={hosts.HOSTS[head]}:6399",
                f"run.dir={run}",
                log=tmp_path / "log",
                before=("ip", "netns", "exec", head),
                environment=environment,
            )
            lose(command, run, lambda: hosts.ip("-n", worker, "link", "set", f"{worker}0", "down"))
    finally:
        shutil.rmtree(temp_dir, ignore_errors=True)
    assert made(run) == made(undisturbed)
