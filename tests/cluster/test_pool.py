"""Actors that die under their work."""

import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import ray
from ray._private.worker import BaseContext

from cluster.connection import actor_options
from cluster.errors import UserError
from cluster.pool import ActorPool, WorkFailedError

pytestmark = pytest.mark.usefixtures("ray_connection")


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

    def pid(self) -> int:
        return os.getpid()


def pool(tmp_path: Path, kill_at: dict[int, int] | None = None, size: int = 2, **settings: Any) -> ActorPool[int]:
    actor = Squarer.options(**actor_options(cpus=0.5))
    return ActorPool(lambda index: actor.remote(kill_at or {}, str(tmp_path)), size, **settings)


def square(actor: Any, number: int) -> Any:
    return actor.square.remote(number)


def test_every_item_is_done_once_though_actors_are_killed_in_the_middle(tmp_path: Path) -> None:
    with pool(tmp_path, kill_at={3: 1, 7: 2}) as workers:
        results = list(workers.run(range(12), square))
    assert sorted(results) == [(number, number * number) for number in range(12)]
    tries = Counter(int(trace.name.split("-")[0]) for trace in tmp_path.iterdir())
    assert tries[3] >= 2 and tries[7] >= 3


def test_an_actor_killed_from_outside_is_replaced(tmp_path: Path) -> None:
    seen: set[int] = set()
    with pool(tmp_path, size=1) as workers:
        for number, pid in workers.run(range(3), lambda actor, _: actor.pid.remote()):
            seen.add(pid)
            if number == 0:
                os.kill(pid, signal.SIGKILL)
    assert len(seen) == 2


def test_an_item_that_kills_every_actor_ends_the_work_by_name(tmp_path: Path) -> None:
    with (
        pool(tmp_path, kill_at={5: 100}, max_attempts=2) as workers,
        pytest.raises(WorkFailedError, match=r"^5: 2 actors"),
    ):
        list(workers.run(range(8), square))


def test_a_death_is_not_blamed_on_the_item_that_waited_behind(tmp_path: Path) -> None:
    with pool(tmp_path, kill_at={0: 1, 2: 1, 4: 1, 6: 1}, size=1, max_attempts=2) as workers:
        assert sorted(workers.run(range(8), square)) == [(number, number * number) for number in range(8)]
        assert workers.lost_items == 4


def test_an_exception_in_an_item_ends_the_work_at_once_by_name(tmp_path: Path) -> None:
    with pool(tmp_path) as workers, pytest.raises(WorkFailedError, match=r"^13: (.|\n)*unlucky"):
        list(workers.run([13], square))
    assert len(list(tmp_path.iterdir())) == 1


def test_bad_input_found_by_an_actor_stays_bad_input(tmp_path: Path) -> None:
    with pool(tmp_path) as workers, pytest.raises(UserError, match=r"^14: fourteen is not allowed$"):
        list(workers.run([14], square))


def test_an_actor_that_cannot_be_constructed_ends_the_work(tmp_path: Path) -> None:
    actor = Squarer.options(**actor_options(cpus=0.5))
    broken: ActorPool[int] = ActorPool(lambda index: actor.remote({}, str(tmp_path), cannot_start=True), 1)
    with broken, pytest.raises(WorkFailedError, match="no model here"):
        list(broken.run([1], square))


def test_a_pool_is_used_again_after_work_was_left_unfinished(tmp_path: Path) -> None:
    with pool(tmp_path) as workers:
        first = next(iter(workers.run(range(10), square)))
        assert first[1] == first[0] ** 2
        assert sorted(workers.run([20, 21], square)) == [(20, 400), (21, 441)]


def test_actors_that_take_two_calls_answer_while_they_work() -> None:
    @ray.remote(max_concurrency=2)
    class Slow:
        def __init__(self) -> None:
            self.asked = 0

        def work(self, number: int) -> int:
            while self.asked < number:
                time.sleep(0.05)
            return self.asked

        def ask(self) -> int:
            self.asked += 1
            return self.asked

    answers: list[int] = []
    with ActorPool[int](lambda _: Slow.options(**actor_options(cpus=0.5)).remote(), 1) as workers:
        results = workers.run(
            [2],
            lambda actor, item: actor.work.remote(item),
            lambda: answers.extend(workers.ask(lambda a: a.ask.remote())),
        )
        assert list(results) == [(2, 2)]
    assert answers == [1, 2]


def test_no_work_gives_no_results(tmp_path: Path) -> None:
    with pool(tmp_path) as workers:
        assert list(workers.run([], square)) == []


def test_an_actor_without_a_gpu_is_shown_none(ray_connection: BaseContext) -> None:
    @ray.remote
    class Looker:
        def visible(self) -> str | None:
            return os.environ.get("CUDA_VISIBLE_DEVICES")

    actor = Looker.options(**actor_options(cpus=0.1)).remote()
    assert ray.get(actor.visible.remote()) == ""
    ray.kill(actor)
