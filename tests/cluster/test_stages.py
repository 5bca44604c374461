"""Stages whose actors share machines, one of which is lost."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from ray.cluster_utils import Cluster

from cluster.cli import build
from cluster.config import ClusterConfig
from tests.cluster.hosts import QUICK
from tests.cluster.test_config import preset
from tests.selfplay.commands import ROOT

pytestmark = pytest.mark.slow

STORE = 100 * 2**20
PATIENCE = 240
"""Seconds within which a command has gone on; one that hangs does so for ever."""

DRIVER = """
import sys, time
from pathlib import Path
import ray
from cluster.actors.connection import connect
from cluster.actors.stages import Stage, Stages
from cluster.config import ClusterConfig
from cluster.preflight import Request

class Worker:
    def meet(self, host, size):
        return ""

    def train_together(self, item, host, size, rank, address):
        return self.train(item)

    def train(self, item):
        node = ray.get_runtime_context().get_node_id()
        if item == "long":
            begun.touch()
        while item == "long" and node == lost:  # until its machine goes
            time.sleep(0.05)
        return node

    def progress(self):
        return {}

address, lost, learners, directory, *at_once = sys.argv[1:]
begun, learners = Path(directory, "begun"), int(learners)
stages = [
    Stage(Request("generators", 1, 1), Worker),
    Stage(Request("learner", learners, 1 / learners), Worker, together=learners > 1),
]

def work(name, item="short"):
    ((_, node),) = stages.run(name, [item], lambda actor, item: actor.train.remote(item), lambda so_far: None)
    return node

with connect(ClusterConfig("existing", address)), Stages(ClusterConfig(), stages, at_once=at_once) as stages:
    stages.check()
    where = {name: work(name) for name in ("generators", "learner")}
    assert len(set(where.values())) == 2, where
    (hit,) = [name for name in where if where[name] == lost]
    (other,) = [name for name in where if where[name] != lost]
    assert work(hit, "long") == where[other]
    assert work(other) == work(hit) == work(other) == where[other]
    print("went on")
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A head with one CPU, to which tests add a machine that they then kill."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAY_AUTH_MODE", "disabled")  # Ray in this process has read the variable, and found none
        patched.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # loopback only
        sizes: dict[str, Any] = {"object_store_memory": STORE, "include_dashboard": False}
        head = {"num_cpus": 1, "num_gpus": 0, "_system_config": QUICK, **sizes}
        started = Cluster(initialize_head=True, head_node_args=head)
        yield started
        started.shutdown()


@pytest.mark.parametrize(
    ("learners", "at_once"),
    [
        pytest.param(1, (), id="stages that take turns"),
        # chaos: for their length
        pytest.param(1, ("generators", "learner"), id="stages that work at once", marks=pytest.mark.chaos),
        pytest.param(2, (), id="a group of learners", marks=pytest.mark.chaos),
    ],
)
def test_stages_that_shared_two_machines_go_on_with_one(
    cluster: Cluster, learners: int, at_once: tuple[str, ...], tmp_path: Path
) -> None:
    lost = cluster.add_node(num_cpus=1, num_gpus=0, object_store_memory=STORE)
    command = [sys.executable, "-c", DRIVER, cluster.address, lost.node_id, str(learners), str(tmp_path), *at_once]
    with (tmp_path / "log").open("w") as log:
        driver = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
    try:
        limit = time.monotonic() + PATIENCE
        while not (tmp_path / "begun").exists():
            assert driver.poll() is None and time.monotonic() < limit, (tmp_path / "log").read_text()
            time.sleep(0.05)
        cluster.remove_node(lost, allow_graceful=False)
        assert driver.wait(PATIENCE) == 0, (tmp_path / "log").read_text()
    finally:
        driver.kill()
        driver.wait()
    said = (tmp_path / "log").read_text()
    assert "went on" in said
    line = (
        rf"(generators: 1 of 1|learner: {learners} of {learners}) actors wait .* GPU, 0 MB, the machines have 1 CPU, "
    )
    assert re.search(line + r"0 GPU, \d+ MB in all; idle \w+ ended to make some", said), said


ROLES = """
import sys
import ray
from cluster.actors.connection import connect
from cluster.actors.stages import Stages
from cluster.config import ClusterConfig
from cluster.actors.stages import Stage
from cluster.preflight import Request

class Worker:
    def work(self, item):
        return ray.get_runtime_context().get_node_id()

    def progress(self):
        return {}

roles = ("players", 3), ("learner", 1)
stages = [Stage(Request(role, count, 1, labels=(("role", role),)), Worker) for role, count in roles]
both = [role for role, count in roles]
with connect(ClusterConfig("existing", sys.argv[1])), Stages(ClusterConfig(), stages, at_once=both) as s:
    s.check()
    for role, count in roles:
        found = {node for _, node in s.run(role, range(count), lambda actor, item: actor.work.remote(item), print)}
        print(role, *found)
"""


