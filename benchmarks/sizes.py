"""What width and depth are worth at equal time: ``python -m benchmarks.sizes GAME --out DIR``.

Networks of each size learn from the same deals, those of iteration 0 of ``experiment=GAME_strong``, for as many minutes
of one thread, each with a schedule of its own. Then their ArgmaxVal* plays the scripted player on the same fresh deals.
``DIR/GAME/sizes.png`` draws strength against time. The same command resumes; an interrupted training begins anew.
"""

import argparse
import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.operators import ONE_PROCESS, differences, play
from benchmarks.report import machine
from cluster import cli
from games.rng import derive
from learner.task import TrainingTask, run_task
from search.arena.tournament.pictures import png
from search.arena.tournament.report import interval, signed
from search.arena.tournament.statistics import ends_of
from selfplay.config import TrainConfig

SIZES = {"2 x 64": (2, 64), "demo, 2 x 128": (2, 128), "small, 3 x 128": (3, 128), "2 x 256": (2, 256)}
"""Name -> layers and their width."""
SCRIPTED = {"crew": "crew_rules", "skat": "skat_rules", "hearts": "hearts_rules"}
SETTINGS = {"crew": ("model.features=[all]",)}
"""Of a game: in The Crew not what the scripted player thinks, else there is nothing to learn about it."""
WARM, TIMED = 20, 40
"""Steps of a short training until all kernels are compiled, and those of which the time is taken."""


@dataclass(frozen=True)
class Lesson:
    """What all networks of a run of this benchmark share."""

    config: TrainConfig
    shards: tuple[str, ...]
    seed: int
    directory: Path
    deals: int
    """Of each comparison."""


def configured(game: str, games: int) -> TrainConfig:
    """The strong preset of the game with so many games in iteration 0."""
    only = "selfplay.iterations=0", f"selfplay.initial_games={games}"
    settings = [*ONE_PROCESS, *only, *SETTINGS.get(game, ())]
    return cli.configured("train", TrainConfig, [f"experiment={game}_strong", "run.dir=unused", *settings])


def trained(lesson: Lesson, size: str, steps: int, name: str) -> tuple[str, float]:
    """The network of this size after so many steps, and the seconds of the processor that it took; kept."""
    out = lesson.directory / size.replace(", ", "-").replace(" ", "") / name
    kept = out.with_suffix(".json")
    if not kept.exists():
        layers, width = SIZES[size]
        model = replace(lesson.config.model, n_layer=layers, n_embd=width, n_inner=0)
        learner = replace(lesson.config.first_learner, num_epochs=1000, max_steps=steps)
        shutil.rmtree(f"{out}.partial", ignore_errors=True)  # so that the seconds are all of it
        began = time.process_time()
        task = TrainingTask(lesson.config.game, model, learner, lesson.shards, str(out), None, lesson.seed)
        run_task(task, lambda progress: None)
        kept.write_text(json.dumps(time.process_time() - began))
    return str(out), json.loads(kept.read_text())


def seconds_per_step(lesson: Lesson, size: str) -> float:
    """Of the processor, without what comes once."""
    few, more = (trained(lesson, size, steps, f"timed-{steps}")[1] for steps in (WARM, WARM + TIMED))
    return (more - few) / TIMED


def strength(lesson: Lesson, size: str, minutes: float) -> dict[str, Any]:
    """What so many minutes make of a network of this size."""
    steps = round(60 * minutes / seconds_per_step(lesson, size))
    network, seconds = trained(lesson, size, steps, f"{minutes:g}")
    scripted = SCRIPTED[lesson.config.game.name]
    fresh = derive(lesson.seed, "fresh deals") % 2**63
    ahead = differences(lesson.config, f"argmax_val@{network}", scripted, lesson.deals, fresh)
    return {
        "case": size,
        "minutes": seconds / 60,
        "steps": steps,
        "ahead": float(ahead.mean()),
        "interval": ends_of(ahead),
    }


def drawn(records: Sequence[dict[str, Any]], title: str) -> bytes:
    """Strength against minutes, a line for each size."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for size in SIZES:
        line = [record for record in records if record["case"] == size]
        minutes, ahead = ([record[key] for record in line] for key in ("minutes", "ahead"))
        ends = [[abs(record["interval"][k] - record["ahead"]) for record in line] for k in (0, 1)]
        axes.errorbar(minutes, ahead, yerr=ends, marker="o", capsize=3, label=size)
    axes.set_xscale("log")
    for axis in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
        axis(FuncFormatter(lambda value, place: f"{value:g}"))
    axes.set_xlabel("minutes of one thread, training")
    axes.set_ylabel(title)
    axes.legend()
    axes.grid(alpha=0.3)
    return png(figure)


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", choices=SCRIPTED)
    parser.add_argument("--out", type=Path, required=True, help="directory of deals, networks and results")
    parser.add_argument("--minutes", type=float, nargs="+", default=[2.0, 4.0, 8.0], help="each network's budgets")
    parser.add_argument("--games", type=int, default=30_000, help="deals to learn from")
    parser.add_argument("--deals", type=int, default=1000, help="of each comparison")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if min(options.minutes) <= 0 or options.games < 1 or options.deals < 1 or options.seed < 0:
        parser.error("--minutes, --games and --deals must be above 0, --seed at least 0")
    directory = options.out / options.game
    asked, made = json.dumps([options.games, options.seed]), directory / "settings.json"
    directory.mkdir(parents=True, exist_ok=True)
    if made.exists() and made.read_text() != asked:
        raise SystemExit(
            f"error: {directory} was made with other --games or --seed; remove it, or choose another --out"
        )
    made.write_text(asked)
    config = configured(options.game, options.games)
    lesson = Lesson(config, play(config, options.seed, directory, 0), options.seed, directory, options.deals)
    records = []
    for minutes in options.minutes:  # outside, so that an early end leaves all sizes equally well known
        for size in SIZES:
            records.append(record := strength(lesson, size, minutes))
            ahead = f"{signed(record['ahead'])} ({interval(*record['interval'])})"
            print(f"{size}, {record['minutes']:.1f} minutes, {record['steps']} steps: {ahead}", flush=True)
    picture = directory / "sizes.png"
    picture.write_bytes(drawn(records, f"ahead of {SCRIPTED[options.game]} (95 % interval)"))
    print(f"picture: {picture}")
    print(json.dumps([{"benchmark": "sizes", "game": options.game, **each, "machine": machine()} for each in records]))


if __name__ == "__main__":
    main()
