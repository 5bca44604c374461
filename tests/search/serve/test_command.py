"""``kibitz serve`` as a process: what it prints, what it leaves in files, and how it ends."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from search.apps.serve import __main__ as command
from search.apps.serve.config import KEY_VARIABLE
from tests.search.serve.clients import asks, until
from tests.search.serve.material import at, config

KEY = "a-secret-of-the-house"
TOY = "tests.search.toy:ToyGame"
"""A game of somebody else's, without pictures, levels or a network."""


@contextmanager
def process(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server and its link. Its error output is a full disk, and after the link nobody reads its output."""
    line = [sys.executable, "-m", "search.apps.serve", "port=0", *arguments]
    with Path("/dev/full").open("wb") as full:
        made = subprocess.Popen(
            line, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=full, text=True, umask=0o022
        )
    with made:
        assert made.stdout
        try:
            yield made, made.stdout.readline().strip()
        finally:
            made.kill()


async def play_hand(address: str, key: str) -> None:
    async with aiohttp.ClientSession(headers={"X-Kibitz-Key": key}) as client:
        async with client.post(f"{address}tables", json={}) as response:
            assert response.status == 200, await response.text()
            found = await response.json()
        socket = await client.ws_connect(f"{address}tables/{found['table']}")
        await socket.send_json({"seat": found["seats"]["0"]})
        scene = await until(socket, asks)
        while not scene["over"]:
            assert scene["words"]
            await socket.send_json(at(scene))
            scene = await until(socket, asks)
        assert sum(scene["points"]) == 2
        await socket.send_json(at(scene, deal=True))
        await until(socket, asks)


def test_a_game_of_ones_own_is_served_and_no_file_of_its_tables_is_for_others(tmp_path: Path) -> None:
    out = tmp_path / "above" / "tables"
    with process(f"game={TOY}", "player=random", f"out={out}", "host=0.0.0.0", KIBITZ_KEY=KEY) as (server, link):
        port = link.split(":")[2].partition("/")[0]
        assert link.endswith(f"/#key={KEY}") and "0.0.0.0" not in link
        assert KEY not in Path(f"/proc/{server.pid}/cmdline").read_text()
        asyncio.run(play_hand(f"http://127.0.0.1:{port}/", KEY))
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0
    left = [out.parent, out, *out.rglob("*")]
    assert {path.name.partition("-")[0] for path in left[2:]} == {".lock", "table", "hands"}
    assert {oct(stat.S_IMODE(path.stat().st_mode)) for path in left if path.is_dir()} == {"0o700"}
    assert {oct(stat.S_IMODE(path.stat().st_mode)) for path in left if path.is_file()} == {"0o600"}


def test_a_directory_that_others_can_look_into_is_told(tmp_path: Path) -> None:
    for mode, told in ((0o700, False), (0o750, True), (0o701, True)):
        tmp_path.chmod(mode)
        assert command._is_open_to_others(str(tmp_path)) is told
    assert not command._is_open_to_others("s3://bucket/tables")


def test_the_link_names_an_address_that_can_be_followed() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "192.0.2.7", "play.example.org"):
        assert command._followed(host) == host
    for host in ("0.0.0.0", "::", ""):
        assert command._followed(host) not in ("", "0.0.0.0", "::", "127.0.0.1")


def test_the_key_comes_from_a_file_or_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\nnothing more\n")
    assert config("skat", key_file=str(file), host="0.0.0.0").key == KEY
    monkeypatch.setenv(KEY_VARIABLE, "another-secret")
    assert config("skat").key == "another-secret" and config("skat", key=KEY).key == KEY
    assert config("skat", key_file=str(file)).key == KEY
    with pytest.raises(ValueError, match=r"key_file=.*: must be left out where key is given"):
        config("skat", key=KEY, key_file=str(file))
    file.write_text("\n")
    for path, why in ((file, "must be a file whose first line is the key"), (tmp_path, "cannot be read")):
        with pytest.raises(ValueError, match=f"key_file={path}: {why}"):
            config("skat", key_file=str(path))
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=f"key_file={file}: cannot be read"):
        config("skat", key_file=str(file))
