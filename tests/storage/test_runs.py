"""Whole runs behind ``s3://``: every stage, resuming on another machine, the commands that read what was made, and the
command with Ray."""

import os
from dataclasses import replace

import pytest

from cluster.files import storage, uris
from cluster.files.locks import run_lock
from learner.model.checkpoint import WEIGHTS_FILE, checkpoint_id, find
from learner.model.runs import newest
from learner.task import TrainingTask, run_task
from learner.training.resume import partial_path
from selfplay import verify
from selfplay.recorded import FORMAT
from tests.selfplay.commands import TINY, Command, call
from tests.selfplay.material import run, tiny_config
from tests.storage.server import BUCKET, S3Server

pytestmark = pytest.mark.slow

SHARDS = [f"iterations/{iteration:03d}/shards/{shard:05d}.parquet" for iteration in range(3) for shard in range(3)]
WEIGHTS = [f"iterations/{iteration:03d}/checkpoint/{WEIGHTS_FILE}" for iteration in range(3)]
TOURNAMENTS = [*(f"iterations/{iteration:03d}/tournament.json" for iteration in range(3)), "results/tournament.json"]


def bytes_of(path: str) -> bytes:
    filesystem, name = uris.resolve(path)
    with filesystem.open_input_stream(name) as stream:
        return bytes(stream.read())


def assert_equal(one: str, other: str) -> None:
    """Shards, weights and tournaments of two runs are the same."""
    for name in (*SHARDS, *WEIGHTS):
        assert bytes_of(f"{one}/{name}") == bytes_of(f"{other}/{name}"), name
    for name in TOURNAMENTS:
        columns = [[result["columns"] for result in storage.read_json(f"{root}/{name}")] for root in (one, other)]
        assert columns[0] == columns[1], name


