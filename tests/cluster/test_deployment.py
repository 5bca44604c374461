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

from cluster.watching.metrics import METRICS

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


def test_the_kubernetes_job_has_the_pinned_ray_and_keeps_actors_off_the_head() -> None:
    spec = read("kuberay/rayjob.yaml")["spec"]
    pinned = re.search(r"^ray==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned is not None and spec["rayClusterSpec"]["rayVersion"] == pinned[1]
    assert spec["rayClusterSpec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    assert read("launcher/aws.yaml")["available_node_types"]["head"]["resources"] == {"CPU": 0}


def test_the_kubernetes_jobs_machines_hold_what_it_asks() -> None:
    preset = yaml.safe_load((ROOT / "conf/cluster/job.yaml").read_text())
    spec = read("kuberay/rayjob.yaml")["spec"]
    words = spec["entrypoint"].split()
    assert "cluster=job" in words and "run.dir=/" in spec["entrypoint"]
    asked = preset | {key.removeprefix("cluster."): float(value) for key, _, value in map(_cut, words)
                      if key.startswith("cluster.") and value.replace(".", "").isdigit()}  # fmt: skip
    groups = {group["groupName"]: group for group in spec["rayClusterSpec"]["workerGroupSpecs"]}
    for name, role, actors in (("gpu-learner", "learner", 1), ("gpu-selfplay", "generator", asked["generators"]),
                               ("cpu-evaluators", "evaluator", asked["evaluators"])):  # fmt: skip
        machine = groups[name]["template"]["spec"]["containers"][0]["resources"]["requests"]
        count = max(groups[name]["replicas"], 1)
        assert int(machine["cpu"]) * count >= actors * asked.get(f"{role}_cpus", 1)
        assert int(machine.get("nvidia.com/gpu", 0)) * count >= actors * asked[f"{role}_gpus"]


def _cut(word: str) -> tuple[str, str, str]:
    return word.partition("=")


def test_the_kubernetes_job_scales_and_tolerates_what_its_machines_are_marked_with() -> None:
    spec = read("kuberay/rayjob.yaml")["spec"]
    cluster = spec["rayClusterSpec"]
    assert cluster["enableInTreeAutoscaling"] is True and "cluster.check_resources=false" in spec["entrypoint"]
    assert cluster["autoscalerOptions"].keys() <= {"idleTimeoutSeconds", "upscalingMode", "resources", "version"}
    for group in cluster["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
        pod = group["template"]["spec"]
        tolerated = {toleration["key"] for toleration in pod["tolerations"]}
        assert set(pod.get("nodeSelector", {})) <= tolerated
        assert ("nvidia.com/gpu" in pod["containers"][0]["resources"]["limits"]) == ("nvidia.com/gpu" in tolerated)


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
