"""The first hour on a machine with GPUs: ``kibitz doctor --gpu`` runs probes one after the other and says of each what
was measured, and the setting to take."""

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cluster.doctor import Finding
from cluster.errors import UserError
from cluster.files.scratch import scratch
from cluster.memory import machine_bytes
from cluster.preflight import USABLE, Node, Request, preflight
from selfplay.config import DoctorConfig
from selfplay.generator import generator_settings
from selfplay.gpu.isolated import ProbeError, isolated
from selfplay.gpu.probes import SIZES, Sizes, add_up, answers, look, play, prepare, training
from selfplay.gpu_memory import CONTEXT_MB, gpu_memory
from selfplay.workers import stages_of

_DRIVERS = {"12": 525, "13": 580}
"""Major version of the CUDA that torch is built for -> the oldest driver that runs it."""
_MOST_ERROR = {"fp32": 1e-3, "bf16": 0.1}
"""Of answers, as a share of their spread: trunks on a CPU differ by 1e-6 and 0.03; other keys make 1."""
_FEW: Sizes = (1, 20), 2
"""Sizes of queries on a CPU, where only the command is tried."""
_BATCHES, _PROCESSES = (64, 256, 1024, 2048), (4, 16)
_BETTER = 1.1
"""Settings are advised that are so many times faster than the preset's."""


def gpu_findings(config: DoctorConfig) -> Iterator[Finding]:
    """Check this machine's GPUs; with ``engine.device=cpu`` try all of it on none."""
    if config.engine.device == "cpu":
        yield from measured(config, "cpu", 0, 0)
        return
    try:
        (seen,) = isolated(look)
    except ProbeError as error:
        yield Finding("fail", "gpu", "", f"torch cannot compute on it: {error}", "install a driver that fits torch")
        return
    yield from check_machine(seen, _driver())
    if seen["gpus"]:
        yield from measured(config, "cuda", len(seen["gpus"]), min(mb for _, mb, _ in seen["gpus"]))


def _driver() -> str:
    """Driver, MIG and compute mode as ``nvidia-smi`` says them of the first GPU; empty where it says nothing."""
    ask = ["nvidia-smi", "--query-gpu=driver_version,mig.mode.current,compute_mode", "--format=csv,noheader"]
    try:
        return subprocess.run(ask, capture_output=True, text=True, timeout=60, check=True).stdout.partition("\n")[0]
    except (OSError, subprocess.SubprocessError):
        return ""


def check_machine(seen: Mapping[str, Any], said: str) -> Iterator[Finding]:
    """Software and GPUs, as ``look`` and ``_driver`` have them."""
    driver, mig, mode = (said.split(", ") + [""] * 3)[:3]
    oldest = _DRIVERS.get(seen["cuda"].partition(".")[0], 0)
    built = f"torch {seen['torch']} is built " + (f"for CUDA {seen['cuda']}" if seen["cuda"] else "without CUDA")
    found = f"driver {driver or 'unknown (nvidia-smi says nothing)'}; {built}"
    newer = f"install NVIDIA's driver {oldest} or newer, or a torch for an older CUDA; a container must be given GPUs"
    if not seen["gpus"]:
        mend = newer if seen["cuda"] else "install a build of this torch with CUDA"
        yield Finding("fail", "gpu", "", f"no GPU: torch.cuda.is_available() is False; {found}", mend)
        return
    major, minor = divmod(seen["cudnn"], 10_000)
    number = driver.partition(".")[0]
    old = number.isdigit() and int(number) < oldest
    yield Finding("fail" if old else "ok", "driver", "", f"{found}, cuDNN {major}.{minor // 100}", newer if old else "")
    for index, (name, mb, capability) in enumerate(seen["gpus"]):
        found, bf16 = "{}, {:,} MB, compute capability {}.{}".format(name, mb, *capability), capability >= (8, 0)
        mend = "" if bf16 else "engine.precision=fp32 learner.precision=fp32: it has no bfloat16"
        mend = "nvidia-smi -mig 0: this is a part of a GPU (MIG)" if mig == "Enabled" else mend
        yield Finding("warn" if mend else "ok", "gpu", str(index), found, mend)
    if Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"), "control").exists():
        yield Finding("ok", "mps", "", "runs: processes compute on a GPU at once")
    else:
        alone = "Exclusive" in mode
        found = "does not run: " + ("the GPU is for one process" if alone else "processes take turns on a GPU")
        mend = "nvidia-cuda-mps-control -d before ray start"
        yield Finding("fail" if alone else "warn", "mps", "", found, mend)


