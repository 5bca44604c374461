"""Roles on two groups of machines that are pretended: 24 CPUs and a GPU for players, 8 CPUs and a GPU for the learner.

Sixteen generators play, a learner begins to train, and the generators play again while it does. With labels each role
is on its own group; the naive way is without. ``roles_learner_waits``: seconds until the learner's work begins, the
start of its process included. ``roles_generators``: how many play meanwhile.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ray.cluster_utils import Cluster

from benchmarks.report import Case
from cluster.actors.connection import connect
from cluster.actors.stages import Stage, Stages
from cluster.config import ClusterConfig
from cluster.preflight import Request

PLAYERS, SHARE = 16, 1 / 16
MACHINES = {"players": 24, "learner": 8}
"""Role -> CPUs, each with a GPU."""
PLAY_SECONDS = 15.0
"""How long generators play beside the learner; their processes need some of it to start, where they had ended."""


class Worker:
    """Works for as long as it is told."""

    def play(self, seconds: float) -> None:
        """Some games."""
        time.sleep(seconds)

    def train(self, directory: Path) -> None:
        """From the file ``begun``, which it makes, to the file ``enough``."""
        (directory / "begun").touch()
        while not (directory / "enough").exists():
            time.sleep(0.05)

    def progress(self) -> dict[str, float]:
        """Itself, to be counted."""
        return {"at_work": 1}


def cases(full: bool) -> list[Case]:
    """With labels against without."""
    with machines() as address:
        found = [_measured(address, labelled) for labelled in (True, False)]
    (waits, beside), (naive_waits, naive_beside) = found
    return [
        Case("scale", "roles_learner_waits", waits, naive_waits, "s", less_is_better=True),
        Case("scale", "roles_generators", beside, naive_beside, "generators"),
    ]


@contextmanager
def machines() -> Iterator[str]:
    """The address of a Ray with both groups, on the loopback interface."""
    before = dict(os.environ)
    os.environ |= {"RAY_AUTH_MODE": "disabled", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    few: dict[str, Any] = {"num_gpus": 1, "object_store_memory": 100 * 2**20, "include_dashboard": False}
    head, other = ({"num_cpus": cpus, "labels": {"role": role}, **few} for role, cpus in MACHINES.items())
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        cluster.add_node(**{key: value for key, value in other.items() if key != "include_dashboard"})
        yield cluster.address
    finally:
        cluster.shutdown()
        os.environ.clear()
        os.environ.update(before)


def _measured(address: str, labelled: bool) -> tuple[float, int]:
    """By a driver of its own: the learner's wait, and the generators beside it."""
    command = [sys.executable, "-m", "tests.scale.roles", address, *["labelled"] * labelled]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parents[2])
    waits, beside = json.loads(done.stdout.splitlines()[-1])
    return waits, beside


def main(address: str, labelled: bool) -> None:
    """Print both figures as JSON."""
    labels = {role: (("role", role),) if labelled else () for role in MACHINES}
    stages = [
        Stage(Request("players", PLAYERS, 1, SHARE, labels=labels["players"]), Worker),
        Stage(Request("learner", 1, 1, 1, labels=labels["learner"]), Worker),
    ]
    with (
        tempfile.TemporaryDirectory() as directory,
        connect(ClusterConfig("existing", address)),
        Stages(ClusterConfig(), stages, at_once=[*MACHINES]) as workers,
    ):
        play(workers, PLAY_SECONDS)
        place, began = Path(directory), time.monotonic()
        learning = threading.Thread(target=train, args=(workers, place))
        learning.start()
        while not (place / "begun").exists():
            time.sleep(0.05)
        waits = time.monotonic() - began
        beside = play(workers, PLAY_SECONDS)
        (place / "enough").touch()
        learning.join()
    print(json.dumps([waits, beside]))


def play(workers: Stages, seconds: float) -> int:
    """An item for each generator; how many were at work at once."""
    at_work = list[float]()
    note = lambda so_far: at_work.append(so_far.get("at_work", 0))  # noqa: E731
    for _ in workers.run("players", [seconds] * PLAYERS, lambda actor, item: actor.play.remote(item), note):
        pass
    return int(max(at_work))


def train(workers: Stages, place: Path) -> None:
    """A training, which ends when the generators have played."""
    for _ in workers.run("learner", [place], lambda actor, item: actor.train.remote(item), lambda so_far: None):
        pass


if __name__ == "__main__":
    main(sys.argv[1], len(sys.argv) > 2)