@pytest.fixture(scope="module")
def finished(server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The same run on a local disk and behind a URI."""
    local, remote = str(tmp_path_factory.mktemp("run") / "finished"), f"s3://{BUCKET}/finished"
    for root in (local, remote):
        run(tiny_config(root))
    return local, remote


def test_a_run_behind_a_uri_equals_one_on_a_local_disk(finished: tuple[str, str]) -> None:
    local, remote = finished
    assert_equal(local, remote)
    assert newest(remote) == f"{remote}/iterations/002/checkpoint" and checkpoint_id(remote) == checkpoint_id(local)
    assert storage.list_names(f"{remote}/iterations/001") == storage.list_names(f"{local}/iterations/001")
    assert storage.read_json(f"{remote}/state.json") == {"format": FORMAT, "iteration": 2, "stage": "finished"}
    workers = run(tiny_config(remote))
    assert (workers.generated, workers.trained, workers.evaluated) == ([], [], [])


def test_a_run_behind_a_uri_resumes_with_what_is_missing(finished, server, another_machine) -> None:
    local, remote = finished
    for name in ("shards/00001.parquet", "checkpoint/digests.json", "metrics.json", "tournament.json"):
        storage.remove_file(f"{remote}/iterations/002/{name}")  # the checkpoint as a kill in its upload leaves it
    workers = run(tiny_config(remote))
    assert len(workers.generated) == len(workers.trained) == len(workers.evaluated) == 1
    assert_equal(local, remote)


def test_training_goes_on_from_its_last_step_on_another_machine(finished, uri, tmp_path, monkeypatch, another_machine):
    def die(metrics: dict[str, float]) -> None:
        if metrics["step"] >= 4:
            raise KeyboardInterrupt

    config = tiny_config(uri)
    learner = replace(config.learner, checkpoint_every_steps=2, log_every_steps=1, num_epochs=4)
    shards = tuple(f"{finished[1]}/{name}" for name in SHARDS[:3])
    task = TrainingTask(config.game, config.model, learner, shards, f"{uri}/checkpoint", None, seed=1)
    with pytest.raises(KeyboardInterrupt):
        run_task(task, die)
    assert not storage.is_published(task.out)
    assert storage.list_names(partial_path(task.out)) == ["step-000000002"]
    assert list((tmp_path / "elsewhere").iterdir()) == [], "nothing that another machine would need is here"
    steps: list[float] = []
    resumed = run_task(task, lambda metrics: steps.append(metrics["step"]))
    assert steps[0] == 3 and not storage.exists(partial_path(task.out))
    alone = run_task(replace(task, out=str(tmp_path / "alone")), lambda metrics: None)
    assert resumed["loss"] == alone["loss"]
    for name in (WEIGHTS_FILE, "training/optimizer.safetensors"):
        assert bytes_of(f"{task.out}/{name}") == bytes_of(f"{tmp_path}/alone/{name}")
    assert not list((tmp_path / "elsewhere").rglob("step-*")), "the copy of what it went on from is removed"


def test_commands_take_uris(finished, uri, tmp_path, monkeypatch, capsys) -> None:
    remote, small = finished[1], ("model.n_layer=1", "model.n_head=2", "model.n_embd=16", "learner.max_steps=2")
    checkpoint = f"{remote}/iterations/001/checkpoint"
    assert call(monkeypatch, "games.show", f"{remote}/{SHARDS[0]}", "--rows", "0:2") == 0
    assert "row 1: game" in capsys.readouterr().out
    learn = ("learner", f"data={remote}/iterations/000/shards", f"out={uri}/net", "learner.batch_size=8", *small)
    for expected in (": finished", "already finished"):
        assert call(monkeypatch, *learn) == 0
        assert expected in capsys.readouterr().out
    assert (find(f"{uri}/net") / WEIGHTS_FILE).is_file()
    players = f"players=['argmax_val@{checkpoint}',imitation]"
    played = ("search.arena.tournament", players, f"checkpoint={uri}/net", "deals=1", f"out={uri}/result.json")
    assert call(monkeypatch, *played) == 0
    assert storage.read_json(f"{uri}/result.json")["players"] == [f"argmax_val@{checkpoint}", "imitation"]
    assert call(monkeypatch, *played[:-1], f"out=s3://{BUCKET}-misspelt/result.json") == 2
    assert f"error: s3://{BUCKET}-misspelt: cannot be written to (Bucket" in capsys.readouterr().err
    values = ("search.arena.values", f"checkpoint={checkpoint}", "decisions=3", "worlds=2")
    assert call(monkeypatch, *values) == 0, capsys.readouterr().err


def test_a_run_and_a_sweep_whose_uri_carries_options_lie_in_their_directories(server, uri, monkeypatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    options, place = f"?scheme=http&endpoint_override={server.address}", uri.removeprefix(f"s3://{BUCKET}/")
    before = set(server.keys())
    config = tiny_config(f"{uri}/run{options}")
    config.selfplay.iterations, config.learner.checkpoint_every_steps = 0, 2
    config.evaluation.curve, config.evaluation.final = [], []
    run(config)
    assert storage.is_published(f"{uri}/run/iterations/000/checkpoint{options}")
    played = ("players=[hearts_rules,random]", "deals=1", "seed=1,2", f"out='{uri}/sweep{options}'")
    assert call(monkeypatch, "search.arena.tournament", "--multirun", *played) == 0
    assert storage.list_names(f"{uri}/sweep{options}") == ["leads.png", "seed=1.json", "seed=2.json"]
    outside = [key for key in {*server.keys()} - before if not key.startswith((f"{place}/run/", f"{place}/sweep/"))]
    assert set(outside) <= {f"{place}/", f"{place}/run", f"{place}/sweep"}, outside


def test_what_is_damaged_behind_a_uri_is_named(finished: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    remote = finished[1]
    assert verify.main([f"{remote}/"]) == 0
    weights = bytearray(bytes_of(f"{remote}/{WEIGHTS[1]}"))
    weights[-100] ^= 1
    storage.write_bytes_atomic(f"{remote}/{WEIGHTS[1]}", bytes(weights))
    capsys.readouterr()
    assert verify.main([remote]) == 1
    iteration = f"{remote}/iterations/001"
    said = (
        f"{iteration}/checkpoint: {WEIGHTS_FILE}: is damaged, its bytes are not those that digests.json was written for"
    )
    assert f"{said}; remove {iteration}/checkpoint {iteration}/metrics.json" in capsys.readouterr().out
    storage.remove_directory(f"{iteration}/checkpoint")
    storage.remove_file(f"{iteration}/metrics.json")
    assert len(run(tiny_config(remote)).trained) == 1
    assert_equal(*finished)


def test_a_command_makes_a_run_behind_a_uri_unless_another_works_on_it(server, uri, tmp_path) -> None:
    few = ("selfplay.initial_games=40", "selfplay.games_per_shard=20", "selfplay.iterations=0")
    settings = (*TINY, *few, "initial_learner.max_steps=4", f"run.dir={uri}")
    with run_lock(uri):
        refused = Command("selfplay", *settings, log=tmp_path / "refused.log")
        assert refused.wait() == 2
        assert f"error: {uri} is in use by another command (process {os.getpid()}" in refused.output
    assert storage.list_names(uri) in ([], [".claims"])
    command = Command("selfplay", *settings, log=tmp_path / "log")
    assert command.wait() == 0, command.output
    assert storage.read_json(f"{uri}/state.json") == {"format": FORMAT, "iteration": 0, "stage": "finished"}
    assert verify.main([uri]) == 0
