"""Deployment files parse, and say what the code says."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.metrics import METRICS

ROOT = Path(__file__).parents[2]
FILES = sorted(path for ending in ("yaml", "yml") for path in (ROOT / "cluster").rglob(f"*.{ending}"))
DASHBOARD = ROOT / "cluster/grafana/dashboards/kibitz.json"


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / "cluster" / name).read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_is_yaml_with_content(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text()), dict)


def test_the_dashboard_shows_every_metric_and_no_other() -> None:
    text = DASHBOARD.read_text()
    shown = set(re.findall(r"ray_(kibitz_\w+)", text))
    assert shown == {f"kibitz_{name}" for name in METRICS}
    panels = json.loads(text)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        for target in panel["targets"]:
            expression = target["expr"]
            assert expression.count("(") == expression.count(")") and expression.count("{") == expression.count("}")
            assert re.search(r"\b(max|sum) by \(run(, role)?\)", expression), "series of one run on several machines"


def test_the_dashboard_reads_the_data_source_that_is_provisioned() -> None:
    (source,) = read("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    dashboard = json.loads(DASHBOARD.read_text())
    assert {panel["datasource"]["uid"] for panel in dashboard["panels"]} == {source["uid"]}
    assert read("compose.yaml")["services"].keys() == {"prometheus", "grafana"}


def test_the_kubernetes_job_has_the_pinned_ray_and_keeps_actors_off_the_head() -> None:
    spec = read("kuberay/rayjob.yaml")["spec"]
    pinned = re.search(r"^ray==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned is not None and spec["rayClusterSpec"]["rayVersion"] == pinned[1]
    assert spec["rayClusterSpec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    assert read("launcher/aws.yaml")["available_node_types"]["head"]["resources"] == {"CPU": 0}


def test_the_kubernetes_jobs_machines_hold_what_its_preset_asks() -> None:
    preset = yaml.safe_load((ROOT / "conf/cluster/job.yaml").read_text())
    spec = read("kuberay/rayjob.yaml")["spec"]
    assert "cluster=job" in spec["entrypoint"] and "run.dir=/" in spec["entrypoint"]
    groups = {group["groupName"]: group for group in spec["rayClusterSpec"]["workerGroupSpecs"]}
    learner = groups["gpu-learner"]["template"]["spec"]["containers"][0]["resources"]["requests"]
    assert int(learner["cpu"]) >= preset["learner_cpus"]
    assert int(learner["nvidia.com/gpu"]) >= preset["learner_gpus"]
    workers = groups["gpu-selfplay"]
    machine = workers["template"]["spec"]["containers"][0]["resources"]["requests"]
    actors, share = preset["generators"] + preset["evaluators"], max(preset["generator_gpus"], preset["evaluator_gpus"])
    assert int(machine["cpu"]) * workers["replicas"] >= actors
    assert int(machine["nvidia.com/gpu"]) * workers["replicas"] >= actors * share > 0
