"""What makes an iteration an improvement, at equal time: ``python -m benchmarks.operators GAME --out DIR``.

Every operator starts from the same first network of a preset whose first player is a teacher and has three
iterations, in one process and one thread, without Ray. The numbers of games are for about equal processor time;
the seconds of each are shown, and comparisons hold where these agree. Then the last network's ArgmaxVal* plays that of
the first, and the scripted player, on deals that nothing has seen. Intervals are over trainings, one a seed; those over
deals hold for these networks alone. The operator ``teacher``, more of that player's deals, is the control. The same
command resumes; an iteration that was interrupted begins anew.
"""

import argparse
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import machine
from cluster import cli
from games.registry import make_game
from games.rng import derive
from learner.task import TrainingTask, run_task
from search.arena.tournament.report import interval, signed
from search.arena.tournament.statistics import ends_of
from search.arena.tournament.tournament import run_tournament
from search.roster.registry import make_players
from selfplay.checks import generator_settings
from selfplay.config import TrainConfig
from selfplay.generator import Generator
from selfplay.plan import plan_shards

ITERATIONS, _FEWEST = 3, 3
"""Of a run; fewest trainings that give an interval."""
ONE_PROCESS = ("learner.num_threads=1", "engine.device=cpu", "learner.device=cpu", "selfplay.gate=null")
NO_TARGETS = ("learner.policy_targets=none", "learner.policy_temperature=0.1")
PLAIN = ("selfplay.branches=0", "learner.branch_weight=0", *NO_TARGETS)
"""Neither branches nor what reads them."""
ADVANTAGE, OUTCOMES = "learner.policy_targets=advantage", "learner.outcome_weight=0.5"
SLOW = "learner.learning_rate=5e-4"
EXPLORING = "selfplay.newest_player='argmax_val:explore=0.08'"
LABELS = ("selfplay.labels=hearts_rules", "learner.label_weight=1")
NEWEST = ("selfplay.newest_branch_player=argmax_val",)
BOOTSTRAPPED = (*NEWEST, "selfplay.branch_steps=1")
SEARCHED = "selfplay.labels='pimc:worlds=20:candidates=200:evaluator=playouts:beliefs=scripted:confidence=2'"


@dataclass(frozen=True)
class Operator:
    """What the iterations of a run do beside the preset."""

    games: int
    """Deals an iteration of the newest network."""
    teacher: int = 0
    """Deals an iteration of the first player."""
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lesson:
    """A game's first network and the operators tried on it."""

    preset: str
    scripted: str
    start: tuple[str, ...]
    """Settings of all runs."""
    deals: int
    """Of each comparison."""
    operators: dict[str, Operator]


LESSONS = {
    "hearts": Lesson(
        "hearts_teacher",
        "hearts_rules",
        ("selfplay.games_per_shard=500", "selfplay.labels=''", "learner.label_weight=0"),
        250,
        {
            "teacher": Operator(1, 1000),
            "teacher, advantage": Operator(1, 950, settings=(ADVANTAGE,)),
            "own": Operator(1000, settings=PLAIN),
            "own, branches": Operator(700),
            "mixed": Operator(410, 410),
            "labels": Operator(700, settings=LABELS),
            "outcomes": Operator(1000, settings=(*PLAIN, OUTCOMES)),
            "outcomes, slow": Operator(1000, settings=(*PLAIN, OUTCOMES, SLOW)),
            "outcomes, exploring": Operator(1000, settings=(*PLAIN, OUTCOMES, EXPLORING)),
            "labels, outcomes": Operator(900, settings=(*PLAIN, OUTCOMES, *LABELS)),
            "outcomes, population": Operator(1000, settings=(*PLAIN, OUTCOMES, "selfplay.population=true")),
            "newest": Operator(65, settings=NEWEST),
            "bootstrapped": Operator(300, settings=BOOTSTRAPPED),
            "bootstrapped, slow": Operator(300, settings=(*BOOTSTRAPPED, SLOW)),
            "bootstrapped, outcomes": Operator(300, settings=(*BOOTSTRAPPED, OUTCOMES)),
            "advantage": Operator(700, settings=(ADVANTAGE,)),
        },
    ),
    "crew": Lesson(
        "crew_demo",
        "crew_rules",
        ("selfplay.games_per_shard=500", "selfplay.initial_games=6000"),
        2000,
        {
            "teacher": Operator(1, 1050, settings=NO_TARGETS),
            "teacher, advantage": Operator(1, 1000),
            "labels": Operator(1250, settings=PLAIN),
            "labels, outcomes": Operator(1250, settings=(*PLAIN, OUTCOMES)),
            "advantage": Operator(1000),
            "mixed, advantage": Operator(500, 500),
            "newest": Operator(150, settings=NEWEST),
            "bootstrapped": Operator(450, settings=BOOTSTRAPPED),
            "labels of a search": Operator(130, settings=(*PLAIN, SEARCHED, "selfplay.label_share=0.1")),
        },
    ),
}


