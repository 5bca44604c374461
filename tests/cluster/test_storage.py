"""Files that are there whole or not at all."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pyarrow.fs
import pytest

from cluster.errors import UserError
from cluster.files import cache, copies, storage, uris
from cluster.files.digests import write_digests
from cluster.files.locks import run_lock


def test_what_is_written_is_read_and_replaced_with_no_temporary_left(tmp_path: Path) -> None:
    path = tmp_path / "deep/er/state.json"
    assert not storage.exists(path)
    for value in ({"iteration": 1}, {"iteration": 2, "stage": "train"}):
        storage.write_json_atomic(path, value)
        assert storage.read_json(path) == value
    assert storage.read_json(f"file://{path}") == value
    assert [entry.name for entry in path.parent.iterdir()] == ["state.json"]


def test_a_write_that_fails_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.json"
    storage.write_bytes_atomic(path, b"old")

    def fail(descriptor: int) -> None:
        raise OSError("disk is full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UserError, match=r"state\.json: cannot be written \(disk is full\)"):
        storage.write_bytes_atomic(path, b"new")
    assert storage.read_text(path) == "old"
    assert storage.list_names(tmp_path) == ["state.json"]


def test_a_broken_json_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(UserError, match=r"state\.json is not JSON"):
        storage.read_json(tmp_path / "state.json")


def test_a_directory_is_published_once(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model").write_text(name)
    storage.publish_directory(tmp_path / "first", tmp_path / "it/checkpoint")
    with pytest.raises(UserError, match="it/checkpoint: exists already"):
        storage.publish_directory(tmp_path / "second", tmp_path / "it/checkpoint")
    assert storage.read_text(tmp_path / "it/checkpoint/model") == "first"
    assert storage.list_names(tmp_path) == ["it", "second"]
    assert copies.local_copy(tmp_path / "it") == tmp_path / "it"


def test_a_run_directory_behind_a_uri_works_as_a_local_one(tmp_path: Path, bucket: pyarrow.fs.FileSystem) -> None:
    (tmp_path / "new/sub").mkdir(parents=True)
    (tmp_path / "new/model").write_text("weights")
    (tmp_path / "new/sub/config").write_text("c")
    storage.write_json_atomic("mock://run/state.json", [1])
    assert storage.read_json("mock://run/state.json") == [1]
    storage.publish_directory(tmp_path / "new", "mock://run/checkpoint")
    assert storage.list_names("mock://run") == ["checkpoint", "state.json"]
    assert storage.list_names("mock://nowhere") == []
    fetched = copies.local_copy("mock://run/checkpoint")
    assert fetched.is_relative_to(tmp_path) and copies.local_copy("mock://run/checkpoint") == fetched
    with pytest.raises(UserError, match=r"^mock://run/elsewhere: cannot be read \(.+\)$"):
        copies.local_copy("mock://run/elsewhere")
    assert list(fetched.parent.iterdir()) == [fetched]
    assert (fetched / "model").read_text() == "weights" and (fetched / "sub/config").read_text() == "c"


def test_a_copy_that_fails_leaves_nothing_behind(
    tmp_path: Path, bucket: pyarrow.fs.FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.write_json_atomic("mock://run/checkpoint/model", [1])

    def fail(source: object, target: BinaryIO, length: int) -> None:
        target.write(b"half")
        raise OSError("the network is gone")

    monkeypatch.setattr(shutil, "copyfileobj", fail)
    with pytest.raises(UserError, match=r"^mock://run/checkpoint: cannot be read \(the network is gone\)$"):
        copies.local_copy("mock://run/checkpoint")
    assert {path.suffix for path in (tmp_path / "cache").rglob("*") if path.is_file()} == {".lock"}


@pytest.mark.parametrize("digests", [True, False])
def test_a_directory_replaced_behind_its_uri_is_copied_anew(
    digests: bool, tmp_path: Path, bucket: pyarrow.fs.FileSystem
) -> None:
    for run, size in (("deleted", 1), ("anew", 1 if digests else 2)):
        new = tmp_path / run
        new.mkdir()
        (new / "model").write_text(run[:1] * size)
        if digests:
            write_digests(new)
        if storage.exists("mock://run/checkpoint"):
            bucket.delete_dir("run/checkpoint")
        storage.publish_directory(new, "mock://run/checkpoint")
        copy = copies.local_copy("mock://run/checkpoint")
        assert (copy / "model").read_text() == run[:1] * size
        assert list(copy.parent.iterdir()) == [copy], "what nobody can ask for any more is removed"


def aged(path: Path, seconds: float) -> Path:
    """This directory as if nobody had touched it or its files for so long."""
    for each in (*path.rglob("*"), path):
        os.utime(each, (time.time() - seconds,) * 2)
    return path


def test_unfinished_halves_and_copies_that_nobody_uses_go_when_another_is_made(
    tmp_path: Path, bucket: pyarrow.fs.FileSystem
) -> None:
    old, used, other = ("mock://run/old", "mock://run/used", "mock://run/other")
    for path in (old, used, other):
        storage.write_json_atomic(f"{path}/model", [1])
    kept = [copies.local_copy(path) for path in (old, used)]
    halves = [kept[1].parent / "killed.tmp", kept[1].parent / f"{os.getpid()}.tmp"]
    for half in halves:
        (half / "model").mkdir(parents=True)
    aged(halves[0], 7 * 3600)
    for copy in kept:
        aged(copy.parent, 8 * 86400)
    aged(halves[1], 60)
    assert copies.local_copy(used) == kept[1]
    copies.local_copy(other)
    assert not kept[0].parent.exists() and kept[1].exists(), "the one that was asked for is kept"
    assert [half.exists() for half in halves] == [False, True], "the one that is being made is kept"


def test_nothing_goes_through_a_link_that_somebody_has_put_where_copies_lie(
    tmp_path: Path, bucket: pyarrow.fs.FileSystem
) -> None:
    storage.write_json_atomic("mock://run/checkpoint/model", [1])
    home, precious = copies.local_copy("mock://run/checkpoint").parent, tmp_path / "theirs/thesis"
    for place in (home, home.parent):
        precious.parent.mkdir(exist_ok=True)
        precious.write_text("three years")
        aged(precious.parent, 9 * 86400)
        shutil.rmtree(place)
        place.symlink_to(precious.parent)
        with pytest.raises(UserError, match=f"^{place}: is l.*must be a directory of yours alone.*KIBITZ_CACHE_DIR"):
            copies.local_copy("mock://run/checkpoint")
        with suppress(UserError):
            storage.remove_directory("mock://run/checkpoint")
        storage.write_json_atomic("mock://run/checkpoint/model", [1])
        assert precious.read_text() == "three years"
        place.unlink()
    (tmp_path / "cache").mkdir(exist_ok=True)
    home.parent.mkdir(mode=0o777)
    home.parent.chmod(0o777)
    with pytest.raises(UserError, match="is drwxrwxrwx of user"):
        copies.local_copy("mock://run/checkpoint")


def test_what_is_kept_on_a_machine_has_a_place_also_without_a_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KIBITZ_CACHE_DIR", "")  # which is not the working directory
    assert cache.cache_directory() == tmp_path / "home/.cache/kibitz"
    shutil.rmtree(tmp_path / "home")
    (tmp_path / "home").touch()  # nobody can write there, not even root
    assert cache.cache_directory() == tmp_path / f"tmp/kibitz-cache-{os.geteuid()}"
    assert cache.cache_directory().stat().st_mode & 0o777 == 0o700
    cache.cache_directory().chmod(0o755)
    with pytest.raises(UserError, match=r"must be a directory of yours alone .* set KIBITZ_CACHE_DIR to a directory"):
        cache.cache_directory()
    monkeypatch.setenv("KIBITZ_CACHE_DIR", str(tmp_path / "home/deep"))
    with pytest.raises(UserError, match=f"KIBITZ_CACHE_DIR={tmp_path}/home/deep: cannot be written to"):
        cache.cache_directory()


def test_an_earlier_process_with_the_same_number_is_not_in_the_way(
    tmp_path: Path, bucket: pyarrow.fs.FileSystem
) -> None:
    storage.write_json_atomic("mock://run/checkpoint/model", [1])
    copy = copies.local_copy("mock://run/checkpoint")
    copy.rename(copy.with_name(f"{os.getpid()}.tmp"))
    assert copies.local_copy("mock://run/checkpoint") == copy


def test_texts_give_names_of_files_that_tell_them_apart() -> None:
    assert uris.file_name("seed=1,deals=2") == "seed=1,deals=2"
    texts = ["imitation@/nets/a", "imitation@/nets_a", "imitation@/nets:a", "x" * 300, "x" * 301]
    names = [uris.file_name(text) for text in texts]
    assert len(set(names)) == len(texts) and all("/" not in name and len(name) < 255 for name in names)


def test_an_unknown_scheme_is_the_users_to_mend() -> None:
    with pytest.raises(UserError, match="nope://x"):
        storage.exists("nope://x")


def test_a_second_driver_is_refused_until_the_first_is_gone_however_it_died(tmp_path: Path) -> None:
    hold = (
        "import time; from cluster.files.locks import run_lock\n"
        f"with run_lock({str(tmp_path)!r}): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None and first.stdout.readline() == "held\n"
        with pytest.raises(UserError, match=f"in use by another command .process {first.pid}"), run_lock(tmp_path):
            pass
        first.send_signal(signal.SIGKILL)
    with run_lock(tmp_path):
        pass


def test_names_may_stand_behind_the_options_of_a_uri() -> None:
    options = "?endpoint_override=localhost:9&scheme=http"
    plain, joined = uris.resolve(f"s3://bucket/run/it/0{options}"), uris.resolve(f"s3://bucket/run{options}/it/0")
    assert plain[1] == joined[1] == "bucket/run/it/0" and plain[0].equals(joined[0])
    for names in ("", "/it/0"):
        uri = f"s3://bucket/run?endpoint_override=http://localhost:9{names}"
        assert uris.resolve(uri)[1] == f"bucket/run{names}"
    assert uris.beside(f"s3://bucket/run/{options}", ".partial") == f"s3://bucket/run.partial{options}"
    assert uris.parent(f"s3://bucket/run/x.json{options}") == f"s3://bucket/run{options}"
    assert uris.beside(f"s3://bucket/run{options}/it/0", ".partial") == f"s3://bucket/run/it/0.partial{options}"
    assert uris.parent(f"s3://bucket/run{options}/it/x.json") == f"s3://bucket/run/it{options}"
    assert uris.parent(f"s3://bucket/run/{options}/x.json") == f"s3://bucket/run{options}"
    assert uris.beside("what?/run", ".partial") == "what?/run.partial"
    long = "s3://b" + "/" * 200_000 + "c"  # takes minutes where each slash is looked at from every other
    assert uris.beside(long, ".partial") == f"{long}.partial"


def test_a_file_uri_names_a_local_file(tmp_path: Path) -> None:
    uri = f"file://{tmp_path}/new/x.json"
    assert uris.parent(uri) == f"file://{tmp_path}/new" and uris.parent("file:///x.json") == "file:///"
    storage.check_writable(uris.parent(uri))
    storage.write_json_atomic(uri, [1])
    assert storage.read_json(tmp_path / "new/x.json") == [1]


def test_where_nothing_can_be_written_is_said_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    storage.check_writable(tmp_path / "new/deep")
    assert not (tmp_path / "new").exists()
    with pytest.raises(UserError, match=f"file/deep/run: {tmp_path}/file is a file; give a directory"):
        storage.check_writable(tmp_path / "file/deep/run")
    with pytest.raises(UserError, match="is a file; give a directory"), run_lock(tmp_path / "file/deep/run"):
        pass


@pytest.mark.parametrize("path", ["s3:/bucket/run", "s3:bucket/run", "file:/tmp/run"])
def test_a_uri_without_its_slashes_is_no_local_directory(path: str) -> None:
    with pytest.raises(UserError, match=f"{path}: a URI has two slashes"):
        uris.resolve(path)
