"""One S3 server for each file of tests, and this process as its client."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.files import uris
from tests.storage.server import BUCKET, S3Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    root = tmp_path_factory.mktemp("server")
    with pytest.MonkeyPatch.context() as patched:
        started = S3Server(root / "log")
        for name, value in started.environment.items():
            patched.setenv(name, value)
        patched.setattr(tempfile, "tempdir", str(root))
        patched.setattr(uris, "cache_directory", lambda: root)
        yield started
        started.stop()


@pytest.fixture
def uri(server: S3Server, request: pytest.FixtureRequest) -> str:
    """A directory for this test alone."""
    return f"s3://{BUCKET}/{request.node.name.partition('[')[0][:60]}"


@pytest.fixture
def another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was copied to this machine is not there."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr(uris, "cache_directory", lambda: tmp_path / "elsewhere")
