"""A real S3-compatible server, moto's, in an environment of its own: what it needs does not fit beside ours."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

BUCKET = "kibitz-games"
_PROGRAM = Path(sys.prefix) / "s3-server/bin/moto_server"
"""Made by ``make install`` from ``tests/storage/requirements.txt``."""


def available() -> bool:
    """Whether the server is installed."""
    return _PROGRAM.exists()


class S3Server:
    """A server on the loopback interface with one empty bucket. What it holds is gone when it ends."""

    def __init__(self, log: Path) -> None:
        assert _PROGRAM.exists(), f"{_PROGRAM} is missing; make install"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [_PROGRAM, "-H", "127.0.0.1", "-p", "0"], stdout=output, stderr=subprocess.STDOUT
            )
        while not (said := re.search(r"Running on http://([\d.]+:\d+)", log.read_text())):
            assert self._process.poll() is None, log.read_text()
            time.sleep(0.05)
        self.address = said[1]
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://{self.address}",
            "AWS_ACCESS_KEY_ID": "anybody",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }
        self.request("PUT", BUCKET)

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """The answer to a request that nobody has signed."""
        url, plain = f"http://{self.address}/{path}", {"Content-Type": "text/plain"}
        request = urllib.request.Request(url, body, plain, method=method)
        with urllib.request.urlopen(request) as answer:
            return bytes(answer.read())

    def keys(self) -> list[str]:
        """Names of all objects, those that stand for directories included."""
        return re.findall(r"<Key>(.*?)</Key>", self.request("GET", BUCKET).decode())

    def uploading(self, name: str) -> bool:
        """Whether the upload of a file of this name has begun and not ended."""
        return f"/{name}</Key>" in self.request("GET", f"{BUCKET}?uploads").decode()

    def ask_for_credentials(self, after: int) -> None:
        """Refuse, from so many requests on, whoever is not known; nobody is."""
        self.request("POST", "moto-api/reset-auth", json.dumps(after).encode())

    def stop(self) -> None:
        """End it, from one moment to the next."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def environment_of(server: S3Server) -> dict[str, str]:
    """Environment of a process that uses the server."""
    return {**os.environ, **server.environment}
