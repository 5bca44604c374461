"""What makes an iteration an improvement, at equal time: ``python -m benchmarks.operators GAME --out DIR``.

Every operator starts from the same first network of ``experiment=GAME_demo`` and has three iterations, in one process
and one thread, without Ray. The number of its games is such that all take about the same processor time; what each
took is shown. Then the last network's ArgmaxVal* plays that of the first, and the scripted player, on deals that
nothing has seen. "Theirs" is the control: more of the teacher's deals for the same time. The same command resumes.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import Case, report
from cluster import cli
from games.registry import make_game
from games.rng import derive
from learner.training.task import TrainingTask, run_task
from search.roster.registry import make_players
from search.tournament.report import interval, signed
from search.tournament.statistics import ends_of
from search.tournament.tournament import run_tournament
from selfplay.config import TrainConfig
from selfplay.generator import Generator, GeneratorSettings
from selfplay.plan import plan_shards

ITERATIONS = 3
ONE_PROCESS = ("learner.num_threads=1", "engine.device=cpu", "learner.device=cpu", "selfplay.gate=null")
PLAIN = ("selfplay.branches=0", "learner.branch_weight=0", "learner.policy_targets=none")
"""Neither branches nor what reads them."""
ADVANTAGE = "learner.policy_targets=advantage"


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

    scripted: str
    start: tuple[str, ...]
    """Settings of all runs."""
    deals: int
    """Of each comparison."""
    operators: dict[str, Operator]


LESSONS = {
    "hearts": Lesson(
        "hearts_rules",
        ("selfplay.games_per_shard=500",),
        500,
        {
            "teacher": Operator(1, 2400),
            "own": Operator(2400, settings=PLAIN),
            "outcomes": Operator(2400, settings=(*PLAIN, "learner.outcome_weight=0.5")),
            "own, branches": Operator(2000),
            "mixed": Operator(1000, 1000),
            "labels": Operator(1900, settings=("selfplay.labels=hearts_rules", "learner.label_weight=1")),
            "newest": Operator(250, settings=("selfplay.newest_branch_player=argmax_val",)),
            "bootstrapped": Operator(
                700, settings=("selfplay.newest_branch_player=argmax_val", "selfplay.branch_steps=1")
            ),
            "advantage": Operator(2000, settings=(ADVANTAGE,)),
            "softmax": Operator(2000, settings=("learner.policy_targets=softmax",)),
            "mixed, advantage": Operator(1000, 1000, settings=(ADVANTAGE,)),
        },
    ),
    "crew": Lesson(
        "crew_rules",
        ("selfplay.games_per_shard=500",),
        5000,
        {
            "teacher": Operator(1, 2000, settings=("learner.policy_targets=none",)),
            "own": Operator(2000, settings=(*PLAIN, "selfplay.labels=''", "learner.label_weight=0")),
            "labels": Operator(2000, settings=PLAIN),
            "labels, branches": Operator(1800, settings=("learner.policy_targets=none",)),
            "branches": Operator(
                1800, settings=("selfplay.labels=''", "learner.label_weight=0", "learner.policy_targets=none")
            ),
            "mixed": Operator(900, 900, settings=("learner.policy_targets=none",)),
            "newest": Operator(400, settings=("selfplay.newest_branch_player=argmax_val",)),
            "advantage": Operator(1800),
            "softmax": Operator(1800, settings=("learner.policy_targets=softmax",)),
            "mixed, advantage": Operator(900, 900),
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


def configured(game: str, settings: Sequence[str]) -> TrainConfig:
    """The preset of the game's demo with these settings."""
    overrides = [f"experiment={game}_demo", "run.dir=unused", *ONE_PROCESS, *settings]
    return cli.configured("train", TrainConfig, overrides)


def iterate(config: TrainConfig, seed: int, directory: Path, first: int, last: int) -> None:
    """Iterations ``first`` to ``last`` below ``directory``, each with its games, its network and its processor
    seconds; what is there already stays."""
    for iteration in range(first, last + 1):
        if (directory / f"{iteration}.json").exists():
            continue
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
    generator = Generator(GeneratorSettings(config.game, config.search, config.engine, config.selfplay))
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
        if not path.exists():
            generator.generate(plan, str(path))
        paths.append(str(path))
    return tuple(paths)


def climbed(name: str, lesson: str, seed: int, out: Path) -> Climb:
    """One operator's iterations from the start of this seed, and what came of them; kept in a file of its own."""
    plan, kept = LESSONS[lesson], out / f"{name.replace(', ', '-')}-{seed}.json"
    if kept.exists():
        return Climb(**json.loads(kept.read_text()))
    operator, started, directory = plan.operators[name], out / f"start-{seed}", kept.with_suffix("")
    iterate(configured(lesson, plan.start), seed, started, 0, 0)
    directory.mkdir(exist_ok=True)
    if not (directory / "0").exists():
        (directory / "0").symlink_to((started / "0").resolve())
    sizes = f"selfplay.games_per_iteration={operator.games}", f"selfplay.teacher_games={operator.teacher}"
    config = configured(lesson, [*plan.start, *sizes, *operator.settings])
    iterate(config, seed, directory, 1, ITERATIONS)
    seconds = sum(json.loads((directory / f"{i}.json").read_text()) for i in range(1, ITERATIONS + 1))
    first, last = (f"argmax_val@{directory / str(i) / 'network'}" for i in (0, ITERATIONS))
    against = [
        differences(config, last, other, plan.deals, derive(seed, "fresh", other is first) % 2**63)
        for other in (first, plan.scripted)
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


def shown(climbs: Sequence[Climb], of: Callable[[Climb], list[float]]) -> tuple[float, str]:
    """Mean over the deals of all seeds, and text: the mean, its interval over deals, the mean of each seed."""
    values = np.concatenate([of(climb) for climb in climbs])
    low, high = ends_of(values)
    seeds = " ".join(signed(float(np.mean(of(climb)))) for climb in climbs)
    return float(values.mean()), f"{signed(float(values.mean()))} ({interval(low, high)}); by seed {seeds}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", choices=LESSONS)
    parser.add_argument("--out", type=Path, required=True, help="directory of networks and results")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", metavar="OPERATOR", help="these beside the control, teacher")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    names = dict.fromkeys(["teacher", *(options.only or LESSONS[options.game].operators)])
    tried = {name: list[Climb]() for name in names}
    for seed in range(options.seeds):  # seeds outside, so that an early end leaves all operators equally well known
        for name, climbs in tried.items():
            climbs.append(climbed(name, options.game, seed, options.out))
    means = {}
    for name, climbs in tried.items():
        print(f"{name}: {np.mean([climb.seconds for climb in climbs]):.0f} s")
        means[name], text = shown(climbs, lambda climb: climb.start)
        print(f"  ahead of the start: {text}")
        print(f"  ahead of {LESSONS[options.game].scripted}: {shown(climbs, lambda climb: climb.scripted)[1]}")
    unit = "points ahead of the start"
    report([Case("operators", name, mean, means["teacher"], unit) for name, mean in means.items() if name != "teacher"])


if __name__ == "__main__":
    main()
