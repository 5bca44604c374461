"""Items a second of a pool of a thousand places."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ray

from benchmarks.report import Case
from cluster.actors.connection import actor_options, connect
from cluster.actors.pool import ActorPool
from cluster.config import ClusterConfig

PLACES, ROOM, ITEM_SECONDS, ITEMS = 1_000, 4, 0.1, 600


class Sleeper:
    """A tenth of a second of no work."""

    def work(self, item: int) -> int:
        """Sleep, and return the item."""
        time.sleep(ITEM_SECONDS)
        return item

    def progress(self) -> int:
        """Nothing changes."""
        return 0


def cases(full: bool) -> list[Case]:
    """With a core for the driver, and with half of one."""
    with connect(ClusterConfig(mode="local", num_cpus=ROOM, num_gpus=0)):
        alone = _rate()
        with _shared_core():
            beside = _rate()
    found = {"pool": alone, "pool_on_a_busy_core": beside}
    return [Case("scale", name, rate, ROOM / ITEM_SECONDS, "items/s") for name, rate in found.items()]


def _rate() -> float:
    """Items a second of the second half, when all that have room have started."""
    actor = ray.remote(concurrency_groups={"watch": 1})(Sleeper).options(**actor_options(cpus=1))
    ask = lambda actor: actor.progress.options(concurrency_group="watch", enable_task_events=False).remote()  # noqa: E731
    with ActorPool[int](lambda index: actor.remote(), PLACES, ask=ask) as workers:
        times = []
        for _ in workers.run((item for item in range(ITEMS)), lambda actor, item: actor.work.remote(item)):
            times.append(time.monotonic())
    half = ITEMS // 2
    return (ITEMS - half - 1) / (times[-1] - times[half])


@contextmanager
def _shared_core() -> Iterator[None]:
    """All threads of this process on one core, with another process that is never idle. Ray's processes, which run
    already, have all cores."""
    cores = os.sched_getaffinity(0)
    spin = f"import os\nos.sched_setaffinity(0, [{min(cores)}])\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", spin]) as busy:
        try:
            _pin({min(cores)})
            yield
        finally:
            _pin(cores)
            busy.kill()


def _pin(cores: set[int]) -> None:
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores)
