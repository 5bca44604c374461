"""An hour of iterations in one command, whose memory must stay flat: ``make soak`` or ``python -m tests.soak``.

``python -m tests.soak [--seconds N]`` runs self-play with iterations of one size, and samples the resident memory of
the driver and of each actor. The last line is JSON: for each process the memory a quarter of the way, when everything
is loaded, and at the end, in MB, and the slope of a line through the samples between. The exit code is 1 where one grew
by more than ``LIMIT_MB`` or a tenth, whichever is more.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from tests.selfplay.commands import TINY, Command, actors

SETTINGS = (
    *TINY,
    "selfplay.iterations=100000",
    "selfplay.initial_games=200",
    "selfplay.games_per_iteration=200",
    "selfplay.games_per_shard=50",
    "selfplay.pool_size=4",
    "learner.max_steps=50",
    "evaluation.curve=[{players: [argmax_val, random], deals: 4}]",
    "cluster.num_cpus=6",
    "cluster.generators=2",
)
ROLES = ("Generator", "Learner", "Evaluator")
EVERY_SECONDS = 5.0
LIMIT_MB = 50


def resident_mb(pid: int) -> float:
    """Resident memory of a process without what it shares with others through files, in MB; 0 for one that is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def sampled(command: Command, seconds: float) -> dict[str, list[tuple[float, float]]]:
    """(seconds, MB) of each process, named by its role and number."""
    samples, began = defaultdict[str, list[tuple[float, float]]](list), time.monotonic()
    names: dict[int, str] = {command.pid: "driver"}
    while (passed := time.monotonic() - began) < seconds and command.poll() is None:
        for role in ROLES:
            for actor in actors(command.pid, role):
                names.setdefault(actor.pid, f"{role.lower()} {actor.pid}")
        for pid, name in names.items():
            if megabytes := resident_mb(pid):
                samples[name].append((passed, megabytes))
        time.sleep(EVERY_SECONDS)
    return samples


def summary(samples: list[tuple[float, float]]) -> dict[str, float]:
    """How the memory of one process went, from a quarter of its time on."""
    late = np.array(samples[len(samples) // 4 :])
    tenth = max(len(late) // 10, 1)
    slope = np.polyfit(late[:, 0], late[:, 1], 1)[0] * 3600 if len(late) > 1 else 0.0
    return {
        "first_mb": round(float(np.median(late[:tenth, 1])), 1),
        "last_mb": round(float(np.median(late[-tenth:, 1])), 1),
        "mb_per_hour": round(float(slope), 1),
        "samples": len(late),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kibitz-soak-") as directory:
        run = Path(directory) / "run"
        command = Command("selfplay", *SETTINGS, f"run.dir={run}", log=Path(directory) / "log")
        try:
            samples = sampled(command, given.seconds)
            ended = command.poll()
            if ended is not None:
                raise SystemExit(f"the command ended with {ended}:\n{command.output}")
            iterations = len(list(run.glob("iterations/*/metrics.json")))
        finally:
            command.terminate()
    memory = {name: summary(values) for name, values in samples.items()}
    grown = [
        name
        for name, figures in memory.items()
        if figures["last_mb"] - figures["first_mb"] > max(LIMIT_MB, figures["first_mb"] / 10)
    ]
    print(json.dumps({"seconds": given.seconds, "iterations": iterations, "memory": memory, "grown": grown}))
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
