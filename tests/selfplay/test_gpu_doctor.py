"""``kibitz doctor --gpu`` as far as it goes without a GPU: every probe on a CPU, and what is made of their results."""

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from games.hearts.game import HeartsGame
from learner.config import EngineConfig
from learner.inference.engine import QueryEngine
from selfplay.config import DoctorConfig, DoctorRunConfig
from selfplay.gpu import checks, probes
from selfplay.gpu.checks import advised, check_machine, check_memory, check_places, measured, probed
from selfplay.gpu.isolated import Peers, ProbeError, isolated
from tests.learner.material import tiny_net
from tests.selfplay import broken_probes
from tests.selfplay.material import over, tiny_config
from tests.test_repository import build_command

ROOT = Path(__file__).parents[2]
H100 = ("H100", 81_559, (9, 0))


def tiny() -> DoctorConfig:
    config = DoctorConfig(**{**vars(tiny_config("")), "run": DoctorRunConfig()}, gpu_seconds=0.2)
    return over(config, "cluster.generator_gpus=0.5; cluster.learner_gpus=1; engine.device=auto; engine.cache_mb=64")


@pytest.mark.slow
def test_everything_is_measured_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_this_process(probe: Any, *arguments: Any, count: int = 1) -> list[dict[str, float]]:
        if probe is probes.add_up:
            return isolated(probe, *arguments, 1000, count=count)
        return [probe(Peers(0, 1, threading.Barrier(1), None), *arguments)] * count

    monkeypatch.setattr(checks, "isolated", in_this_process)
    monkeypatch.setattr(probes.torch, "set_num_threads", lambda count: None)  # as it would stay so here
    monkeypatch.setattr(checks, "_BATCHES", (16,))
    monkeypatch.setattr(checks, "_cpus", lambda: 16)
    found = {(one.check, one.where): one for one in measured(tiny(), "cpu", 2, 81_559)}
    assert {key for key, one in found.items() if one.status == "fail"} == set(), found
    counts = Counter(check for check, _ in found)
    assert counts.pop("speed") in (5, 6)  # 2, 4 and 16 with graphs or without, and 2 as the preset has it
    assert counts == {"answers": 2, "settings": 1, "memory": 1, "training": 1, "group": 1, "place": 3}
    errors = found["answers", "graphs"].values
    assert {name.split()[0] for name in errors} == {"told", "board", "preset"} and 0 < max(errors.values()) < 0.1
    for check, where in found:
        assert check not in ("speed", "training", "group") or max(found[check, where].values.values()) > 0, where


@pytest.mark.parametrize(("batch", "status"), [(64, "fail"), (4096, "warn")])
def test_a_failure_of_more_than_the_preset_asks_for_is_a_warning(monkeypatch, batch: int, status: str) -> None:
    def broken(probe: Any, *arguments: Any, count: int = 1) -> list[dict[str, float]]:
        if probe is probes.training:
            raise ProbeError("OutOfMemoryError")
        return [{"decisions/s": 1.0, "MB": 1.0}] * count if probe is probes.play else [{}]

    monkeypatch.setattr(checks, "isolated", broken)
    monkeypatch.setattr(checks, "_BATCHES", (batch,))
    config = over(tiny(), "learner.batch_size=64")
    assert [one.status for one in measured(config, "cpu", 0, 81_559) if one.check == "training"] == [status]


@pytest.mark.parametrize(
    ("probe", "count", "words"),
    [("crash", 1, "crashed (killed by signal 6)"), ("refuse", 2, "illegal memory"), ("hang", 2, "hangs: no answer")],
)
def test_a_probe_that_crashes_or_hangs_is_a_line_that_fails(
    probe: str, count: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "isolated", partial(isolated, limit=5 if probe == "hang" else 120))
    finding = probed("answers", "graphs", "engine.cuda_graphs=false", getattr(broken_probes, probe), count=count)
    assert (finding.status, finding.mend) == ("fail", "engine.cuda_graphs=false") and words in finding.found
    assert "\n" not in finding.found


def test_one_wrong_row_of_one_shape_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(QueryEngine):
        def query(self, handles: Any, *asked: Any) -> Any:
            answer = super().query(handles, *asked)
            answer.value[3:4] += 0.1 * (len(handles) == 20 and self.pool.config.max_batch == 77)
            return answer

    game = HeartsGame()
    asked = [EngineConfig("cpu", cache_mb=64), EngineConfig("cpu", cache_mb=64, max_batch=77)]
    monkeypatch.setattr(probes, "QueryEngine", Wrong)
    right, wrong = probes.errors_of(tiny_net(game), game, asked, checks._FEW)
    assert right < 1e-4 and wrong > 1e-3


@pytest.mark.parametrize("wrong", [{"told fp32": 0.01}, {"told bf16": 1.0}, {"told fp32": float("nan")}])
def test_wrong_answers_fail_with_what_to_take(wrong: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "isolated", lambda probe, *arguments, count: [wrong])
    eager, graphs = checks._answers(tiny(), "cuda")
    assert eager.status == graphs.status == "fail"
    assert graphs.mend == "engine.cuda_graphs=false" and "engine.precision=fp32" in eager.mend