@dataclass(frozen=True)
class Climb:
    """What an operator's iterations brought for one seed."""

    seconds: float
    """Of the processor."""
    start: list[float]
    """Points ahead of the first network, each deal."""
    scripted: list[float]
    """Points ahead of the scripted player, each deal."""


def configured(game: str, operator: Operator) -> TrainConfig:
    """The preset of the game's demo with an operator's iterations."""
    sizes = f"selfplay.games_per_iteration={operator.games}", f"selfplay.teacher_games={operator.teacher}"
    settings = [*ONE_PROCESS, *LESSONS[game].start, *sizes, *operator.settings]
    return cli.configured("train", TrainConfig, [f"experiment={LESSONS[game].preset}", "run.dir=unused", *settings])


def check_made_with(operator: Operator, game: str, directory: Path) -> None:
    """End with a line where ``directory`` has another operator's or lesson's networks; else note whose they are."""
    made, asked = directory / "settings.json", [LESSONS[game].start, asdict(operator)]
    directory.mkdir(parents=True, exist_ok=True)
    if not made.exists():
        made.write_text(json.dumps(asked))
    elif made.read_text() != json.dumps(asked):
        raise SystemExit(f"error: {directory} was made with other settings; remove it, or choose another --out")


def iterate(config: TrainConfig, seed: int, directory: Path, first: int, last: int) -> None:
    """Iterations ``first`` to ``last`` below ``directory``, each with its games, its network and its processor
    seconds; what is there already stays."""
    for iteration in range(first, last + 1):
        if (directory / f"{iteration}.json").exists():
            continue
        shutil.rmtree(directory / str(iteration), ignore_errors=True)  # so that its seconds are all of it
        began, network = time.process_time(), directory / str(iteration) / "network"
        shards = play(config, seed, directory, iteration)
        learner = config.learner if iteration else config.first_learner
        earlier = str(directory / str(iteration - 1) / "network") if iteration else None
        run_task(
            TrainingTask(config.game, config.model, learner, shards, str(network), earlier, seed), lambda progress: None
        )
        (directory / f"{iteration}.json").write_text(json.dumps(time.process_time() - began))


def play(config: TrainConfig, seed: int, directory: Path, iteration: int) -> tuple[str, ...]:
    """The shards of an iteration."""
    game = make_game(config.game.name, config.game.options)
    generator = Generator(generator_settings(config))
    plans = plan_shards(
        config.selfplay,
        iteration,
        derive(seed, "operators") % 2**63,
        game.cooperative,
        lambda number: str(directory / str(number) / "network"),
    )
    paths = []
    for plan in plans:
        path = directory / str(iteration) / plan.name
        path.parent.mkdir(parents=True, exist_ok=True)
        generator.generate(plan, str(path))
        paths.append(str(path))
    return tuple(paths)


def place(name: str, seed: int, out: Path) -> Path:
    """The directory of an operator and a seed."""
    return out / f"{name.replace(', ', '-')}-{seed}"


