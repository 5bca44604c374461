"""Check the machines, and the settings of a run, before it starts: ``kibitz doctor [KEY=VALUE ...]``.

::

    kibitz doctor cluster=existing cluster.address=10.0.0.1:6379 experiment=hearts_paper run.dir=/shared/run

It takes the arguments of ``python -m selfplay``, starts or joins Ray in the same way, and plays nothing. Without
``run.dir`` it checks only the machines. ``--gpu`` measures this machine's GPUs instead (``selfplay.gpu.checks``). It
ends with 1 if a check fails.
"""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from cluster import cli
from cluster.actors.connection import connect, nodes
from cluster.doctor import Finding, examine
from cluster.errors import UserError
from cluster.preflight import Node, Request, preflight
from cluster.provenance import installed_version
from games.registry import make_game
from learner import kinds
from learner.devices import on_lent_device
from learner.inference.pool import MIB
from selfplay.checks import check
from selfplay.config import DoctorConfig
from selfplay.generator import generator_settings
from selfplay.gpu.checks import gpu_findings
from selfplay.gpu_memory import gpu_memory, most_deals
from selfplay.workers import stages_of

_PROCESS_MB = 700
"""Resident memory of a process that has loaded torch and compiled the kernels."""


def main(config: DoctorConfig) -> None:
    """Print findings as they come; ends the process with 1 if a check failed."""
    failed, found = 0, []
    for finding in findings(config):
        failed += finding.status == "fail"
        found.append(asdict(finding))
        where = f"{finding.where}: " if finding.where else ""
        print(f"{finding.status:<5} {finding.check:<9} {where}{finding.found}", flush=True)
        if finding.mend:
            print(f"{'':<16}-> {finding.mend}", flush=True)
    print(f"{failed} checks failed" if failed else "no check failed")
    if config.gpu:
        about = {"date": time.strftime("%Y-%m-%d"), "command": ["kibitz", "doctor", *sys.argv[1:]]}
        print(json.dumps({**about, "kibitz": installed_version(), "findings": found}))
    if failed:
        sys.exit(1)


def findings(config: DoctorConfig) -> Iterator[Finding]:
    """Run all checks; stop at an unreachable cluster."""
    run = _check_run(config) if config.run.dir else None
    if run:
        yield run
    if config.gpu:
        yield from gpu_findings(config)
        return
    known = run is not None and run.status == "ok"
    gpu_mb = gpu_memory(config) if known else {}
    asked = [stage.request for stage in stages_of(config.cluster, generator_settings(config), gpu_mb)]
    try:
        with connect(config.cluster) as context:
            yield Finding("ok", "connect", "", f"{config.cluster.place}: {len(nodes())} machines")
            yield from _check_room(asked, nodes(), config.cluster.check_resources)
            if known:
                yield _check_memory(config, nodes())
            yield from examine(asked, config.run.dir, context.dashboard_url or "")
    except UserError as error:
        yield Finding("fail", "connect", "", str(error))


def _check_run(config: DoctorConfig) -> Finding:
    """The settings, and the disk of the run directory, as the run itself checks them."""
    try:
        notes = check(config)
    except UserError as error:
        return Finding("fail", "run", "", str(error))
    return Finding("ok", "run", config.run.dir, "; ".join(notes))


def _check_room(asked: Sequence[Request], available: Sequence[Node], strict: bool) -> Iterator[Finding]:
    """Whether every stage has room, and all stages together."""
    for request in asked:
        size = f"{request.count} with {request.cpus:g} CPUs and {request.gpus:g} GPUs each"
        try:
            preflight([request], available)
        except UserError as error:
            said, _, mend = str(error).splitlines()[0].partition("; ")
            yield Finding("fail" if strict else "warn", "place", request.name, f"{size}: {said}", mend)
        else:
            yield Finding("ok", "place", request.name, size)


def _check_memory(config: DoctorConfig, available: Sequence[Node]) -> Finding:
    """Estimated memory of all actors together, against Ray's."""
    game = make_game(config.game.name, config.game.options)
    tables = {"generator": config.selfplay.games_per_table, "evaluator": config.evaluation.table_size}
    counts = {"generator": config.cluster.generators, "evaluator": config.cluster.evaluators}
    kind, parts, total = kinds.find(config.model.kind), [], 0
    arch = kind.architecture(game, config.model)
    for role, count in counts.items():
        engine = on_lent_device(config.engine, getattr(config.cluster, f"{role}_gpus"))
        table = tables[role] * game.num_players * kind.history_bytes(arch, engine)
        cache = table if engine.device == "cpu" else 0
        each = _PROCESS_MB + cache // MIB
        parts.append(f"{count} x {each:,} MB for {role}s")
        total += count * each
    training = 2 * _PROCESS_MB + most_deals(config) * kind.deal_bytes(game, config.model) // MIB
    parts.append(f"{training:,} MB for the learner")
    total += training
    offered = sum(node.memory_mb for node in available)
    found = f"about {total:,} MB: {', '.join(parts)}; the machines offer {offered:,} MB"
    if total <= offered:
        return Finding("ok", "memory", "", found)
    mend = "lower selfplay.games_per_table, evaluation.table_size or the counts in cluster.*"
    return Finding("warn", "memory", "", found, mend)


if __name__ == "__main__":
    sys.argv = ["gpu=true" if word == "--gpu" else word for word in sys.argv]
    cli.run("doctor", DoctorConfig, main)
