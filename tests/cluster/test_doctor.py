"""What the doctor finds on machines that are well, and on those that are not."""

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from ray.exceptions import GetTimeoutError

from cluster.doctor import check_compute, check_room, check_token, check_versions
from cluster.inspector import Compute, Inspector, Machine
from cluster.preflight import Request

ROOT = Path(__file__).parents[2]
HERE = Machine({"python": "3.11.7", "ray": "2.60.0", "torch": "2.13.0", "kibitz": "0.1.0"}, "ab12", 50_000, 0.3)
TINY = ("model.n_layer=1", "model.n_embd=16", "model.n_head=2", "cluster.num_cpus=4", "cluster.num_gpus=0")


def other(**versions: str) -> Machine:
    return replace(HERE, versions=HERE.versions | versions)


@pytest.mark.parametrize(
    ("machine", "status", "words"),
    [
        (HERE, "ok", "python 3.11.7, ray 2.60.0"),
        (other(torch="2.12.0"), "warn", "torch 2.12.0 (driver: 2.13.0)"),
        (other(ray="2.59.0"), "fail", "ray 2.59.0 (driver: 2.60.0)"),
        (other(torch=""), "fail", "torch missing (driver: 2.13.0)"),
        (replace(HERE, code="cd34"), "fail", "other code of kibitz: cd34 (driver: ab12)"),
    ],
)
def test_other_software_than_the_drivers_is_named(machine: Machine, status: str, words: str) -> None:
    (finding,) = check_versions(HERE, {"10.0.0.2": machine})
    assert (finding.status, finding.where) == (status, "10.0.0.2") and words in finding.found
    assert bool(finding.mend) == (status != "ok")


def test_a_disk_that_ray_will_not_write_to_fails_and_a_small_one_warns() -> None:
    machines = {"full": replace(HERE, disk_share=0.97), "small": replace(HERE, disk_mb=900), "well": HERE}
    assert [finding.status for finding in check_room(machines)] == ["fail", "warn", "ok"]


@pytest.mark.parametrize(
    ("seen", "status", "words"),
    [
        (Compute("cpu", 0, 4), "fail", "torch sees none"),
        (Compute("H200", 140_000, 4), "ok", "H200, 140,000 MB, 4 threads"),
        (Compute("H200", 140_000, 64), "warn", "get in each other's way"),
        (GetTimeoutError("..."), "warn", "got no place"),
        (RuntimeError("CUDA error: no kernel image"), "fail", "no kernel image"),
    ],
)
def test_what_torch_sees_is_judged_by_what_the_role_is_lent(seen: Compute | Exception, status: str, words: str) -> None:
    finding = check_compute("learner", Request("learner", 1, 4, 1), seen)
    assert finding.status == status and words in finding.found


def test_a_gpu_that_is_too_small_for_those_who_share_it_fails_with_what_to_lower() -> None:
    players = Request("generators", 14, 1, 0.5, gpu_mb=28_000)
    well = check_compute("generators", players, Compute("H100", 81_559, 1))
    assert well.status == "ok" and "2 on one GPU may take 56,000 MB" in well.found
    small = check_compute("generators", players, Compute("L4", 23_034, 1))
    assert small.status == "fail" and small.mend.startswith("give each a larger share (cluster.generator_gpus)")


@pytest.mark.parametrize(("code", "status"), [(401, "ok"), (200, "warn")])
def test_a_cluster_that_asks_for_no_token_is_named(code: int, status: str) -> None:
    class Dashboard(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code)
            self.end_headers()

        def log_message(self, *said: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Dashboard) as server:
        threading.Thread(target=server.serve_forever).start()
        finding = check_token(f"127.0.0.1:{server.server_port}")
        server.shutdown()
    assert finding.status == status and ("asks for none" in finding.found) == (status == "warn")
    assert "no answer" in check_token("127.0.0.1:9").found