def climbed(name: str, game: str, seed: int, out: Path) -> Climb:
    """One operator's iterations from the start of this seed, and what came of them; kept in a file of its own."""
    plan, directory = LESSONS[game], place(name, seed, out)
    operator, kept = plan.operators[name], directory / "climb.json"
    if kept.exists():
        return Climb(**json.loads(kept.read_text()))
    started = out / f"start-{seed}"
    iterate(configured(game, Operator(1)), seed, started, 0, 0)
    if not (directory / "0").exists():
        (directory / "0").symlink_to((started / "0").resolve())
    config = configured(game, operator)
    iterate(config, seed, directory, 1, ITERATIONS)
    seconds = sum(json.loads((directory / f"{i}.json").read_text()) for i in range(1, ITERATIONS + 1))
    first, last = (f"argmax_val@{directory / str(i) / 'network'}" for i in (0, ITERATIONS))
    against = [
        differences(config, last, other, plan.deals, derive(seed, "fresh deals", number) % 2**63)
        for number, other in enumerate((first, plan.scripted))
    ]
    climb = Climb(seconds, *(values.tolist() for values in against))
    kept.write_text(json.dumps(asdict(climb)))
    return climb


def differences(config: TrainConfig, player: str, other: str, deals: int, seed: int) -> np.ndarray:
    """``float64[deals]``: points of ``player`` ahead of ``other`` in each deal, over all seatings."""
    game = make_game(config.game.name, config.game.options)
    players = make_players([player, other], game, config.search, engine=config.engine)
    result = run_tournament(game, players, deals, seed, config.evaluation.table_size)
    mine, others = (np.array(result.by_deal[each.name]) for each in players)
    return others - mine if result.lower_is_better else mine - others


def measured(climbs: Sequence[Climb], of: Callable[[Climb], list[float]]) -> dict[str, Any]:
    """Mean over all seeds, its interval over trainings, which alone says what an operator is worth, that over the deals
    of these networks, and the mean of each seed. All seeds have equally many deals."""
    values, seeds = np.concatenate([of(climb) for climb in climbs]), [float(np.mean(of(climb))) for climb in climbs]
    return {
        "mean": float(values.mean()),
        "interval": ends_of(np.array(seeds), _FEWEST),
        "interval_of_deals": ends_of(values),
        "seeds": seeds,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", choices=LESSONS)
    parser.add_argument("--out", type=Path, required=True, help="directory of networks and results")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", metavar="OPERATOR", help="these beside the control, teacher")
    options = parser.parse_args()
    lesson, out = LESSONS[options.game], options.out / options.game
    names = dict.fromkeys(["teacher", *(options.only or lesson.operators)])
    if unknown := names.keys() - lesson.operators.keys():
        parser.error(f"--only {', '.join(sorted(unknown))}: the operators are {'; '.join(lesson.operators)}")
    if options.seeds < 1:
        parser.error(f"--seeds {options.seeds}: must be at least 1")
    for seed in range(options.seeds):
        check_made_with(Operator(1), options.game, out / f"start-{seed}")
        for name in names:
            check_made_with(lesson.operators[name], options.game, place(name, seed, out))
    tried = {name: list[Climb]() for name in names}
    for seed in range(options.seeds):  # seeds outside, so that an early end leaves all operators equally well known
        for name, climbs in tried.items():
            climbs.append(climbed(name, options.game, seed, out))
    report_climbs(tried, lesson.scripted)


def report_climbs(tried: dict[str, list[Climb]], scripted: str) -> None:
    """Print what each operator brought, and as the last line JSON. Leads have no ratio: the control is a row."""
    records = []
    for name, climbs in tried.items():
        of_start, of_scripted = (measured(climbs, of) for of in (attrgetter("start"), attrgetter("scripted")))
        seconds = float(np.mean([climb.seconds for climb in climbs]))
        records.append({"case": name, "seconds": seconds, "start": of_start, "scripted": of_scripted})
        print(f"{name}: {seconds:.0f} s")
        for other, found in (("the start", of_start), (scripted, of_scripted)):
            each = " ".join(map(signed, found["seeds"]))
            ends, of_deals = (interval(*found[key]) for key in ("interval", "interval_of_deals"))
            print(f"  ahead of {other}: {signed(found['mean'])} ({ends} over trainings, {of_deals} over deals alone); "
                  f"by seed {each}")  # fmt: skip
    print(json.dumps([{"benchmark": "operators", **record, "machine": machine()} for record in records]))


if __name__ == "__main__":
    main()
