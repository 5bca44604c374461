"""A line to a server of object storage that takes a while for every request, and counts them: ``python -m
tests.storage.slow_line ADDRESS SECONDS`` prints its own address."""

import asyncio
import json
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import aiohttp
from aiohttp import web

_COUNTS = "/counted-so-far"
_OF_A_CONNECTION = {"connection", "transfer-encoding", "content-encoding", "content-length", "host", "expect"}


class SlowLine:
    """The line as a process of its own, so that it takes no time of the program that is measured."""

    def __init__(self, address: str, seconds: float) -> None:
        command = [sys.executable, "-m", "tests.storage.slow_line", address, str(seconds)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
        assert self._process.stdout
        self.address = self._process.stdout.readline().strip()

    def counted(self, act: Callable[[], object]) -> Counter[str]:
        """What goes over it while something is done: requests, connections, bytes to the client."""
        self._counts()
        act()
        return self._counts()

    def _counts(self) -> Counter[str]:
        """What went over it since the last call."""
        with urllib.request.urlopen(f"http://{self.address}{_COUNTS}") as answer:
            found = Counter[str](json.loads(answer.read()))
        found["connections"] -= 1  # this one
        return found

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


class _Line:
    def __init__(self, address: str, seconds: float) -> None:
        self._address, self._seconds = address, seconds
        self._counts = Counter[str]()
        self._connections = set[int]()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Hand a request on, after the time that it takes."""
        new = id(request.transport) not in self._connections
        self._connections.add(id(request.transport))
        self._counts["connections"] += new
        if request.path == _COUNTS:
            counts, self._counts = self._counts, Counter[str]()
            return web.json_response(counts)
        self._counts["requests"] += 1
        self._counts[request.method] += 1
        body = await request.read()
        await asyncio.sleep(self._seconds * (2 if new else 1))
        headers = {key: value for key, value in request.headers.items() if key.lower() not in _OF_A_CONNECTION}
        headers["Host"] = request.headers["Host"]  # is signed
        url = f"http://{self._address}{request.raw_path}"
        async with self._session.request(
            request.method, url, data=body or None, headers=headers, allow_redirects=False
        ) as found:
            content = await found.read()
            given = {key: value for key, value in found.headers.items() if key.lower() not in _OF_A_CONNECTION}
            if request.method == "HEAD" and "Content-Length" in found.headers:
                given["Content-Length"] = found.headers["Content-Length"]
            self._counts["bytes"] += len(content)
            return web.Response(status=found.status, body=content or None, headers=given)

    async def serve(self) -> None:
        async with aiohttp.ClientSession(auto_decompress=False) as self._session:
            app = web.Application(client_max_size=2**32)
            app.router.add_route("*", "/{path:.*}", self.answer)
            runner = web.AppRunner(app)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = site._server.sockets[0].getsockname()  # type: ignore[union-attr]
            print(f"{host}:{port}", flush=True)
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_Line(sys.argv[1], float(sys.argv[2])).serve())
