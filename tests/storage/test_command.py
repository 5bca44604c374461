"""``python -m selfplay`` with a run directory behind ``s3://``, with Ray."""

import os
from pathlib import Path

import pytest

from cluster.files import storage
from cluster.files.locks import run_lock
from selfplay.verify import main as verify
from tests.selfplay.commands import TINY, Command
from tests.storage.server import S3Server


@pytest.mark.slow
def test_a_command_makes_a_run_behind_a_uri_unless_another_works_on_it(
    server: S3Server, uri: str, tmp_path: Path
) -> None:
    few = ("selfplay.initial_games=40", "selfplay.games_per_shard=20", "selfplay.iterations=0")
    settings = (*TINY, *few, "initial_learner.max_steps=4", f"run.dir={uri}")
    with run_lock(uri):
        refused = Command("selfplay", *settings, log=tmp_path / "refused.log")
        assert refused.wait() == 2
        assert f"error: {uri} is in use by another command (process {os.getpid()}" in refused.output
    assert storage.list_names(uri) in ([], [".claims"])
    command = Command("selfplay", *settings, log=tmp_path / "log")
    assert command.wait() == 0, command.output
    assert storage.read_json(f"{uri}/state.json") == {"format": 1, "iteration": 0, "stage": "finished"}
    assert verify([uri]) == 0
