"""Real processes of ``python -m selfplay`` killed or stopped in the middle of their work, and the same command again.

One story is lived once, and every test looks at a part of it: a run that is left alone, in this process, and the same
run whose generator, learner, evaluator and driver are killed and one of whose generators is stopped.
"""

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from selfplay.recorded import FORMAT
from tests.selfplay.commands import TINY, Command, Process, actors, gone
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


@dataclass(frozen=True)
class Story:
    """What happened. Commands are told by exit code and output."""

    undisturbed: Path
    disturbed: Path
    second_driver: tuple[int, str]
    """A command that was started on a run directory in use."""
    output: str
    """Of the command whose actors were killed, up to its own death."""
    left_by_driver: list[Process]
    """The actors of the driver when it was killed; by themselves they end while the same command starts again."""
    learners_meanwhile: list[Process]
    """The learners that it had by then."""
    temporary: list[set[Path]]
    """Temporary directories of the driver and one of a user's: when it was killed, while the same command was at work
    again, and after that."""
    kept: dict[Path, int]
    """Shards that were there when the driver was killed, and when they were written (ns)."""
    resumed: tuple[int, str]
    """The same command, started again."""
    again: tuple[int, str]
    """... and after that."""


def shards(run: Path, iteration: int) -> list[Path]:
    return list((run / f"iterations/{iteration:03d}/shards").glob("*.parquet"))


def in_training(run: Path, iteration: int) -> bool:
    return any((run / f"iterations/{iteration:03d}/checkpoint.partial").glob("step-*[0-9]"))


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    root, temporary = tmp_path_factory.mktemp("faults"), tmp_path_factory.mktemp("temporary")
    (temporary / USERS).mkdir()
    with ExitStack() as ended:

        def start(log: Path, *more: str) -> Command:
            command = Command("selfplay", *SETTINGS, *more, f"run.dir={root}/disturbed", log=log)
            ended.callback(command.clean_up)
            return command

        # First, as it compiles the kernels: an actor busy with that makes no progress, and a short limit calls it hung.
        undisturbed = root / "undisturbed"
        run(build_command("train", *SETTINGS, f"run.dir={undisturbed}"))
        disturbed = start(temporary / "disturbed.log", "cluster.item_timeout_s=20")
        disturbed.until((root / "disturbed/config.yaml").exists)
        second = start(root / "second.log")

        disturbed.until(lambda: len(shards(root / "disturbed", 1)) > 0)
        kill_one(disturbed, "Generator.generate")
        assert len(shards(root / "disturbed", 1)) < SHARDS
        disturbed.until(lambda: in_training(root / "disturbed", 1))
        kill_one(disturbed, "Learner")
        assert not (root / "disturbed/iterations/001/checkpoint").exists()
        disturbed.until(lambda: len(shards(root / "disturbed", 2)) > 0)
        stopped = disturbed.until(lambda: actors(disturbed.pid, "Generator.generate"))[0]
        os.kill(stopped.pid, signal.SIGSTOP)
        disturbed.until(lambda: in_training(root / "disturbed", 2))
        stopped.kill()  # when Ray's processes die, the kernel may wake what they have not yet killed
        below = disturbed.kill()
        left = [process for process in below if process.title.startswith(ACTORS)]
        ray_files = Path(re.findall(r"/tmp/kibitz-\w+", " ".join(process.title for process in below))[0])
        seen = [there(temporary, ray_files)]
        assert not (root / "disturbed/iterations/002/checkpoint").exists()
        kept = {path: path.stat().st_mtime_ns for path in (root / "disturbed").rglob("*.parquet")}

        resumed = start(temporary / "resumed.log")
        assert gone(left), [process.title for process in left if process.alive()]
        learners_meanwhile = actors(resumed.pid, "Learner")
        kill_one(resumed, "Evaluator.play")
        seen.append(there(temporary, ray_files))
        codes = second.wait(), resumed.wait()
        seen.append(there(temporary, ray_files))
        again = start(root / "again.log")
        ends = (codes[0], second.output), (codes[1], resumed.output), (again.wait(), again.output)
        yield Story(
            undisturbed, root / "disturbed", ends[0], disturbed.output, left, learners_meanwhile, seen, kept, *ends[1:]
        )


