"""Actors that die under their work."""

import logging
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.exceptions import ActorDiedError

from cluster.actors import hangs
from cluster.actors import pool as pool_module
from cluster.actors.connection import actor_options
from cluster.actors.hangs import Pace
from cluster.actors.pool import ActorPool
from cluster.actors.worker import Worker
from cluster.errors import UserError, WorkFailedError

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("ray_connection")]


@pytest.fixture(autouse=True)
def watched_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Actors are asked how far they are after 0.2 s instead of 1 s, and items may be late after 0.5 s."""
    monkeypatch.setattr(pool_module, "_TICK_SECONDS", 0.2)
    monkeypatch.setattr(pool_module, "_LATE_SECONDS", 0.5)


@ray.remote
class Squarer:
    """Squares numbers, and dies or raises where told to."""

    def __init__(self, kill_at: dict[int, int], traces: str, cannot_start: bool = False) -> None:
        if cannot_start:
            raise ValueError("no model here")
        self.kill_at = kill_at
        self.traces = Path(traces)

    def square(self, number: int) -> int:
        trace = self.traces / f"{number}-{len(list(self.traces.glob(f'{number}-*')))}"
        trace.touch()
        tries = len(list(self.traces.glob(f"{number}-*")))
        if tries <= self.kill_at.get(number, 0):
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 13:
            raise RuntimeError("unlucky")
        if number == 14:
            raise UserError("fourteen is not allowed")
        return number * number


def pool(tmp_path: Path, kill_at: dict[int, int] | None = None, size: int = 1, **settings: Any) -> ActorPool[int]:
    actor = Squarer.options(**actor_options(cpus=0.5))
    return ActorPool(lambda index: actor.remote(kill_at or {}, str(tmp_path)), size, **settings)


def square(actor: Any, number: int) -> Any:
    return actor.square.remote(number)


def test_every_item_is_done_once_though_actors_are_killed_in_the_middle(tmp_path: Path) -> None:
    with pool(tmp_path, kill_at={3: 1, 7: 2}, size=2) as workers:
        results = list(workers.run(range(12), square))
    assert sorted(results) == [(number, number * number) for number in range(12)]
    tries = Counter(int(trace.name.split("-")[0]) for trace in tmp_path.iterdir())
    assert tries[3] >= 2 and tries[7] >= 3


def test_work_that_fails_when_nobody_waits_for_it_any_more_prints_no_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ray_says = logging.getLogger("ray")
    ray_says.addHandler(caplog.handler)
    with pool(tmp_path) as workers:
        left = []

        def both(actor: Any, number: int) -> Any:
            left.append(actor.square.remote(13))
            return actor.square.remote(number)

        assert len(list(workers.run(range(2), both))) == 2  # an actor does one after the other
        left.clear()
        list(workers.run(range(2, 6), square))  # meanwhile Ray sees that nobody holds what has failed
    ray_says.removeHandler(caplog.handler)
    assert "Unhandled error" not in caplog.text


def test_an_item_that_kills_every_actor_ends_the_work_by_name(tmp_path: Path) -> None:
    with (
        pool(tmp_path, kill_at={5: 100}, max_attempts=2) as workers,
        pytest.raises(WorkFailedError, match=r"^5: 2 actors"),
    ):
        list(workers.run(range(8), square))


def test_a_death_is_not_blamed_on_the_item_that_waited_behind(tmp_path: Path) -> None:
    with pool(tmp_path, kill_at={0: 1, 2: 1, 4: 1, 6: 1}, max_attempts=2) as workers:
        assert sorted(workers.run(range(8), square)) == [(number, number * number) for number in range(8)]
        assert workers.lost_items == 4


@pytest.mark.parametrize(
    ("item", "error", "message"),
    [
        (13, WorkFailedError, r"^13: (.|\n)*unlucky"),
        (14, UserError, r"^fourteen is not allowed$"),  # bad input that an actor finds stays bad input
    ],
)
def test_an_exception_in_an_item_ends_the_work_at_once(
    item: int, error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pool(tmp_path) as workers, pytest.raises(error, match=message):
        list(workers.run([item], square))
    assert len(list(tmp_path.iterdir())) == 1


def test_where_work_keeps_going_an_item_that_fails_comes_with_why(tmp_path: Path) -> None:
    with pool(tmp_path, kill_at={5: 100, 6: 100}, max_attempts=2) as workers:
        results = dict(workers.run([13, 14, 5, 6, 3], square, keep_going=True))
        assert results.pop(3) == 9
        assert {number for number, why in results.items() if isinstance(why, WorkFailedError)} == {13, 5, 6}
        assert isinstance(results[14], UserError)
        assert str(results[13]).startswith("13: RuntimeError: unlucky\n") and "5: 2 actors died" in str(results[5])
        assert list(workers.run([4], square)) == [(4, 16)]


def test_items_are_asked_for_as_actors_become_free(tmp_path: Path) -> None:
    done = [-1]
    with pool(tmp_path) as workers:
        for number, _ in workers.run((number for number in range(10) if max(done) < 3), square):
            done.append(number)
    assert 3 <= max(done) <= 5, "one is under way, and one waits"


def test_no_more_actors_are_started_than_there_is_work(tmp_path: Path) -> None:
    with pool(tmp_path, size=50) as workers:
        assert list(workers.run([3], square)) == [(3, 9)]
        assert len(workers._workers) == 1
        assert len(list(workers.run([3, 4], square))) == 2
        assert len(workers._workers) == 2


@ray.remote
class Slow:
    """Who does the item 5 first never ends, as on a machine that swaps."""

    def __init__(self, trace: str) -> None:
        self.trace = Path(trace)

    def work(self, number: int) -> int:
        if number == 5 and not self.trace.exists():
            self.trace.touch()
            time.sleep(600)
        return os.getpid()


def test_an_item_that_takes_unusually_long_is_given_to_an_idle_actor_too(tmp_path: Path, caplog) -> None:
    actor = Slow.options(**actor_options(cpus=0.5))
    call = lambda actor, number: actor.work.remote(number)  # noqa: E731
    with ActorPool[int](lambda index: actor.remote(str(tmp_path / "begun")), 2) as workers:
        done = dict(workers.run([1, 2, 3, 4, 5], call))
        assert sorted(done) == [1, 2, 3, 4, 5] and workers.lost_items == 0
        assert "5: takes unusually long; another actor does it too" in caplog.text
        both = {process for _, process in workers.run([6, 7] * 10, call)}
        assert len(both - set(done.values())) <= 1, "the slow actor was ended, and another has its place"
        assert sorted(number for number, _ in workers.run(range(4), call)) == [0, 1, 2, 3]


@ray.remote
class Dying:
    """Of two actors that do the item 5 one dies: who began first, or who was given it too."""

    def __init__(self, trace: str, later: bool) -> None:
        self.trace, self.later = Path(trace), later

    def work(self, number: int) -> int:
        if number == 5:
            first = not self.trace.exists()
            self.trace.touch()
            time.sleep(3 if first else 1)
            if first != self.later:
                time.sleep(0 if self.later else 2)
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(4)
        return number


@pytest.mark.parametrize("later", [True, False])
def test_a_death_beside_another_who_does_the_same_item_costs_no_try(later: bool, tmp_path: Path) -> None:
    actor = Dying.options(**actor_options(cpus=0.5))
    call = lambda actor, number: actor.work.remote(number)  # noqa: E731
    with ActorPool[int](lambda _: actor.remote(str(tmp_path / "begun"), later), 2, max_attempts=2) as workers:
        done = [*workers.run([1, 2, 3, 4, 5], call)]
        assert sorted(number for number, _ in done) == [1, 2, 3, 4, 5] and workers.lost_items == 0


def test_an_actor_that_cannot_be_constructed_ends_the_work(tmp_path: Path) -> None:
    actor = Squarer.options(**actor_options(cpus=0.5))
    broken: ActorPool[int] = ActorPool(lambda index: actor.remote({}, str(tmp_path), cannot_start=True), 1)
    with broken, pytest.raises(WorkFailedError, match="no model here"):
        list(broken.run([1], square))


def test_a_pool_is_used_again_after_work_was_left_unfinished(tmp_path: Path) -> None:
    with pool(tmp_path, size=2) as workers:
        first = next(iter(workers.run(range(10), square)))
        assert first[1] == first[0] ** 2
        assert sorted(workers.run([20, 21], square)) == [(20, 400), (21, 441)]
        assert list(workers.run([], square)) == []


@ray.remote(concurrency_groups={"watch": 1})
class Hanging:
    """Takes an item for as long as a file is there, and can be asked how far it is."""

    def __init__(self, constructing: str = "") -> None:
        self.seconds = 0.0
        self._wait(Path(constructing or "/nowhere"))

    def work(self, item: str) -> int:
        self._wait(Path(item))
        return os.getpid()

    def _wait(self, file: Path) -> None:
        while file.exists():
            time.sleep(0.05)

    def progress(self, moves: bool) -> float:
        self.seconds += moves
        return self.seconds

    def pid(self) -> int:
        return os.getpid()


def hanging(moves: bool = True, constructing: str = "", **settings: Any) -> ActorPool[str]:
    actor = Hanging.options(**actor_options(cpus=0.5))
    ask = lambda actor: actor.progress.options(concurrency_group="watch").remote(moves)  # noqa: E731
    return ActorPool(lambda _: actor.remote(constructing), 1, ask=ask, **settings)


def work(actor: Any, item: str) -> Any:
    return actor.work.remote(item)


def test_an_actor_that_was_stopped_is_replaced_and_its_item_done_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (item := tmp_path / "item").touch()
    with hanging(item_timeout_s=4) as workers:
        ((_, stopped),) = workers.run(["/nowhere"], work)

        def on_answers(answers: list[Any]) -> None:
            if workers.lost_items:
                item.unlink(missing_ok=True)
            elif answers:
                os.kill(stopped, signal.SIGSTOP)

        ((_, replacement),) = workers.run([str(item)], work, on_answers)
        assert workers.lost_items == 1 and replacement != stopped
    (line,) = [record.getMessage() for record in caplog.records if "doing it again" in record.getMessage()]
    assert line.startswith(f"{item}: its actor died (no answer for ") and "cluster.item_timeout_s" in line
    check_gone(stopped)


def test_an_actor_that_was_stopped_idle_is_replaced_before_it_gets_an_item() -> None:
    with hanging(item_timeout_s=4) as workers:
        ((_, stopped),) = workers.run(["/nowhere"], work)
        os.kill(stopped, signal.SIGSTOP)
        ((_, replacement),) = workers.run(["/nowhere"], work)
        assert workers.lost_items == 0 and replacement != stopped
    check_gone(stopped)


def check_gone(process: int) -> None:
    for _ in range(300):  # Ray kills after five seconds what does not end by itself
        if not Path(f"/proc/{process}").exists():
            return
        time.sleep(0.1)
    raise AssertionError("the stopped process is still there")


@pytest.mark.parametrize("known", ["items of this pool", "the pace of the one before", "nothing"])
def test_an_actor_that_answers_and_makes_no_progress_is_replaced(
    known: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it is known how long items take, or, at the first item, after a longer time."""
    pace = Pace(items_done=3, slowest=0.1) if known.startswith("the pace") else Pace()
    if known == "nothing":
        monkeypatch.setattr(hangs, "STUCK_AT_FIRST_SECONDS", 3.0)
    (item := tmp_path / "item").touch()
    with hanging(moves=False, item_timeout_s=4, pace=pace) as workers:

        def on_answers(_: list[Any]) -> None:
            if workers.lost_items:
                monkeypatch.setattr(hangs, "STUCK_AT_FIRST_SECONDS", 600.0)
                item.unlink(missing_ok=True)

        if known.startswith("items"):
            list(workers.run(["/nowhere"] * 3, work))
        list(workers.run([str(item)], work, on_answers))
        assert workers.lost_items == 1
    assert "no progress for " in caplog.text
    assert known == "nothing" or "the slowest item before took 0 s" in caplog.text