@pytest.mark.parametrize(
    ("gpus", "cuda", "said", "expected"),
    [
        ([], "", "", {"fail gpu": "no GPU: torch.cuda.is_available() is False; driver unknown"}),
        ([], "13.0", "550.54.15, Disabled, Default", {"fail gpu": "driver 550.54.15; torch 2.13 is built for CUDA 13"}),
        ([H100], "13.0", "550.54.15, Disabled, Default", {"fail driver": "cuDNN 9.20", "ok gpu": "H100, 81,559 MB"}),
        ([H100], "13.0", "580.65.06, Enabled, Default", {"ok driver": "580.65.06", "warn gpu": "capability 9.0"}),
        ([H100], "13.0", "[Unknown Error], [N/A], Default", {"ok driver": "Unknown Error"}),
        ([H100], "12.6", "550.54, [N/A], Exclusive_Process", {"ok driver": "550.54", "fail mps": "for one process"}),
        (
            [("V100", 16_000, (7, 0))],
            "12.6",
            "",
            {"ok driver": "unknown", "warn gpu": "V100", "warn mps": "take turns"},
        ),
    ],
)
def test_what_is_wrong_with_a_machine_is_named(
    gpus: list[Any], cuda: str, said: str, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    found = {f"{one.status} {one.check}": one for one in check_machine(seen(gpus, cuda), said)}
    for line, words in expected.items():
        assert words in found[line].found and bool(found[line].mend) == (not line.startswith("ok")), found
    (tmp_path / "control").touch()
    assert not gpus or "ok" in {one.status for one in check_machine(seen(gpus, cuda), said) if one.check == "mps"}


def seen(gpus: list[Any], cuda: str) -> dict[str, Any]:
    return {"torch": "2.13", "cuda": cuda, "cudnn": 92000, "gpus": gpus}


def test_settings_that_are_faster_than_the_presets_are_advised() -> None:
    config = build_command("doctor", "experiment=hearts_paper", "cluster=node8")  # graphs, two on a GPU
    rates = {(False, 1): 20_000.0, (True, 1): 60_000.0, (True, 2): 80_000.0, (True, 4): 85_000.0, (True, 16): 40_000.0}
    assert advised(config, rates).status == "ok"
    four = advised(config, rates | {(True, 4): 120_000.0})
    assert four.status == "warn" and four.mend.startswith(
        "engine.cuda_graphs=true cluster.generator_gpus=0.25 selfplay.games_per_table=512 engine.cache_mb=1280"
    )
    slow = {(graphs, count): rate * (1 if graphs else 5) for (graphs, count), rate in rates.items()}
    assert advised(config, slow).mend.startswith("engine.cuda_graphs=false cluster.generator_gpus=1")


def test_memory_is_that_of_the_estimate_and_not_more() -> None:
    config = build_command("doctor", "experiment=hearts_paper", "cluster=node8")
    assert check_memory(config, 81_559, 4_000.0).status == "ok"
    assert check_memory(config, 81_559, 40_000.0).status == "warn"
    small = check_memory(config, 8_000, 4_000.0)
    assert small.status == "fail" and small.found.startswith("1 generators fit, the preset has 2")
    assert check_memory(over(config, "cluster.generator_gpus=0; engine.device=cpu"), 81_559, 0.0).status == "warn"


def test_every_gpu_of_a_node_of_eight_has_its_actors_and_an_idle_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "machine_bytes", lambda: 2**37)
    config = build_command("doctor", "experiment=hearts_paper", "cluster=node8", "cluster.num_cpus=64")
    found = list(check_places(config, 8, 81_559))
    assert [(one.status, one.where) for one in found] == [
        ("ok", stage) for stage in ("generators", "learner", "evaluators")
    ]
    assert "GPU 6: 2 generators, GPU 7: none" in found[0].found
    assert found[1].found.startswith("GPU 0: 1 learner, GPU 1: 2 generators") and "none" not in found[1].found
    assert "GPU 6: 4 evaluators" in found[2].found
    two = build_command("doctor", "experiment=hearts_paper", "cluster=job", "cluster.num_cpus=64")
    *_, idle = check_places(two, 8, 81_559)
    assert (idle.status, idle.where) == ("warn", "GPU 3, 4, 5, 6, 7")
    assert next(one.status for one in check_places(two, 1, 8_000)) == "fail"  # more than the card holds


@pytest.mark.slow
def test_a_machine_without_a_gpu_is_told_so_in_a_line() -> None:
    command = [sys.executable, "-m", "selfplay.doctor", "--gpu"]
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    first, *_, last = done.stdout.splitlines()
    assert done.returncode == 1 and done.stderr == ""
    assert first.startswith("fail  gpu       no GPU: torch.cuda.is_available() is False; driver ")
    (finding,) = json.loads(last)["findings"]
    assert finding["status"] == "fail" and finding["mend"]
