"""Networks given away: into a folder, and to a stand-in of the hub that keeps what it is sent."""

import base64
import errno
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from games.registry import make_game
from learner import kinds
from learner.model.checkpoint import checkpoint_id, find, read_players, save_weights
from learner.publish import main
from tests.learner.material import tiny_net

GAME = make_game("hearts")


def test_a_network_that_ships_keeps_its_card_and_loads(tmp_path: Path) -> None:
    assert main(["kibitz:skat", str(tmp_path / "out")]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "README.md", "config.json", "digests.json", "model.safetensors", "players.json",
    }  # fmt: skip
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.startswith("---\nlicense: apache-2.0\n") and card.endswith(
        (find("kibitz:skat") / "README.md").read_text()
    )
    assert checkpoint_id(tmp_path / "out") == checkpoint_id("kibitz:skat")
    kinds.of_checkpoint(str(tmp_path / "out")).load(str(tmp_path / "out"), make_game("skat"))


def test_what_was_published_is_given_on_with_its_own_header_and_licence(tmp_path: Path) -> None:
    assert main(["kibitz:skat", str(tmp_path / "first")]) == 0
    card = tmp_path / "first" / "README.md"
    card.write_text(mine := card.read_text().replace("license: apache-2.0", "license: cc-by-4.0\nlanguage: de"))
    assert main([str(tmp_path / "first"), str(tmp_path / "second")]) == 0
    assert (tmp_path / "second" / "README.md").read_text() == mine and mine.count("---\n") == 2


@pytest.mark.parametrize("name", ["README.md", "config.json", "model.safetensors", "players.json", "digests.json"])
def test_what_a_link_leads_to_is_not_given_away(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_weights(tmp_path / "net", tiny_net(GAME), GAME)
    (tmp_path / "secret").write_text("mine")
    (tmp_path / "net" / name).unlink(missing_ok=True)
    (tmp_path / "net" / name).symlink_to(tmp_path / "secret")
    assert main([str(tmp_path / "net"), str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert f"net/{name}: is a link" in error and error.count("\n") == 1 and not (tmp_path / "out").exists()


def test_a_disk_that_is_full_is_one_line_and_not_in_the_way_of_the_next_try(tmp_path, monkeypatch, capsys):
    def full(source: Path, target: Path) -> None:
        Path(target).touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "out").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfile", full)
        assert main(["kibitz:skat", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "out cannot be written (No space left on device); free some space" in error and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    assert main(["kibitz:skat", str(tmp_path / "out")]) == 0


def test_another_gets_a_card_with_its_facts_and_nothing_of_its_training(tmp_path: Path) -> None:
    save_weights(tmp_path / "net", tiny_net(GAME), GAME, players={"argmax_val": {"threshold": 0.3}})
    (tmp_path / "net" / "training").mkdir()
    (tmp_path / "net" / "training" / "secret").touch()
    assert main([str(tmp_path / "net"), str(tmp_path / "out")]) == 0
    card = (tmp_path / "out" / "README.md").read_text()
    assert "kibitz play hearts checkpoint=network" in card and checkpoint_id(tmp_path / "net") in card
    assert not (tmp_path / "out" / "training").exists() and str(tmp_path) not in card
    assert read_players(tmp_path / "out") == read_players(tmp_path / "net") != {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "out"], "nowhere"),
        (["kibitz:skat", "full"], "full: is there already; name a new directory"),
        (["kibitz:skat", "out", "--private"], "--private: is for a hub; leave it out with out"),
        (["kibitz:skat", "hf://name"], "hf://name: must be hf://USER/NAME"),
        (["broken", "out"], "broken"),
    ],
)
def test_what_is_in_the_way_is_said_in_a_line(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    save_weights(tmp_path / "broken", tiny_net(GAME), GAME)
    weights = bytearray((tmp_path / "broken" / "model.safetensors").read_bytes())
    weights[-5] ^= 1
    (tmp_path / "broken" / "model.safetensors").write_bytes(weights)
    assert main(arguments) == 2
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1 and said in error[0] and not (tmp_path / "out").exists()


# ---- a stand-in of the hub's API: it takes every file as a part of the commit


class Hub(BaseHTTPRequestHandler):
    refuses = False
    files: dict[str, bytes]
    asked: list[tuple[str, str | None]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).asked.append((self.path, self.headers.get("Authorization")))
        if type(self).refuses:
            self._answer({"error": "no"}, 403)
        elif self.path.endswith("/repos/create"):
            self._answer({"url": f"http://{self.headers['Host']}/me/net"})
        elif "/preupload/" in self.path:
            names = [one["path"] for one in json.loads(body)["files"]]
            self._answer({"files": [{"path": name, "uploadMode": "regular", "shouldIgnore": False} for name in names]})
        elif "/commit/" in self.path:
            for line in filter(None, body.decode().splitlines()):
                if (entry := json.loads(line))["key"] == "file":
                    type(self).files[entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
            commit = f"http://{self.headers['Host']}/me/net/commit/1"
            self._answer({"commitUrl": commit, "commitOid": "1" * 40, "success": True})
        else:
            self._answer({})

    def do_GET(self) -> None:
        self._answer({"id": "me/net", "sha": "0" * 40, "siblings": [], "private": False})

    def _answer(self, found: dict[str, Any], status: int = 200) -> None:
        data = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    Hub.files, Hub.asked, Hub.refuses = {}, [], False
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_TOKEN", "hf_of_a_test")
    yield Hub
    server.shutdown()


def test_a_hub_gets_the_same_files_with_the_token(hub, tmp_path, capsys):
    assert main(["kibitz:skat", str(tmp_path / "out")]) == 0
    assert main(["kibitz:skat", "hf://me/net"]) == 0
    assert hub.files == {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert {token for _, token in hub.asked} == {"Bearer hf_of_a_test"}
    assert "/me/net/commit/1" in capsys.readouterr().out


@pytest.mark.parametrize("refuses", [False, True])
def test_a_hub_that_refuses_or_cannot_be_reached_is_told_in_a_line(hub, refuses, monkeypatch, capsys) -> None:
    hub.refuses = refuses
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        if not refuses:
            monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
        assert main(["kibitz:skat", "hf://me/net"]) == 2
    error, said = capsys.readouterr().err.splitlines(), "refuses it" if refuses else "cannot be reached"
    assert len(error) == 1 and f"hf://me/net: the hub {said}" in error[0] and not hub.files