def measured(config: DoctorConfig, device: str, gpus: int, gpu_mb: int) -> Iterator[Finding]:
    """Everything that is computed. ``device="cpu"`` does it without a GPU, and then so many are pretended."""
    with scratch("kibitz-gpu-") as folder:
        ready = probed("preset", "", "check the run first: kibitz doctor with run.dir", prepare, config, str(folder))
        if ready.status == "fail":
            yield ready
            return
        yield from _answers(config, device)
        yield from _speed(config, str(folder), device, gpu_mb)
        for batch in _BATCHES if device == "cuda" else _BATCHES[:1]:
            where, work = f"batches of {batch}", (config, str(folder), device, batch, config.gpu_seconds)
            found = probed("training", where, "lower learner.batch_size", training, *work)
            yield _tried(found, batch > config.learner.batch_size)
    if gpus > 1:
        yield probed("group", "two learners", "cluster.learners=1; NCCL_DEBUG=INFO says more", add_up, device, count=2)
    yield from check_places(config, gpus, gpu_mb)


def probed(
    check: str,
    where: str,
    mend: str,
    probe: Callable[..., dict[str, float]],
    *arguments: Any,
    count: int = 1,
    fine: Callable[[Mapping[str, float]], bool] = lambda values: True,
) -> Finding:
    """A finding with the sums over what ``count`` processes have measured; a failure with ``mend`` where one has not,
    or the sums are not ``fine``."""
    try:
        results = isolated(probe, *arguments, count=count)
    except ProbeError as error:
        return Finding("fail", check, where, str(error), mend)
    values = {name: sum(result[name] for result in results) for name in results[0]}
    found = ", ".join(
        f"{value:,.0f} {name}" if value >= 100 else f"{value:.4g} {name}" for name, value in values.items()
    )
    well = fine(values)
    return Finding("ok" if well else "fail", check, where, found, "" if well else mend, values)


def _answers(config: DoctorConfig, device: str) -> Iterator[Finding]:
    def right(errors: Mapping[str, float]) -> bool:
        return all(error <= _MOST_ERROR[name.split()[-1]] for name, error in errors.items())

    sizes = SIZES if device == "cuda" else _FEW
    eager = "engine.precision=fp32 where only bf16 is wrong, else engine.device=cpu"
    for where, graphs, mend in (("eager", False, eager), ("graphs", True, "engine.cuda_graphs=false")):
        yield probed("answers", where, mend, answers, config, device, graphs, sizes, fine=right)


def _a_gpu(config: DoctorConfig) -> int:
    """Generators of the preset on one GPU."""
    share = config.cluster.generator_gpus
    return int(1 / min(share, 1.0) + 1e-6) if share else 1


def _speed(config: DoctorConfig, folder: str, device: str, gpu_mb: int) -> Iterator[Finding]:
    """One generator without graphs and with, then several the better way; what is best, and what memory they take."""
    preset, found = _a_gpu(config), dict[tuple[bool, int], Finding]()

    def several(graphs: bool, count: int) -> Finding:
        where = f"{count} on a GPU, {'graphs' if graphs else 'eager'}"
        mend = "engine.cuda_graphs=false, or lower engine.cache_mb with selfplay.games_per_table"
        work = config, folder, device, graphs, preset / count, config.gpu_seconds
        found[graphs, count] = probed("speed", where, mend, play, *work, count=count)
        return found[graphs, count]

    yield several(False, 1)
    yield several(True, 1)
    graphs = _rate(found[True, 1]) > _rate(found[False, 1])
    own = config.engine.cuda_graphs, preset
    for case in sorted({own, (graphs, preset), *((graphs, count) for count in _PROCESSES if count <= _cpus())}):
        if case not in found:
            yield _tried(several(*case), case[1] > preset)
    yield advised(config, {settings: _rate(finding) for settings, finding in found.items()})
    taken = max(finding.values.get("MB", 0.0) for (_, count), finding in found.items() if count == preset)
    yield check_memory(config, gpu_mb, taken / preset)


