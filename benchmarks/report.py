"""What every benchmark prints: a table for people, and as its last line JSON for machines."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Case:
    """One measured comparison: ours against a named peer or naive version in the same run."""

    benchmark: str
    case: str
    ours: float
    """In ``unit``."""
    theirs: float
    """In ``unit``."""
    unit: str
    """Such as ``hands/s``; more is better unless ``less_is_better``."""
    less_is_better: bool = False
    interval: tuple[float, float] | None = None
    """95 % interval of ours less theirs, where it is an estimate."""

    @property
    def ratio(self) -> float:
        """How many times better ours is."""
        return self.theirs / self.ours if self.less_is_better else self.ours / self.theirs


def machine() -> str:
    """Processor model and the number of cores this process may use."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = models[0] if models else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores"


def report(cases: Sequence[Case]) -> None:
    """Print the table, and the last line: a JSON list of objects with the keys benchmark, case, ours, theirs, ratio,
    unit, machine, and interval where there is one."""
    where = machine()
    table = Table(title=where, title_justify="left")
    for heading in ("benchmark", "case", "unit"):
        table.add_column(heading)
    for heading in ("ours", "theirs", "ratio"):
        table.add_column(heading, justify="right")
    records = []
    for case in cases:
        numbers = [f"{value:,.4g}" if value < 100 else f"{value:,.0f}" for value in (case.ours, case.theirs)]
        spread = "" if case.interval is None else " ({:+.3f}..{:+.3f})".format(*case.interval)
        table.add_row(case.benchmark, case.case + spread, case.unit, *numbers, f"{case.ratio:.1f}x")
        record = {**asdict(case), "ratio": round(case.ratio, 3), "machine": where}
        del record["less_is_better"]
        if case.interval is None:
            del record["interval"]
        records.append(record)
    Console().print(table)
    print(json.dumps(records))
