"""Games of the next iteration while a network trains: planned, not raced. ``test_resume`` ends and resumes these."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from cluster.watching.progress import OnProgress
from learner.task import TrainingTask
from search.arena.tournament.evaluator import DealsTask
from search.arena.tournament.matches import Matches
from selfplay.config import GateConfig, TrainConfig
from selfplay.generator import ShardReport
from selfplay.loop import Loop
from selfplay.overlap import Milestones, StoppedError, at_once
from selfplay.plan import ShardPlan, known_networks
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import MADE, InProcess, contents, networks, run, tiny_config
from tests.selfplay.test_gate import decide
from tests.selfplay.test_resume import overlapping


class Together(InProcess):
    """Workers whose training waits for the first shard of an iteration as far ahead as ``staleness`` says, and so needs
    both at work at once."""

    def __init__(self, config: TrainConfig) -> None:
        super().__init__(config)
        self._last, self._ahead = config.selfplay.iterations, config.selfplay.staleness
        self._played = {iteration: threading.Event() for iteration in range(self._last + 1)}

    def generate(self, plans: Iterable[tuple[ShardPlan, str]], on_progress: OnProgress) -> Iterator[ShardReport]:
        for plan, path in plans:
            yield from super().generate([(plan, path)], on_progress)
            self._played[plan.iteration].set()

    def train(self, task: TrainingTask, on_progress: OnProgress) -> Mapping[str, float]:
        iteration = int(Path(task.out).parent.name)
        if iteration and (ahead := min(iteration + self._ahead, self._last)) > iteration:
            assert self._played[ahead].wait(60), f"no game of iteration {ahead} was played meanwhile"
        return super().train(task, on_progress)


def test_an_iteration_plays_with_what_is_finished_when_the_one_before_begins_to_train(tmp_path: Path) -> None:
    known = [[known_networks(iteration, staleness) for iteration in range(6)] for staleness in (0, 1, 2)]
    assert known == [[0, 1, 2, 3, 4, 5], [0, 1, 1, 2, 3, 4], [0, 1, 1, 1, 2, 3]]
    workers, directory = run(overlapping(tmp_path), Together), RunDirectory(str(tmp_path))
    assert [task.init_from for task in workers.trained] == [None, *(directory.checkpoint(i) for i in range(3))]
    assert [networks(tmp_path, i) for i in (0, 1, 2, 3)] == [[], ["000"], ["000"], ["000", "001"]]


class Hasty(InProcess):
    """Workers that begin a shard before the one before is handed back."""

    def generate(self, plans: Iterable[tuple[ShardPlan, str]], on_progress: OnProgress) -> Iterator[ShardReport]:
        held: list[ShardReport] = []
        for plan, path in plans:
            held += super().generate([(plan, path)], on_progress)
            if len(held) > 3:
                yield held.pop(0)
        yield from held


def test_timing_changes_no_byte_and_no_shard_is_played_twice(tmp_path: Path) -> None:
    """Iterations are played two ahead and learn from shards of earlier ones, some of which are still being played when
    an iteration is planned."""
    made = []
    for kind in (Together, Hasty):
        config = overlapping(tmp_path / kind.__name__, staleness=2, iterations=4, replay_games=40)
        workers = run(config, kind)
        assert len({*workers.generated}) == len(workers.generated) == 3 + 4 * 3
        made.append(contents(tmp_path / kind.__name__, *MADE))
    assert made[0] == made[1]
    assert [networks(tmp_path / "Hasty", i) for i in (2, 3, 4)] == [["000"], ["000"], ["000", "001"]]


@pytest.mark.slow
@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_a_gate_counts_from_the_iteration_on_that_is_planned_after_it(tmp_path: Path, advantage: float) -> None:
    run(overlapping(tmp_path, iterations=1, gate=GateConfig(2)))
    decide(tmp_path / "iterations/001/gate.json", advantage)
    config = overlapping(tmp_path, iterations=3, gate=GateConfig(2))
    starts = [Path(task.init_from or "").parent.name for task in run(config, Together).trained]
    assert starts[0] == ("001" if advantage > 0 else "000"), "the gate of 1 is known when 2 begins to train"
    assert networks(tmp_path, 2) == ["000"], "the gate of 1 was not known when 2 was planned"
    assert networks(tmp_path, 3) == (["000", "001"] if advantage > 0 else ["000"])


def test_the_first_error_is_raised_and_the_other_side_told_to_stop() -> None:
    def fail() -> None:
        raise ConnectionError

    for waiting in ("wait_for_games", "wait_for_networks"):
        for first in (True, False):
            milestones = Milestones()
            both = (fail, partial(getattr(milestones, waiting), 1))
            with pytest.raises(ConnectionError):
                at_once(*(both if first else both[::-1]), milestones)
    assert at_once(lambda: 1, lambda: "a", Milestones()) == (1, "a")


def test_a_tournament_ends_when_the_games_beside_it_have_failed(tmp_path: Path) -> None:
    config, shown = tiny_config(str(tmp_path / "run")), list[str]()

    def evaluate(tasks: object, on_progress: OnProgress) -> Iterator[tuple[DealsTask, Matches]]:
        on_progress({})
        loop._milestones.stop()  # as ``at_once`` does
        on_progress({})
        shown.append("and goes on")
        yield from ()

    loop = Loop(
        config,
        RunDirectory(config.run.dir),
        SimpleNamespace(evaluate=evaluate),
        SimpleNamespace(totals={"lost_items_total": 0}),
    )
    with pytest.raises(StoppedError):
        list(loop._evaluate((), lambda shown: None))
    assert not shown