def test_marks_leave_nothing_behind_and_name_what_is_in_the_way(tmp_path: Path) -> None:
    one, two = Inspector(), Inspector()
    shared = str(tmp_path / "new/run")
    assert one.mark(shared, "000") == two.mark(shared, "001") == ""
    assert one.unseen(shared, ["000", "001", "002"]) == ["002"]
    two.clean(shared)
    one.clean(shared)
    assert list(tmp_path.iterdir()) == []
    assert one.mark(shared, "000") == ""
    (tmp_path / "new/begun").touch()
    one.clean(shared)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["begun"]
    (tmp_path / "file").touch()
    assert "Not a directory" in one.mark(str(tmp_path / "file/run"), "000")
    assert one.unreachable([("127.0.0.1", 9)]) == [("127.0.0.1", 9)]


def doctor(*arguments: str, **env: str) -> tuple[int, dict[tuple[str, str], list[str]]]:
    """Exit code of ``kibitz doctor``, and the lines by status and check."""
    command = [sys.executable, "-m", "selfplay.doctor", *arguments]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True, timeout=120)
    assert done.stderr in ("", "starting Ray\n"), done
    lines: dict[tuple[str, str], list[str]] = {}
    for line in done.stdout.splitlines():
        status, check, *rest = line.split(maxsplit=2)
        lines.setdefault((status, check), []).extend(rest)
    return done.returncode, lines


@pytest.mark.chaos  # for its length
def test_a_laptop_and_a_run_that_fits_are_well_and_left_as_they_were(tmp_path: Path) -> None:
    code, lines = doctor(*TINY, "experiment=hearts_teacher", f"run.dir={tmp_path}/run")
    assert code == 0 and not any(status == "fail" for status, _ in lines)
    checks = ("run", "connect", "place", "memory", "versions", "room", "ports", "storage", "device")
    assert all(("ok", check) in lines for check in checks), lines
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.chaos  # for its length
def test_everything_that_is_wrong_with_a_laptop_is_named_at_once() -> None:
    arguments = ("experiment=hearts_teacher", "run.dir=/proc/run", "cluster.learner_gpus=1", "cluster.generators=1")
    code, lines = doctor(*TINY, *arguments, "selfplay.branches=0", OMP_NUM_THREADS="2")
    assert code == 1
    assert "learner.loss.branch_weight=0.1: selfplay.branches=0 makes none" in lines["fail", "run"][0]
    assert "no room for 1 learner" in lines["fail", "place"][0]
    assert "cannot write to /proc/run" in lines["fail", "storage"][0]
    assert "no machine has one" in lines["fail", "device"][0]
    assert "2 threads, and 1 CPUs" in lines["warn", "threads"][0]


TWO_MACHINES = """
import json, os, sys
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
import ray
from ray.cluster_utils import Cluster
from cluster.doctor import examine
from cluster.preflight import Request
temp_dir, storage = sys.argv[1:]
os.makedirs("/tmp/ray", exist_ok=True)  # where Cluster notes the head's address, whatever temp_dir is
small = {"num_cpus": 1, "object_store_memory": 80_000_000}
cluster = Cluster(initialize_head=True, head_node_args=small | {"temp_dir": temp_dir, "include_dashboard": False})
cluster.add_node(**small)
ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
print(json.dumps([vars(finding) for finding in examine([Request("generators", 2, 1)], storage)]))
ray.shutdown()
cluster.shutdown()
"""


@pytest.mark.chaos  # for its length
def test_two_machines_are_checked_against_each_other(tmp_path: Path) -> None:
    with TemporaryDirectory(prefix="kd-", dir="/tmp", ignore_cleanup_errors=True) as temp_dir:
        done = subprocess.run(
            [sys.executable, "-c", TWO_MACHINES, temp_dir, str(tmp_path / "run")],
            cwd=ROOT, capture_output=True, text=True, timeout=120, env={**os.environ, "RAY_AUTH_MODE": "disabled"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    both = json.loads(done.stdout.splitlines()[0])
    assert {finding["status"] for finding in both} == {"ok"}
    for check in ("versions", "room", "ports", "storage"):
        assert len({finding["where"] for finding in both if finding["check"] == check}) == 2
    assert list(tmp_path.iterdir()) == []
