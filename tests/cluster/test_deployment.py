"""Deployment files parse, and say what the code says."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import ray
import yaml

from cluster.leaving import VARIABLE
from cluster.preflight import Node, preflight
from cluster.watching.metrics import METRICS
from selfplay.generator import generator_settings
from selfplay.gpu_memory import gpu_memory
from selfplay.workers import stages_of
from tests.test_repository import build_command

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "cluster/grafana/dashboards/kibitz.json"


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / "cluster" / name).read_text())


def test_the_dashboard_shows_every_metric_and_no_other() -> None:
    text = DASHBOARD.read_text()
    shown = set(re.findall(r"ray_(kibitz_\w+)", text))
    assert shown == {f"kibitz_{name}" for name in METRICS}
    panels = json.loads(text)["panels"]
    (source,) = read("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    assert {panel["datasource"]["uid"] for panel in panels} == {source["uid"]}
    assert read("compose.yaml")["services"].keys() == {"prometheus", "grafana"}
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        for target in panel["targets"]:
            expression = target["expr"]
            assert expression.count("(") == expression.count(")") and expression.count("{") == expression.count("}")
            assert re.search(r"\b(max|sum) by \(run(, role)?\)", expression), "series of one run on several machines"


@pytest.fixture(scope="module")
def job() -> dict[str, Any]:
    """The specification of the job of Kubernetes."""
    return dict(read("kuberay/rayjob.yaml")["spec"])


@pytest.fixture(scope="module")
def groups(job: dict[str, Any]) -> dict[str, Any]:
    """Name -> its machines of one kind."""
    return {group["groupName"]: group for group in job["rayClusterSpec"]["workerGroupSpecs"]}


def test_the_kubernetes_job_has_the_pinned_ray_and_keeps_actors_off_the_head(job) -> None:
    pinned = re.search(r"^ray==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned is not None and job["rayClusterSpec"]["rayVersion"] == pinned[1]
    assert job["rayClusterSpec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    assert read("launcher/aws.yaml")["available_node_types"]["head"]["resources"] == {"CPU": 0}


def test_the_kubernetes_jobs_machines_hold_what_it_asks_and_its_players_share_a_gpu(job, groups) -> None:
    asked, words = yaml.safe_load((ROOT / "conf/cluster/job.yaml").read_text()), job["entrypoint"].split()
    assert {"cluster=job", "cluster.evaluator_gpus=0", "engine.precision=auto"} <= set(words)
    assert "run.dir=/" in job["entrypoint"]
    asked |= {key: float(value) for key, value in re.findall(r"cluster\.(\w+)=([\d.]+)(?=\s|$)", job["entrypoint"])}
    for name, role, actors in (("gpu-learner", "learner", 1), ("gpu-selfplay", "generator", asked["generators"]),
                               ("cpu-evaluators", "evaluator", asked["evaluators"])):  # fmt: skip
        machine = groups[name]["template"]["spec"]["containers"][0]["resources"]["requests"]
        count = max(groups[name]["replicas"], 1)
        assert int(machine["cpu"]) * count >= actors * asked.get(f"{role}_cpus", 1)
        assert int(machine.get("nvidia.com/gpu", 0)) * count >= actors * asked[f"{role}_gpus"]
    (players,) = groups["gpu-selfplay"]["template"]["spec"]["containers"]
    assert "nvidia-cuda-mps-control -d || true" in players["lifecycle"]["postStart"]["exec"]["command"]


def test_the_kubernetes_job_scales_and_tolerates_what_its_machines_are_marked_with(job, groups) -> None:
    cluster = job["rayClusterSpec"]
    assert cluster["enableInTreeAutoscaling"] is True and "cluster.check_resources=false" in job["entrypoint"]
    assert cluster["autoscalerOptions"].keys() <= {"idleTimeoutSeconds", "upscalingMode", "resources", "version"}
    for group in groups.values():
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
        pod = group["template"]["spec"]
        tolerated = {toleration["key"] for toleration in pod["tolerations"]}
        assert set(pod.get("nodeSelector", {})) <= tolerated
        assert ("nvidia.com/gpu" in pod["containers"][0]["resources"]["limits"]) == ("nvidia.com/gpu" in tolerated)


def test_the_kubernetes_jobs_learner_is_told_that_its_pod_ends(groups, tmp_path: Path) -> None:
    pod = groups["gpu-learner"]["template"]["spec"]
    (learner,) = pod["containers"]
    assert [each["name"] for each in learner["env"]] == [VARIABLE]
    command = learner["lifecycle"]["preStop"]["exec"]["command"]
    (waits,) = re.findall(r"sleep (\d+)", command[-1])
    assert 10 < int(waits) < pod["terminationGracePeriodSeconds"]
    notice = tmp_path / "a pod's file"
    at_once = [*command[:-1], command[-1].replace(f"sleep {waits}", "true")]
    subprocess.run(at_once, env={VARIABLE: str(notice)}, check=True)
    assert notice.exists()


GPUS_OF_AMAZON = {"p5.4xlarge": 81_559}
"""Type of machine -> MB of its GPU."""


def test_the_launchers_machines_have_gpus_that_hold_the_preset() -> None:
    launcher = read("launcher/aws.yaml")
    types = [each for each in launcher["available_node_types"].values() if "GPU" in each["resources"]]
    machines = [
        Node(each["node_config"]["InstanceType"], each["resources"]["CPU"], each["resources"]["GPU"], 256_000,
             GPUS_OF_AMAZON[each["node_config"]["InstanceType"]])
        for each in types for _ in range(each["min_workers"])
    ]  # fmt: skip
    for experiment in ("hearts_paper", "skat_paper", "crew_paper"):
        config = build_command("train", f"experiment={experiment}")
        settings, mb = generator_settings(config), gpu_memory(config)
        playing, training, measuring = (stage.request for stage in stages_of(config.cluster, settings, mb))
        assert playing.gpu_mb > 0 and training.gpu_mb > 0 and measuring.gpu_mb > 0
        preflight([playing, training], machines)
        preflight([measuring, training], machines)
    assert any("nvidia-cuda-mps-control -d || true" in line for line in launcher["worker_start_ray_commands"])


def test_the_image_asks_for_gpus_and_holds_the_networks_of_the_package() -> None:
    env = dict(re.findall(r"(NVIDIA_\w+)=(\S+)", (ROOT / "cluster/Dockerfile").read_text()))
    assert env == {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
    networks = [path.relative_to(ROOT).as_posix() for path in (ROOT / "learner/networks").rglob("*.*")]
    assert len([path for path in networks if path.endswith(".safetensors")]) >= 4
    left_out = [".git/config", "runs/a/model.safetensors", "learner/x.safetensors", "games/a.parquet", "docs/start.md"]
    assert [path for path in [*networks, *left_out] if _ignored(path)] == left_out


def _ignored(path: str) -> bool:
    """Whether a build leaves a file out: the last line that names it, or a directory above it, decides."""
    ignored = False
    for line in (ROOT / "cluster/Dockerfile.dockerignore").read_text().splitlines():
        pattern = re.escape(line.removeprefix("!")).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
        if line and not line.startswith("#") and re.fullmatch(f"{pattern}(/.*)?", path):
            ignored = not line.startswith("!")
    return ignored


def test_the_launcher_file_fits_rays_schema() -> None:
    schema = json.loads((Path(ray.__file__).parent / "autoscaler/ray-schema.json").read_text())
    jsonschema.validate(read("launcher/aws.yaml"), schema)


@pytest.mark.parametrize(
    "command",
    [
        ("shellcheck", "slurm/kibitz.sbatch"),
        ("hadolint", "Dockerfile"),
        ("check-jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml"),
        ("promtool", "check", "config", "--syntax-only", "prometheus/prometheus.yml"),
    ],
    ids=lambda command: command[0],
)
def test_the_formats_own_tool_finds_nothing(command: tuple[str, ...]) -> None:
    tool = shutil.which(command[0], path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if tool is None and command[0] == "promtool":
        pytest.skip("Prometheus is not installed")
    assert tool is not None, "make install brings it"
    done = subprocess.run([tool, *command[1:]], cwd=ROOT / "cluster", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_slurm_script_is_given_a_place_by_slurm_and_starts_what_the_docs_say() -> None:
    script = (ROOT / "cluster/slurm/kibitz.sbatch").read_text()
    options = dict(re.findall(r"^#SBATCH --([\w-]+)=?(.*)$", script, re.MULTILINE))
    preset = yaml.safe_load((ROOT / "conf/cluster/existing.yaml").read_text())
    assert int(options["nodes"]) * int(options["gpus-per-node"]) >= 2
    assert int(options["cpus-per-task"]) >= preset["generators"] + preset["evaluators"] + preset["learner_cpus"]
    assert {"requeue", "exclusive"} <= options.keys() and options["signal"].startswith("B:TERM@")


@pytest.mark.parametrize("there", [True, False])
def test_the_slurm_script_starts_mps_on_every_node_that_has_it(there: bool, tmp_path: Path) -> None:
    script = (ROOT / "cluster/slurm/kibitz.sbatch").read_text()
    assert script.count('bash -c "$start" _ ') == 2
    said = 'echo "$(basename "$0") $* $CUDA_MPS_PIPE_DIRECTORY ${CUDA_VISIBLE_DEVICES-all}"'
    for name in ("nvidia-cuda-mps-control", "ray")[not there :]:
        (tmp_path / name).write_text(f"#!/bin/sh\n{said}\n")
        (tmp_path / name).chmod(0o755)
    start = re.search(r"^start='(.*?)'$", script, re.DOTALL | re.MULTILINE)
    assert start is not None
    mps = {"CUDA_MPS_PIPE_DIRECTORY": f"{tmp_path}/mps", "CUDA_VISIBLE_DEVICES": "0"}
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", **mps}
    done = subprocess.run(["bash", "-c", start[1], "_", "--head"], env=env, capture_output=True, text=True)
    ray_started = f"ray start --block --head {tmp_path}/mps 0"
    assert done.stdout.splitlines() == [f"nvidia-cuda-mps-control -d {tmp_path}/mps all"] * there + [ray_started]
    assert done.returncode == 0 and (tmp_path / "mps").is_dir()


@pytest.mark.parametrize("late", ["", "sleep 0.5\n"], ids=["amid the run", "before the script knows the run"])
def test_the_slurm_script_waits_for_a_run_that_was_told_to_end(late: str) -> None:
    script = (ROOT / "cluster/slurm/kibitz.sbatch").read_text()
    waiting = script[script.index("stopping=\n") :]
    ends_slowly = "(trap 'sleep 1; echo ended; exit 143' TERM; echo begun; while :; do sleep 0.1; done) &"
    waiting, runs = re.subn(r"srun .*?&$", ends_slowly, waiting, count=1, flags=re.DOTALL | re.MULTILINE)
    assert runs == 1
    waiting = waiting.replace("run=$!\n", f"{late}run=$!\n")
    job = subprocess.Popen(["bash", "-euc", waiting], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert job.stdout is not None and job.stdout.readline() == "begun\n"
        job.terminate()  # its trap stands since before the run began
        assert job.communicate(timeout=60) == ("ended\n", None)
        assert job.returncode == 143
    finally:
        with suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
