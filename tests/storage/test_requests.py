"""What goes over the line to object storage: requests and bytes, counted by a proxy."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.files import copies, storage
from cluster.files.digests import write_digests
from search.arena.partial_results import Parts
from tests.storage.server import S3Server
from tests.storage.slow_line import SlowLine


@pytest.fixture
def line(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowLine]:
    started = SlowLine(server.address, 0.0)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{started.address}")
    yield started
    started.stop()


def test_a_small_file_is_one_request_over_the_connection_that_is_there(line: SlowLine, uri: str) -> None:
    storage.write_bytes_atomic(f"{uri}/a", b"first")
    found = line.counted(lambda: storage.write_bytes_atomic(f"{uri}/deep/er/b", bytes(2**16)))
    assert (found["requests"], found["PUT"], found["connections"]) == (1, 1, 0)
    assert line.counted(lambda: Parts(f"{uri}/result.parts").keep("0-1", {}))["requests"] == 1
    assert line.counted(lambda: storage.read_bytes(f"{uri}/a"))["requests"] == 2


def test_many_files_are_looked_up_by_a_list_of_their_directory(line: SlowLine, uri: str) -> None:
    wanted = [f"{uri}/shards/{number:05d}.parquet" for number in range(30)]
    list(storage.of_each(lambda path: storage.write_bytes_atomic(path, b"rows"), wanted[::2]))
    found = list[set[str]]()
    assert line.counted(lambda: found.append(storage.existing([*wanted, f"{uri}/nowhere/x"])))["requests"] == 2
    assert found == [set(wanted[::2])]


def test_shards_that_are_fetched_are_read_once_and_named_as_they_were(line: SlowLine, uri: str) -> None:
    paths = [f"{uri}/shards/{number}.parquet" for number in range(3)]
    for path in paths:
        storage.write_bytes_atomic(path, path.encode())
    with pytest.raises(UserError) as error, copies.fetched(paths) as local:
        assert line.counted(lambda: [Path(file).read_bytes() for file in local])["requests"] == 0
        assert [Path(file).read_text() for file in local] == paths
        raise UserError(f"{local[1]}: is damaged; remove {local[1]}")
    assert str(error.value) == f"{paths[1]}: is damaged; remove {paths[1]}"
    assert not Path(local[0]).exists()
    missing = f"{uri}/shards/7.parquet"
    with pytest.raises(UserError, match=r"shards/7\.parquet: no such file"), copies.fetched([*paths, missing]):
        pass


def test_a_network_is_copied_to_a_machine_once_and_without_its_training_state(line, uri, tmp_path: Path) -> None:
    (new := tmp_path / "new" / "training").mkdir(parents=True)
    for file, size in ((new.parent / "weights", 2**20), (new / "moments", 2**21)):
        file.write_bytes(bytes(size))
    write_digests(new.parent)
    assert line.counted(lambda: storage.publish_directory(new.parent, uri))["requests"] == 3
    copied = list[Path]()

    def many() -> None:
        with ThreadPoolExecutor(8) as processes:
            copied.extend(processes.map(lambda _: copies.local_copy(uri, without="training"), range(8)))

    assert line.counted(many)["bytes"] < 1.1 * 2**20
    assert len(set(copied)) == 1 and sorted(file.name for file in copied[0].iterdir()) == ["digests.json", "weights"]
    assert (copies.local_copy(uri) / "training/moments").stat().st_size == 2**21
