"""Notice before the end: a learner whose machine is about to go, or whose command is ended, writes its checkpoint."""

import json
import os
import re
from pathlib import Path

import pytest

from cluster.leaving import VARIABLE
from tests.selfplay.commands import TINY, Command, actors
from tests.selfplay.material import MADE, contents, run
from tests.test_repository import build_command

pytestmark = pytest.mark.slow

SETTINGS = (
    *TINY,
    "run.seed=5",
    "selfplay.iterations=0",
    "selfplay.initial_games=60",
    "learner.num_epochs=10000",
    "initial_learner.max_steps=1500",
    "learner.checkpoint_every_steps=100000",
    "learner.log_every_steps=1",
)


def saved(root: Path) -> list[int]:
    """Steps of the checkpoints that a learner can go on from."""
    found = (root / "iterations/000/checkpoint.partial").glob("step-*[0-9]")
    return [int(path.name.removeprefix("step-")) for path in found if (path / "digests.json").exists()]


def reached(root: Path) -> int:
    """The last step that the command has heard of."""
    lines = [json.loads(line) for line in (root / "metrics.jsonl").read_text().splitlines()]
    return max((line["step"] for line in lines if "loss" in line["values"]), default=0)


def test_a_training_told_of_its_end_goes_on_where_it_was(tmp_path: Path) -> None:
    calm, root, notice = tmp_path / "calm", tmp_path / "told", tmp_path / "leaving"
    run(build_command("train", *SETTINGS, f"run.dir={calm}"))
    environment = {**os.environ, VARIABLE: str(notice)}
    command = Command("selfplay", *SETTINGS, f"run.dir={root}", log=tmp_path / "told.log", environment=environment)
    try:
        command.until(lambda: (root / "metrics.jsonl").exists() and reached(root))
        assert not saved(root)
        notice.touch()
        (told,) = command.until(lambda: saved(root))
        assert told > 0
        command.until(lambda: actors(command.pid, "Learner"))[0].kill()  # its machine has gone
        notice.unlink()
        command.until(lambda: "its actor died" in command.output and reached(root) > told + 50)
        assert command.terminate() == 143
        (stopped,) = saved(root)
        assert stopped >= reached(root) > told
    finally:
        command.clean_up()
    again = Command("selfplay", *SETTINGS, f"run.dir={root}", log=tmp_path / "again.log")
    try:
        assert again.wait() == 0, again.output
    finally:
        again.clean_up()
    logged = re.findall(r"training: .*?step (\d+)", again.output)
    assert logged and int(logged[0]) >= stopped
    assert contents(root, *MADE) == contents(calm, *MADE)