def test_a_slow_item_that_makes_progress_is_left_alone(tmp_path: Path) -> None:
    (item := tmp_path / "item").touch()
    began, answers = time.monotonic(), list[float]()

    def on_answers(now: list[Any]) -> None:
        answers.extend(now)
        if time.monotonic() - began > 6 and len(set(answers)) > 2:
            item.unlink(missing_ok=True)

    with hanging(item_timeout_s=4) as workers:
        list(workers.run(["/nowhere"] * 3, work))
        list(workers.run([str(item)], work, on_answers))
        assert workers.lost_items == 0


def test_an_actor_that_does_not_come_out_of_its_constructor_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hangs, "STUCK_SECONDS", 3.0)
    (constructing := tmp_path / "constructing").touch()
    with hanging(constructing=str(constructing)) as workers:
        seen = list[Any]()

        def on_answers(_: list[Any]) -> None:
            seen.append(workers._workers[0].actor)
            if seen[-1] is not seen[0]:
                monkeypatch.setattr(hangs, "STUCK_SECONDS", 600.0)  # a busy machine may start it slowly
                constructing.unlink(missing_ok=True)

        ((_, pid),) = workers.run(["/nowhere"], work, on_answers)
        assert pid and workers._workers[0].actor is not seen[0]


def test_an_actor_without_a_gpu_is_shown_none(ray_connection: Any) -> None:
    @ray.remote
    class Looker:
        def visible(self) -> str | None:
            return os.environ.get("CUDA_VISIBLE_DEVICES")

    actor = Looker.options(**actor_options(cpus=0.1)).remote()
    assert ray.get(actor.visible.remote()) == ""
    ray.kill(actor)