def test_labels_bind_roles_to_machines(cluster: Cluster) -> None:
    """With room for all on either machine, each role is on its own."""
    nodes = {role: cluster.add_node(num_cpus=4, num_gpus=0, object_store_memory=STORE, labels={"role": role})
             for role in ("players", "learner")}  # fmt: skip
    try:
        command = [sys.executable, "-c", ROLES, cluster.address]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
        said = [line.split() for line in done.stdout.splitlines() if line.split()[0] in nodes]
        assert said == [[role, node.node_id] for role, node in nodes.items()], done.stdout + done.stderr
    finally:
        for node in nodes.values():
            cluster.remove_node(node)


GPU = """
import ray, sys, time
from cluster.actors import stages as stages_module
from cluster.actors.connection import connect
from cluster.actors.stages import Stage, Stages
from cluster.config import ClusterConfig
from cluster.errors import UserError
from cluster.preflight import Request

@ray.remote(num_cpus=0, num_gpus=1)
class Other:
    pass

with connect(ClusterConfig(num_cpus=1, num_gpus=1, object_store_mb=80)):
    stages = Stages(ClusterConfig(), [Stage(Request("learner", 1, 1, gpus=1), object)])
    stages_module._GPU_SECONDS = 180  # a busy machine takes its time to start a process that imports torch
    try:
        stages.check()
    except UserError as error:
        print("refused:", error)
    other = Other.remote()
    ray.get(other.__ray_ready__.remote())
    stages_module._GPU_SECONDS = 1
    began = time.monotonic()
    stages.check()
    print("went on in time:", time.monotonic() - began < 5)
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a GPU that torch does not see")
def test_a_gpu_that_torch_cannot_see_is_refused_and_one_in_use_is_waited_for_and_left_to_others() -> None:
    done = subprocess.run([sys.executable, "-c", GPU], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert len(done.stdout.splitlines()) == 2, done.stdout + done.stderr
    refused, went_on = done.stdout.splitlines()
    assert refused.startswith("refused: Ray lends a GPU to who asks for one, but torch finds no CUDA device there")
    assert went_on == "went on in time: True"
    assert "no GPU is free within 1 s; this command waits for others to end" in done.stderr


EIGHT_GPUS = """
import json, sys, time
from collections import Counter
from pathlib import Path
import ray
from cluster.actors import stages as stages_module
from cluster.actors.connection import connect
from cluster.actors.stages import Stage, Stages
from cluster.config import ClusterConfig
from cluster.errors import UserError
from cluster.preflight import Request

class Worker:
    def gpu(self, directory, count):
        Path(directory, ray.get_runtime_context().get_actor_id()).touch()
        while len(list(Path(directory).iterdir())) < count:  # all of the stage are there at once
            time.sleep(0.1)
        (gpu,) = ray.get_runtime_context().get_accelerator_ids()["GPU"]
        return gpu

    def progress(self):
        return {}

directory, asked = sys.argv[1], [Request(*one) for one in json.loads(sys.argv[2])]
stages_module._memory_of_a_gpu = lambda share: 81_000  # torch sees none of these

def refused(*requests):
    try:
        Stages(ClusterConfig(), [Stage(request, Worker) for request in requests]).check()
    except UserError as error:
        print(str(error).splitlines()[0])

with connect(ClusterConfig(num_cpus=64, num_gpus=8, object_store_mb=80)):
    refused(Request("generators", 10, 1, 0.6))
    refused(Request("generators", 14, 1, 0.5, gpu_mb=60_000))
    with Stages(ClusterConfig(), [Stage(request, Worker) for request in asked]) as stages:
        stages.check()
        for request in asked:
            begun = Path(directory, request.name)
            begun.mkdir()
            call = lambda actor, item: actor.gpu.remote(str(begun), request.count)
            found = Counter(gpu for _, gpu in stages.run(request.name, range(request.count), call, lambda so_far: None))
            print(request.name, json.dumps(found, sort_keys=True))
"""


def test_every_gpu_of_a_node_of_eight_has_actors_as_its_preset_says(tmp_path: Path) -> None:
    config = build(preset("node8"), ClusterConfig)
    sizes = [
        ("generators", config.generators, config.generator_cpus, config.generator_gpus),
        ("learner", config.learners, config.learner_cpus, config.learner_gpus),
    ]
    command = [sys.executable, "-c", EIGHT_GPUS, str(tmp_path), json.dumps(sizes)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert len(done.stdout.splitlines()) == 4, done.stdout + done.stderr
    shares, memory, playing, training = done.stdout.splitlines()
    assert shares.startswith("the cluster has no room for 2 generators; one GPU has room for 1")
    assert memory.startswith("GPU memory: 2 generators of about 60,000 MB on one GPU take 120,000 MB")
    assert playing == f"generators {json.dumps({str(gpu): 2 for gpu in range(7)})}"
    assert training == 'learner {"7": 1}'
