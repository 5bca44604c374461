"""Play, train and measure, iteration after iteration: ``python -m selfplay experiment=hearts_demo run.dir=DIR``.

The same command resumes a stopped or killed run, and prints ``finished`` when nothing is left to do.
"""

import sys
from collections.abc import Sequence

from cluster import cli
from cluster.actors.connection import connect
from cluster.files import storage
from cluster.files.locks import run_lock
from cluster.watching import logs
from cluster.watching.metrics import MetricsLogger
from cluster.watching.trackers import open_tracker
from search.arena.tournament.report import wide_console
from selfplay.checks import check
from selfplay.config import TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.generator import generator_settings
from selfplay.gpu_memory import gpu_memory
from selfplay.loop import Loop
from selfplay.recorded import SETTINGS_FILE, plain
from selfplay.report.page import write_comparison, write_page
from selfplay.report.terminal import report
from selfplay.run_directory import RunDirectory
from selfplay.workers import RayWorkers, stages_at_once


def main(config: TrainConfig) -> float | None:
    """Check everything, do the missing work and print the results. Returns the lead of the run's network in the first
    final tournament, else in the first of the curve; None where nothing is measured."""
    notes = check(config)
    run = RunDirectory(config.run.dir)
    with run_lock(run.root):
        run.check(config)
        complete = run.finished(config.selfplay.iterations) and Evaluation(config, run).complete()
        if complete:
            print(f"{run.root}: finished")
        else:
            print(*notes, sep="\n", file=sys.stderr)
            _work(config, run)
        report(config, run, wide_console())
        page = run.result("report.html")
        if not complete or not storage.exists(page):
            write_page(run.root, game=config.game.name, player=config.selfplay.newest_player)
        print(f"report: {page}")
    evaluation = Evaluation(config, run)
    results = filter(None, (*evaluation.final(), *evaluation.curve(config.selfplay.iterations)))
    return next((result.advantage for result in results), None)


def compare(directory: str, tried: Sequence[str] = ()) -> None:
    """Write a page about all runs below the directory of a sweep, including runs of ``tried`` that never began."""
    runs = [f"{directory.rstrip('/')}/{name}" for name in storage.list_names(directory)]
    begun = [root for root in runs if storage.exists(f"{root}/{SETTINGS_FILE}")]
    if begun:
        page = write_comparison(sorted({*begun, *tried}), directory.rstrip("/") + "/comparison.html")
        print(f"comparison: {page}")


def _work(config: TrainConfig, run: RunDirectory) -> None:
    settings, gpu_mb = generator_settings(config), gpu_memory(config)
    at_once = stages_at_once(config)
    with connect(config.cluster), RayWorkers(config.cluster, settings, run.logs, at_once, gpu_mb) as workers:
        workers.check()
        run.begin(config)
        with (
            logs.kept(f"{run.logs}/driver.log"),
            MetricsLogger(run.root, config.game.name, open_tracker(config.tracker, run.root, plain(config))) as metrics,
        ):
            Loop(config, run, workers, metrics).run()


if __name__ == "__main__":
    cli.run("train", TrainConfig, main, output_key="run.dir", after_sweep=compare)
