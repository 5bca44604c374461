"""``python -m selfplay`` and ``python -m selfplay.generate`` as a user meets them. ``test_refusals`` has bad input."""

import json
import re
import sys
from pathlib import Path

import pytest

from games.hearts.game import HeartsGame
from games.registry import make_game
from games.shards import read_shard, shard_info
from learner.model.checkpoint import checkpoint_id, save_weights
from selfplay.recorded import FORMAT
from tests.cluster.heads import started
from tests.learner.material import shard_of, tiny_net
from tests.learner.test_golden import NO_PASS
from tests.selfplay.commands import TINY, Command, actors, call, descendants, gone

GAME = HeartsGame()
SLOW = pytest.mark.slow


def test_a_sweep_over_kinds_of_network_takes_keys_of_the_kind_and_checks_them(tmp_path, monkeypatch, capsys) -> None:
    shard_of(make_game("hearts", NO_PASS), tmp_path / "shards", 40)
    line = ["game=hearts_no_pass", "model=fc,pv16", f"data={tmp_path}/shards", "learner.max_steps=2", "--multirun"]
    assert call(monkeypatch, "learner", *line, "model.width=8", f"out={tmp_path}/out") == 0
    widths = {path.parent.name: json.loads(path.read_text())["width"] for path in tmp_path.glob("out/*/config.json")}
    assert widths == {"model=fc": 8, "model=pv16": 8}
    capsys.readouterr()
    assert call(monkeypatch, "learner", *line, "model.widht=8", f"out={tmp_path}/other") == 2
    assert capsys.readouterr().err.count("error: unknown key 'model.widht'") == 2


@SLOW
def test_more_gpus_than_there_are_end_in_a_table_and_nothing_is_played(tmp_path, monkeypatch, capfd) -> None:
    arguments = (*TINY, "cluster.num_gpus=0", "cluster.learner_gpus=1", f"run.dir={tmp_path}/run")
    assert call(monkeypatch, "selfplay", *arguments) == 2
    said = "".join(capfd.readouterr())
    assert "error: the cluster has no room for 1 learner" in said
    assert "available" in said and "Traceback" not in said
    assert {path.name for path in (tmp_path / "run").iterdir()} <= {".lock"}


@SLOW
def test_the_last_checkpoint_given_plays_argmax_val_and_is_kept(tmp_path, monkeypatch) -> None:
    for seed in range(2):
        save_weights(tmp_path / str(seed), tiny_net(GAME, seed), GAME)
    checkpoints, out = f"checkpoints=[{tmp_path}/0,{tmp_path}/1]", f"out={tmp_path}/shards"
    assert call(monkeypatch, "selfplay.generate", "games=8", "cluster.generators=1", checkpoints, out) == 0
    rows = read_shard(tmp_path / "shards/00000.parquet", GAME)
    assert len(rows) == 8 and set(rows.player) == {"argmax_val@001"}
    ids = [checkpoint_id(tmp_path / str(seed)) for seed in range(2)]
    assert shard_info(tmp_path / "shards/00000.parquet").provenance["checkpoints"] == f"000:{ids[0]} 001:{ids[1]}"


@SLOW
@pytest.mark.parametrize(
    ("settings", "busy"),
    [
        (["selfplay.initial_games=2000000"], "Generator.generate"),
        (
            ["selfplay.initial_games=60", "initial_learner.num_epochs=9999", "initial_learner.max_steps=99999"],
            "Learner",
        ),
    ],
)
def test_a_request_to_terminate_ends_the_command_and_its_actors_in_order(settings, busy, tmp_path) -> None:
    command = Command("selfplay", *TINY, *settings, f"run.dir={tmp_path}/run", log=tmp_path / "log")
    try:
        command.until(lambda: actors(command.pid, busy))
        below = descendants(command.pid)
        (ray_files, *_) = map(Path, re.findall(r"/tmp/kibitz-\w+", " ".join(process.title for process in below)))
        assert ray_files.exists() and list(tmp_path.glob("kibitz-*"))
        assert command.terminate(240) == 143, command.output
        assert gone(below)
    finally:
        command.clean_up()
    assert "Traceback" not in command.output and "PC: @" not in command.output
    assert not ray_files.exists() and not list(tmp_path.glob("kibitz-*")), "temporary directories that stay"


@SLOW
def test_a_run_submitted_as_a_job_leaves_a_complete_run_directory(tmp_path: Path) -> None:
    arguments = (
        *(*TINY, "cluster=job", "cluster.generators=1", "cluster.generator_memory_mb=0", f"run.dir={tmp_path}/run"),
        *(f"cluster.{role}_gpus=0" for role in ("generator", "evaluator", "learner")),
        *("selfplay.initial_games=40", "selfplay.iterations=1", "selfplay.games_per_iteration=20"),
        *("selfplay.games_per_shard=20", "learner.max_steps=10"),
        "evaluation.final=[{players: [argmax_val, random], deals: 2}]",
    )
    with started() as head:
        ended = head.submit(sys.executable, "-m", "selfplay", *arguments)
    assert ended.returncode == 0, f"{ended.stdout}{ended.stderr}"
    run = tmp_path / "run"
    state = {"format": FORMAT, "iteration": 1, "stage": "finished"}
    assert json.loads((run / "state.json").read_text()) == state
    for iteration, shards in ((0, 2), (1, 1)):
        directory = run / f"iterations/{iteration:03d}"
        assert len(list((directory / "shards").glob("*.parquet"))) == shards
        assert (directory / "checkpoint/model.safetensors").is_file()
    (final,) = json.loads((run / "results/tournament.json").read_text())
    assert (final["players"], final["deals"]) == (["argmax_val", "random"], 2)
    assert "argmax_val" in ended.stdout
