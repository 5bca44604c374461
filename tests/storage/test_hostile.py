"""A bucket of somebody else's: what it sends lies where it was asked for, or nowhere."""

from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.files import copies, uris
from tests.storage.hostile import hostile


@pytest.fixture(autouse=True)
def copies_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uris, "cache_directory", lambda: tmp_path / "cache")


@pytest.mark.parametrize(
    "key",
    [
        "net/../../../../outside",
        "net/..",
        "net/a/../../../outside",
        "net//outside",
        "net/./x",
        "elsewhere/x",
        "net/a\\x",
    ],
)
def test_a_key_that_leads_elsewhere_is_refused_before_anything_is_copied(key: str, tmp_path: Path) -> None:
    with hostile({"net/config.json": b"{}", key: b"written by the bucket"}) as server:
        with pytest.raises(UserError, match="leads out of it; take files that you know from elsewhere"):
            copies.local_copy(server.uri("net"))
        assert not any("config.json" in path for path in server.asked)
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".lock"}


def test_keys_below_it_are_copied_as_they_are(tmp_path: Path) -> None:
    large = bytes(range(256)) * 40_000  # more than one chunk
    objects = {"net/config.json": b"{}", "net/deep/er/..x": b"dots", "net/weights": large}
    with hostile(objects) as server:
        copy = copies.local_copy(server.uri("net"))
    assert {str(path.relative_to(copy.parent)) for path in copy.rglob("*") if path.is_file()} == {
        f"{copy.name}/{key.removeprefix('net/')}" for key in objects
    }
    assert (copy / "weights").read_bytes() == large and (copy / "deep/er/..x").read_text() == "dots"


def test_a_file_that_the_bucket_names_twice_is_not_written_over(tmp_path: Path) -> None:
    with (
        hostile({"net/a": b"file", "net/a/b": b"below it"}) as server,
        pytest.raises(UserError, match="cannot be read"),
    ):
        copies.local_copy(server.uri("net"))
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".lock"}
