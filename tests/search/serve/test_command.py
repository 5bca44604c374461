"""``kibitz serve``: by which names it may be asked, what it prints, what it leaves in files, and how it ends."""

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
from search.apps.serve.names import place_of, refused
from tests.search.serve.clients import asks, begun, played, until
from tests.search.serve.material import at, config

PROXY = "play.example.org"
SITE, NAME = "another site may not ask this one", "this server answers at its own address alone"


@pytest.mark.parametrize(
    ("host", "origin", "told"),
    [
        ("127.0.0.1:8600", None, ""),
        ("localhost", None, ""),
        ("LOCALHOST:9000", None, ""),  # through a tunnel
        ("[::1]", None, ""),
        ("[::1]:8600", None, ""),
        *((host, None, NAME) for host in ("", "evil.example", "127.0.0.1:evil", "127.0.0.1:", "127.0.0.1:99999")),
        *((host, None, NAME) for host in ("::1", "[::1", "[127.0.0.1]x", "127.0.0.1.", "127.0.0.1@evil.example")),
        *((host, None, NAME) for host in ("evil.example#localhost", "127.0.0.1:8600:1", "localhost:٣", "a b")),
        ("127.0.0.1:8600", "http://127.0.0.1:8600", ""),
        ("localhost", "http://localhost", ""),
        ("localhost:80", "http://localhost", ""),
        ("[::1]:8600", "http://[::1]:8600", ""),
        ("127.0.0.1:8600", "http://localhost:8600", SITE),
        ("127.0.0.1:8600", "http://127.0.0.1:8601", SITE),
        ("127.0.0.1:8600", "https://127.0.0.1:8600", SITE),
        *(
            ("127.0.0.1:8600", origin, SITE)
            for origin in ("null", "", "evil.example", "http://", "ftp://127.0.0.1:8600")
        ),
        ("127.0.0.1:8600", "http://127.0.0.1:8600/", SITE),
        ("127.0.0.1:8600", "http://127.0.0.1:8600.evil.example", SITE),
        (PROXY, f"https://{PROXY}", NAME),
        ("127.0.0.1:8600", f"https://{PROXY}", SITE),
    ],
)
def test_a_server_on_loopback_answers_its_own_pages_alone(host: str, origin: str | None, told: str) -> None:
    assert refused("127.0.0.1", [], host, origin) == told


@pytest.mark.parametrize("listens", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize("host", [PROXY, f"{PROXY}:443", "127.0.0.1:8600", "Play.Example.org"])
def test_a_proxy_may_keep_the_name_or_not(listens: str, host: str) -> None:
    for origin in (f"https://{PROXY}", f"http://{PROXY}", "HTTPS://PLAY.EXAMPLE.ORG", None):
        assert refused(listens, [PROXY], host, origin) == ""
    for origin in (f"https://{PROXY}:8443", f"https://evil.{PROXY}", f"https://{PROXY}.evil", "https://evil.example"):
        assert refused(listens, [PROXY], host, origin) == SITE
    assert refused(listens, [f"{PROXY}:8443"], host, f"https://{PROXY}:8443") == ""


def test_names_are_names_of_hosts_and_elsewhere_than_on_loopback_any_does_with_its_own_pages() -> None:
    assert refused("0.0.0.0", [], "192.0.2.7:8600", "http://192.0.2.7:8600") == ""
    assert refused("0.0.0.0", [], "192.0.2.7:8600", "http://evil.example") == SITE
    assert refused("0.0.0.0", [], "192.0.2.7:evil", None) == NAME
    assert config("skat", names=[PROXY, "[2001:db8::1]:8443"]).names
    for name in (f"https://{PROXY}", f"{PROXY}/kibitz", "", "a b", f"{PROXY}:x"):
        with pytest.raises(ValueError, match="is no name of a host"):
            config("skat", names=[name])
    assert place_of("[2001:DB8::1]:8443") == ("2001:db8::1", "8443")


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
    async with aiohttp.ClientSession(address, headers={"X-Kibitz-Key": key}) as client:
        socket, scene = await begun(client)
        assert scene["words"]
        scene = await played(socket, scene)
        assert sum(scene["points"]) == 2
        await socket.send_json(at(scene, deal=True))
        await until(socket, asks)


@pytest.mark.slow
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


def test_a_directory_that_others_can_look_into_is_told_and_the_link_can_be_followed(tmp_path: Path) -> None:
    for mode, told in ((0o700, False), (0o750, True), (0o701, True)):
        tmp_path.chmod(mode)
        assert command._is_open_to_others(str(tmp_path)) is told
    assert not command._is_open_to_others("s3://bucket/tables")
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
