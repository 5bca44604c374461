"""Files and directories behind ``s3://``: whole or not at all, and one line where something is wrong."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.files import copies, storage
from cluster.files.appended import AppendedText
from cluster.files.digests import DIGESTS_FILE, write_digests
from games.shards import find_shards
from learner.training.data import data_digest
from tests.storage.server import BUCKET, S3Server, environment_of

ROOT = Path(__file__).parents[2]


def directory(path: Path, **files: str) -> Path:
    path.mkdir()
    for name, content in files.items():
        (path / name).write_text(content)
    write_digests(path)
    return path


def test_what_is_written_is_read_listed_replaced_and_removed(uri: str) -> None:
    assert not storage.exists(uri) and storage.list_names(uri) == []
    for value in ([1], [1, 2]):
        storage.write_json_atomic(f"{uri}/deep/er/state.json", value)
        assert storage.read_json(f"{uri}/deep/er/state.json") == value
    assert storage.list_names(f"{uri}/deep") == ["er"] and storage.exists(f"{uri}/deep")
    with pytest.raises(FileNotFoundError):
        storage.read_text(f"{uri}/nothing")
    for _ in range(2):
        storage.remove_file(f"{uri}/deep/er/state.json")
        assert not storage.exists(f"{uri}/deep/er/state.json")
    for _ in range(2):
        storage.remove_directory(uri)
        assert not storage.exists(uri)


def test_the_endpoint_may_stand_in_the_uri(server, tmp_path, uri, monkeypatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    options = f"?scheme=http&endpoint_override={server.address}"
    storage.publish_directory(directory(tmp_path / "new", model="w"), f"{uri}{options}/checkpoint")
    assert storage.is_published(f"{uri}{options}/checkpoint")
    assert (copies.local_copy(f"{uri}/checkpoint{options}") / "model").read_text() == "w"


@pytest.mark.slow
def test_a_kill_in_the_middle_of_an_upload_leaves_nothing_half(server: S3Server, tmp_path: Path, uri: str) -> None:
    new = directory(tmp_path / "new", config="small")
    with (new / "weights").open("wb") as file:
        file.truncate(600 * 2**20)
    write_digests(new)
    target = f"{uri}/checkpoint"
    upload = f"from cluster.files import storage; storage.publish_directory({str(new)!r}, {target!r})"
    with subprocess.Popen([sys.executable, "-c", upload], cwd=ROOT, env=environment_of(server)) as killed:
        while not server.uploading("weights"):
            assert killed.poll() is None
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    assert storage.list_names(target) == ["config"] and not storage.is_published(target)
    (new / "weights").write_text("less, to save time")
    write_digests(new)
    storage.publish_directory(new, target)
    assert storage.is_published(target)
    assert (copies.local_copy(target) / "weights").read_text() == "less, to save time"
    storage.remove_directory(target)
    assert not storage.exists(target)


def test_what_says_that_a_directory_is_whole_comes_last(server, tmp_path, uri, monkeypatch) -> None:
    new, copied = directory(tmp_path / "new", a="1", z="2"), []
    real = storage.shutil.copyfileobj
    monkeypatch.setattr(
        "shutil.copyfileobj", lambda file, *rest: (real(file, *rest), copied.append(Path(file.name).name))
    )
    storage.publish_directory(new, uri)
    assert sorted(copied) == ["a", DIGESTS_FILE, "z"] and copied[-1] == DIGESTS_FILE


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (storage.check_writable, "cannot be written to"),
        (lambda path: storage.write_json_atomic(f"{path}/state.json", 1), "state.json: cannot be written"),
        (lambda path: storage.write_directory_atomic(path, lambda new: write_digests(new)), "cannot be written"),
        (copies.local_copy, "cannot be read"),
    ],
)
def test_a_bucket_that_is_not_there_is_one_line(server: S3Server, use: object, message: str) -> None:
    path = f"s3://{BUCKET}-misspelt/run"
    with pytest.raises(UserError) as error:
        use(path)
    assert str(error.value).startswith(path) and message in str(error.value) and "\n" not in str(error.value)


def test_a_log_keeps_its_damaged_bytes_so_that_verify_finds_them(uri: str) -> None:
    damaged = b'{"step": 1}\n{"st\xecp": 2}\n'
    storage.write_bytes_atomic(f"{uri}/metrics.jsonl", damaged)
    log = AppendedText(f"{uri}/metrics.jsonl")
    log.add('{"step": 3}')
    log.flush()
    assert storage.read_bytes(f"{uri}/metrics.jsonl") == damaged + b'{"step": 3}\n'


def test_credentials_that_do_not_do_and_an_endpoint_that_is_gone_are_one_line(tmp_path, monkeypatch, request) -> None:
    server = S3Server(tmp_path / "log")
    request.addfinalizer(server.stop)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    path = f"s3://{BUCKET}/run"
    storage.write_json_atomic(f"{path}/state.json", 1)
    server.ask_for_credentials(after=0)
    for use in (storage.check_writable, storage.read_json, storage.list_names, find_shards, lambda x: data_digest([x])):
        with pytest.raises(UserError, match=f"^{path}.*ACCESS_DENIED|^{path}.*INVALID_ACCESS_KEY_ID"):
            use(f"{path}/state.json")
    server.stop()
    with pytest.raises(UserError, match=f"^{path}/state.json: cannot be read .*NETWORK_CONNECTION"):
        storage.read_json(f"{path}/state.json")  # after seconds of trying again