def _tried(finding: Finding, more: bool) -> Finding:
    """A failure is none of the preset where ``more`` was tried than it asks for."""
    return replace(finding, status="warn") if more and finding.status == "fail" else finding


def _cpus() -> int:
    return len(os.sched_getaffinity(0))


def _rate(finding: Finding) -> float:
    return finding.values.get("decisions/s", 0.0)


def advised(config: DoctorConfig, rates: Mapping[tuple[bool, int], float]) -> Finding:
    """The fastest settings. ``rates``: (graphs, generators on a GPU) -> decisions a second, with one table in all."""
    preset, (graphs, count) = _a_gpu(config), max(rates, key=lambda settings: rates[settings])
    best, ours = rates[graphs, count], rates.get((config.engine.cuda_graphs, preset), 0.0)
    found = f"{best:,.0f} decisions/s, {ours:,.0f} with the preset's settings"
    if best <= _BETTER * ours:
        return Finding("ok", "settings", "", found)
    mend = f"engine.cuda_graphs={graphs}".lower()
    if count != preset:
        table, cache = (size * preset // count for size in (config.selfplay.games_per_table, config.engine.cache_mb))
        sizes = f"selfplay.games_per_table={table} engine.cache_mb={cache}"
        mend += f" cluster.generator_gpus={int(1000 / count) / 1000:g} {sizes}, and more or fewer cluster.generators"
    return Finding("warn", "settings", "", found, mend)


def check_memory(config: DoctorConfig, gpu_mb: int, taken: float) -> Finding:
    """How many generators fit on a GPU by the estimate, and whether one has ``taken`` more MB, its context left out."""
    preset, each = _a_gpu(config), gpu_memory(config).get("generators", 0)
    if not each:
        return Finding("warn", "memory", "", "this preset lends generators no GPU", "cluster=job or cluster=node8")
    fit = int(USABLE * gpu_mb / each)
    found = (
        f"{fit} generators fit, the preset has {preset}; each {each:,} MB estimated, {taken + CONTEXT_MB:,.0f} taken"
    )
    less = "lower engine.cache_mb with selfplay.games_per_table, or start fewer with a larger cluster.generator_gpus"
    status = "fail" if fit < preset else "warn" if taken + CONTEXT_MB > each else "ok"
    return Finding(status, "memory", "", found, "" if status == "ok" else less)  # type: ignore[arg-type]


def check_places(config: DoctorConfig, gpus: int, gpu_mb: int) -> Iterator[Finding]:
    """Which actors come to which GPU of this machine, stage after stage; earlier ones stay while there is room."""
    cpus = config.cluster.num_cpus or _cpus()
    here = [Node("here", cpus, gpus, machine_bytes() // 2**20, gpu_mb)]
    asked = [stage.request for stage in stages_of(config.cluster, generator_settings(config), gpu_memory(config))]
    kept, used = list[Request](), Counter[int]()
    for request in asked:
        try:  # as ``cluster.actors.stages`` keeps actors
            kept = [*kept, request]
            placed = preflight(kept, here)
        except UserError:
            kept = [request]
            try:
                placed = preflight(kept, here)
            except UserError as error:
                said, _, mend = str(error).splitlines()[0].partition("; ")
                yield Finding("fail", "place", request.name, said, mend)
                continue
        on = [Counter(one.name for one in actors) for actors in placed]
        used.update(number for number, actors in enumerate(on) if actors)
        each = [" ".join(f"{count} {name}" for name, count in actors.items()) or "none" for actors in on]
        found = (
            ", ".join(f"GPU {number}: {actors}" for number, actors in enumerate(each)) if request.gpus else "on CPUs"
        )
        yield Finding("ok", "place", request.name, found)
    if idle := [str(number) for number in range(gpus) if not used[number]]:
        mend = "cluster=job for two GPUs, cluster=node8 for eight; more cluster.generators"
        yield Finding("warn", "place", f"GPU {', '.join(idle)}", "no actor comes here", mend)