def kill_one(command: Command, title: str) -> None:
    """Kill the first actor that is seen at this."""
    command.until(lambda: actors(command.pid, title))[0].kill()


def there(temporary: Path, ray_files: Path) -> set[Path]:
    """Temporary directories: those in the place for them, and that of the killed driver's Ray."""
    return {path for path in (*temporary.glob("kibitz-*"), ray_files) if path.exists()}


def test_the_same_command_finishes_a_run_whose_driver_was_killed_and_then_says_so(story: Story) -> None:
    for code, output in (story.resumed, story.again):
        assert code == 0, output
    state = {"format": FORMAT, "iteration": 2, "stage": "finished"}
    assert json.loads((story.disturbed / "state.json").read_text()) == state
    assert f"{story.disturbed}: finished" in story.again[1].replace("\n", "")


def test_a_disturbed_run_ends_with_the_shards_and_weights_of_an_undisturbed_one(story: Story) -> None:
    expected, found = contents(story.undisturbed, *MADE), contents(story.disturbed, *MADE)
    assert len(expected) == 3 + 2 * SHARDS + 3 and list(found) == list(expected)
    assert [name for name in expected if found[name] != expected[name]] == []
    for root in (story.disturbed, story.undisturbed):  # no half-trained network is left
        assert len(list(root.glob("iterations/*/checkpoint*"))) == 3


def test_the_tournaments_of_a_disturbed_run_are_those_of_an_undisturbed_one(story: Story) -> None:
    one, other = (
        json.loads((run / "results/tournament.json").read_text()) for run in (story.undisturbed, story.disturbed)
    )
    assert (one[0]["deals"], one[0]["columns"]) == (20, other[0]["columns"])


def test_the_work_of_killed_and_stopped_actors_was_done_again_and_said_so_in_a_line(story: Story) -> None:
    died = [line for line in story.output.splitlines() if "its actor died" in line]
    assert len(died) == 3, story.output
    named = ("iterations/001/shards/", "iterations/001/checkpoint: ", "iterations/002/shards/")
    assert all(name in line for name, line in zip(named, died, strict=True))
    assert "no answer for " in died[2] and "cluster.item_timeout_s" in died[2]
    (died_later,) = [line for line in story.resumed[1].splitlines() if "its actor died" in line]
    assert died_later.startswith("deals ") and "of argmax_val against hearts_rules" in died_later


def test_what_was_done_before_the_driver_died_was_not_done_again(story: Story) -> None:
    assert len(story.kept) == 3 + 2 * SHARDS
    assert {path: path.stat().st_mtime_ns for path in story.kept} == story.kept
    assert "iteration 2: training" in story.resumed[1]
    assert "iteration 1" not in story.resumed[1]


def test_the_actors_of_a_killed_driver_end_by_themselves_before_another_trains(story: Story) -> None:
    assert any(process.title.startswith("ray::Learner") for process in story.left_by_driver)
    assert story.learners_meanwhile == []


def test_the_same_command_removes_the_temporary_directories_of_the_killed_driver_and_nothing_else(story: Story) -> None:
    when_killed, meanwhile, afterwards = story.temporary
    assert len(when_killed) == 3 and len(meanwhile) == 2, "its own, those of its Ray, and the user's"
    assert when_killed & meanwhile == afterwards and [path.name for path in afterwards] == [USERS]


def test_a_second_driver_on_a_run_directory_in_use_is_refused_in_one_line(story: Story) -> None:
    code, output = story.second_driver
    assert code == 2, output
    assert output.count("\n") == 1 and "disturbed is in use by another command" in output