def until_all_have_started(workers: ActorPool[int]) -> Iterator[int]:
    while not workers._workers or not all(worker.started for worker in workers._workers):
        time.sleep(0.2)
        yield 30


def killed(actor: Any) -> None:
    """Kill an actor and wait until it has died."""
    ray.kill(actor)
    with pytest.raises(ActorDiedError):
        while True:
            ray.get(actor.__ray_ready__.remote())


def test_actors_that_have_died_idle_cost_no_item_a_try(tmp_path: Path) -> None:
    """As on a machine that was taken away between two stages."""
    with pool(tmp_path, size=3, max_attempts=2) as workers:
        list(workers.run(until_all_have_started(workers), square))
        for worker in workers._workers:
            killed(worker.actor)
        assert list(workers.run([20], square)) == [(20, 400)] and workers.lost_items == 0
        for number in range(4):  # nor the work its end, and no more actors are started than it can occupy
            killed(workers._workers[0].actor)
            assert len(list(workers.run([number], square))) == 1
        assert workers.lost_items == 0 and len(workers._workers) == 1


@ray.remote
def asks_somebody_dead() -> None:
    raise ActorDiedError


def test_a_group_whose_member_has_died_is_asked_in_vain_and_ends_by_its_work() -> None:
    worker = Worker[int](0, question=asks_somebody_dead.remote())
    ray.wait([worker.question])
    worker.hear(lambda actor: pytest.fail("is asked again"), 1.0)
    assert worker.question is None
