"""Games beside training against stages that take turns: ``python -m benchmarks.overlap [--full]``.

Each case is a whole command, ``python -m selfplay`` with the networks and players of ``experiment=hearts_teacher``: an
iteration 0 that is not timed, then four iterations without tournaments, timed from the command's start to its end.

``overlap``: one generator and the learner, a thread and a core each, at work at once. "Theirs" is the same run whose
stages take turns on one core, where the other device of a cluster would idle.

``overlap_both_cores``: "ours" as before; "theirs" is the run whose stages take turns on both cores, with two
generators and two threads of the learner.

The strength of the last networks, 100 deals against ``hearts_rules`` each, is printed before the table.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from benchmarks.report import Case, report
from benchmarks.scaling import seconds
from search.arena.tournament.report import interval, signed
from search.arena.tournament.result import TournamentResult, lead

ITERATIONS = 4
RUN = (
    "experiment=hearts_teacher",
    "learner=small",  # with the next three lines: what the figures in docs/performance.md were measured with
    "learner.loss.branch_weight=0.5",
    "initial_learner.learning_rate=2e-3",
    "selfplay.labels=''",
    "learner.policy.kind=played",
    "selfplay.population=true",
    "selfplay.gate.deals=0",
    "selfplay.replay_games=0",
    "selfplay.games_per_shard=100",
    "evaluation.curve=[]",
    "cluster.num_gpus=0",
    "engine.device=cpu",
    "learner.device=cpu",
)
ONE_EACH = ("cluster.generators=1", "learner.num_threads=1")
TWO = ("cluster.generators=2", "learner.num_threads=2")
LEAD = "evaluation.final=[{players: [argmax_val, hearts_rules], deals: 100}]"


def minutes(directory: Path, games: int, settings: Sequence[str], cores: Collection[int]) -> float:
    """Minutes that the timed iterations of a run take on these cores; prints how strong its last network is."""
    line = [sys.executable, "-m", "selfplay", *RUN, *settings, f"run.dir={directory}"]
    line += [f"selfplay.initial_games={games}", f"selfplay.games_per_iteration={games}"]
    seconds([*line, "selfplay.iterations=0", "evaluation.final=[]"], cores)
    line.append(f"selfplay.iterations={ITERATIONS}")
    took = seconds([*line, "evaluation.final=[]"], cores)
    seconds([*line, LEAD])
    (record,) = json.loads((directory / "results/tournament.json").read_text())
    ahead, low, high = lead(TournamentResult.from_record(record), column=0)
    print(f"{directory.name}: {took:.0f} s, {signed(ahead)} ({interval(low, high)}) points ahead of hearts_rules")
    return took / 60


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="four times as many games")
    games = 1600 if parser.parse_args().full else 400
    both = sorted(os.sched_getaffinity(0))[:2]
    if len(both) < 2:
        raise SystemExit("stages side by side need two cores; this process may use one")
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        overlapping = minutes(root / "overlapping", games, (*ONE_EACH, "selfplay.staleness=1"), both)
        cases = [
            Case("overlap", name, overlapping, minutes(root / name, games, settings, cores), "minutes", True)
            for name, settings, cores in (
                ("overlap", ONE_EACH, both[:1]),
                ("overlap_both_cores", TWO, both),
            )
        ]
    report(cases)


if __name__ == "__main__":
    main()
