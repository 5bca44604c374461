"""Real processes of ``python -m selfplay`` killed or stopped amid their work, and the same command again."""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from selfplay.recorded import FORMAT
from tests.selfplay.commands import TINY, Command, actors, gone
from tests.selfplay.material import MADE, contents, run
from tests.test_repository import build_command

pytestmark = pytest.mark.slow

ACTORS = ("ray::Generator", "ray::Learner")
SHARDS = 6
USERS = "kibitz-of-the-user"
"""A directory that is none of ours."""
SETTINGS = (
    *TINY,
    "run.seed=11",
    # a shard takes long enough to be seen at work on a fast machine
    "selfplay={initial_games: 180, games_per_iteration: 360, games_per_shard: 60}",
    "learner={num_epochs: 100, max_steps: 250, checkpoint_every_steps: 25}",
    "evaluation={final: [{players: [argmax_val, hearts_rules], deals: 20}], deals_per_task: 5}",
)


def shards(run: Path, iteration: int) -> list[Path]:
    return list((run / f"iterations/{iteration:03d}/shards").glob("*.parquet"))


def in_training(run: Path, iteration: int) -> bool:
    return any((run / f"iterations/{iteration:03d}/checkpoint.partial").glob("step-*[0-9]"))


def kill_one(command: Command, title: str) -> None:
    """Kill the first actor that is seen at this."""
    command.until(lambda: actors(command.pid, title))[0].kill()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Command]]:
    """Starts the command; its temporary files lie beside its log."""
    with ExitStack() as ended:

        def begin(log: Path, *more: str) -> Command:
            command = Command("selfplay", *SETTINGS, *more, f"run.dir={tmp_path}/disturbed", log=log)
            ended.callback(command.clean_up)
            return command

        yield begin


def test_a_run_whose_actors_and_driver_are_killed_ends_as_one_that_is_left_alone(start, tmp_path: Path) -> None:
    calm, root, temporary = (tmp_path / name for name in ("calm", "disturbed", "temporary"))
    (temporary / USERS).mkdir(parents=True)
    # First, as it compiles the kernels: an actor busy with that makes no progress, and a short limit calls it hung.
    run(build_command("train", *SETTINGS, f"run.dir={calm}"))
    disturbed = start(temporary / "disturbed.log", "cluster.item_timeout_s=20")
    disturbed.until((root / "config.yaml").exists)
    second = start(tmp_path / "second.log")
    strike_actors(disturbed, root)
    assert second.wait() == 2, second.output
    assert second.output.count("\n") == 1 and "disturbed is in use by another command" in second.output

    below = disturbed.kill()
    left = [process for process in below if process.title.startswith(ACTORS)]
    ray_files = Path(re.findall(r"/tmp/kibitz-\w+", " ".join(process.title for process in below))[0])
    check_losses(disturbed.output)
    kept = {path: path.stat().st_mtime_ns for path in root.rglob("*.parquet")}
    assert not (root / "iterations/002/checkpoint").exists() and len(kept) == 3 + 2 * SHARDS
    assert any(process.title.startswith("ray::Learner") for process in left)
    when_killed = there(temporary, ray_files)
    assert len(when_killed) == 3, "its own, those of its Ray, and the user's"

    resumed = start(temporary / "resumed.log")
    assert gone(left), [process.title for process in left if process.alive()]
    assert actors(resumed.pid, "Learner") == [], "another trains before those of the killed driver have ended"
    kill_one(resumed, "Evaluator.play")
    meanwhile = there(temporary, ray_files) - {ray_files}  # a busy machine ends the killed Ray later
    assert len(meanwhile) == 2 and resumed.wait() == 0, resumed.output
    afterwards = there(temporary, ray_files)
    assert when_killed & meanwhile == afterwards and [path.name for path in afterwards] == [USERS]
    (died,) = [line for line in resumed.output.splitlines() if "its actor died" in line]
    assert died.startswith("deals ") and "of argmax_val against hearts_rules" in died
    assert "iteration 2: training" in resumed.output and "iteration 1" not in resumed.output
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    again = start(tmp_path / "again.log")
    assert again.wait() == 0, again.output
    assert f"{root}: finished" in again.output.replace("\n", "")
    check_equal(calm, root)


def strike_actors(command: Command, root: Path) -> None:
    """Kill a generator and a learner in iteration 1, and stop a generator in iteration 2."""
    command.until(lambda: shards(root, 1))
    kill_one(command, "Generator.generate")
    assert len(shards(root, 1)) < SHARDS
    command.until(lambda: in_training(root, 1))
    kill_one(command, "Learner")
    assert not (root / "iterations/001/checkpoint").exists()
    command.until(lambda: shards(root, 2))
    stopped = command.until(lambda: actors(command.pid, "Generator.generate"))[0]
    os.kill(stopped.pid, signal.SIGSTOP)
    command.until(lambda: in_training(root, 2))
    stopped.kill()  # when Ray's processes die, the kernel may wake what they have not yet killed


def check_losses(output: str) -> None:
    """The work of killed and stopped actors was done again, and each said so in a line."""
    died = [line for line in output.splitlines() if "its actor died" in line]
    assert len(died) == 3, output
    named = ("iterations/001/shards/", "iterations/001/checkpoint: ", "iterations/002/shards/")
    assert all(name in line for name, line in zip(named, died, strict=True))
    assert "no answer for " in died[2] and "cluster.item_timeout_s" in died[2]


def there(temporary: Path, ray_files: Path) -> set[Path]:
    """Temporary directories: those in the place for them, and that of the killed driver's Ray."""
    return {path for path in (*temporary.glob("kibitz-*"), ray_files) if path.exists()}


def check_equal(calm: Path, root: Path) -> None:
    """Shards, weights and tournaments, and no half-trained network is left."""
    expected, found = contents(calm, *MADE), contents(root, *MADE)
    assert len(expected) == 3 + 2 * SHARDS + 3 and list(found) == list(expected)
    assert [name for name in expected if found[name] != expected[name]] == []
    one, other = (json.loads((each / "results/tournament.json").read_text()) for each in (calm, root))
    assert (one[0]["deals"], one[0]["columns"]) == (20, other[0]["columns"])
    state = {"format": FORMAT, "iteration": 2, "stage": "finished"}
    assert json.loads((root / "state.json").read_text()) == state
    for each in (calm, root):
        assert len(list(each.glob("iterations/*/checkpoint*"))) == 3
