"""Names that Ray does not promise to keep: they are there, and no others are used."""

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import ray
from ray.actor import ActorHandle
from ray.job_config import JobConfig

ROOT = Path(__file__).parents[2]
IMPORTED = {
    "ray._private.ray_constants",
    "ray._private.grpc_utils.init_grpc_channel",
    "ray._private.state.actors",
    "ray.core.generated.gcs_service_pb2.CheckAliveRequest",
    "ray.core.generated.gcs_service_pb2_grpc.NodeInfoGcsServiceStub",
}
ATTRIBUTES = {
    "ray._private.ray_constants.ENABLE_RAY_CLUSTER": lambda: import_module("ray._private.ray_constants"),
    "ray.job_config.JobConfig._py_driver_sys_path": JobConfig,
    "ray.actor.ActorHandle._actor_id": lambda: ActorHandle,
}


def gone(name: str) -> str:
    return f"Ray {ray.__version__} has no {name} any more; find another way where cluster/ uses it"


@pytest.mark.parametrize("name", sorted(IMPORTED))
def test_what_is_imported_of_ray_is_there(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    try:
        found = hasattr(import_module(module), attribute) or import_module(name)
    except ImportError:
        found = None
    assert found, gone(name)


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_what_is_read_or_set_is_there(name: str) -> None:
    owner, attribute = ATTRIBUTES[name](), name.rpartition(".")[2]
    assert hasattr(owner, attribute) or attribute in getattr(owner, "__annotations__", {}), gone(name)


def test_nothing_else_that_is_private_is_imported() -> None:
    found = set()
    for path in (
        path for folder in ("cluster", "learner", "search", "selfplay") for path in ROOT.glob(f"{folder}/**/*.py")
    ):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "ray":
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names if alias.name.startswith("ray.")}
    private = {name for name in found if re.search(r"\._|\.core\.generated", name)}
    assert private == IMPORTED


def test_the_loggers_that_are_made_quiet_are_rays() -> None:
    named = {
        name
        for path in ROOT.glob("cluster/**/*.py")
        for name in re.findall(r'"(ray\._private[\w.]+)"', path.read_text())
    }
    assert named, "no logger of Ray's is named any more: remove this test"
    for name in named:
        assert find_spec(name), gone(name)
