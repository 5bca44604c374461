"""Connections that ask nothing or read nothing, over real sockets; and that what is due first is done first."""

import asyncio
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from search.apps.serve import connections as module
from search.apps.serve import thinking
from search.apps.serve.connections import Connections
from search.apps.serve.server import Server
from search.apps.serve.thinking import LATER, Thinker
from tests.search.serve.clients import Scenario, as_test, begun, error_of
from tests.search.serve.material import config, service

HEAD = b"GET /about HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"
UNREAD = """
import logging, sys
logging.basicConfig(stream=sys.stdout)
from search.apps.serve.output import need_no_reader
need_no_reader()
for number in range(3_000):
    print("a line of output that nobody reads")
    logging.warning("a line of log that nobody reads, number %s", number)
sys.exit(7)
"""
"""A process that says more than a pipe holds."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def listening(app: web.Application, connections: Connections, work: Callable[[int], Awaitable[None]]) -> None:
    async def run() -> None:
        async with connections.listening(app, "127.0.0.1", 0) as port:
            await asyncio.wait_for(work(port), 60)

    asyncio.run(run())


def small(connections: Connections, handler: Any) -> web.Application:
    @web.middleware
    async def answering(request: web.Request, handler: Any) -> Any:
        with connections.answering(request):
            return await handler(request)

    app = web.Application(middlewares=[answering])
    app.add_routes([web.get("/about", handler)])
    return app


async def half_open(port: int, count: int) -> list[Streams]:
    made = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
    for _, writer in made:
        writer.write(HEAD)
    return made


async def ended(streams: Streams) -> bool:
    """Waits until the server closes a connection; whether it said nothing."""
    with suppress(ConnectionError):
        return await asyncio.wait_for(streams[0].read(), 30) == b""
    return True


def test_hundreds_of_heads_that_never_end_keep_nobody_out(caplog: pytest.LogCaptureFixture) -> None:
    """Others are served meanwhile, a table's websocket stays for longer than a head may take, and all is one line."""
    server = Server(config("skat"), service("skat"))
    server.connections = Connections(40, head_seconds=2)

    async def work(port: int) -> None:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
            socket, _ = await begun(client, level="rules")
            made = await half_open(port, 300)
            for _ in range(20):
                async with client.get("/about", headers={"Connection": "close"}) as response:
                    assert response.status == 200
            assert all(await asyncio.gather(*map(ended, made)))
            await socket.send_json({"x": 1})
            assert await error_of(socket)

    with caplog.at_level(logging.WARNING):
        listening(server.app, server.connections, work)
    assert [record.name for record in caplog.records] == [module.__name__]


def test_one_address_cannot_take_all_places() -> None:
    """Who waits for answers makes no room, so the address's next connection is refused, and not another address's."""
    answered = asyncio.Event()

    async def handler(request: web.Request) -> web.Response:
        await answered.wait()
        return web.Response(text="here")

    async def work(port: int) -> None:
        whole = HEAD + b"a: 1\r\nConnection: close\r\n\r\n"
        made = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        for _, writer in made:
            writer.write(whole)
        await asyncio.sleep(0.3)
        assert await ended((await half_open(port, 1))[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0))
        writer.write(whole)
        await asyncio.sleep(0.3)
        answered.set()
        for streams in (*made, (reader, writer)):
            assert b"here" in await asyncio.wait_for(streams[0].read(), 30)

    connections = Connections(12)
    assert connections.most_of_address == 3
    listening(small(connections, handler), connections, work)


def test_who_reads_no_answers_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_UNREAD_SECONDS", 0.3)
    handled = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(bytes(1 << 20))
        handled.set()
        return response

    async def work(port: int) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 10)
        writer.write(HEAD + b"a: 1\r\n\r\n")
        await asyncio.wait_for(handled.wait(), 30)

    connections = Connections(12)
    listening(small(connections, handler), connections, work)


def test_what_is_no_http_is_refused_without_a_line(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response()

    async def work(port: int) -> None:
        for junk in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/1.1\r\nbad head\r\n\r\n", b"GET\r\n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(junk + b"\r\n\r\n")
            writer.write_eof()
            await asyncio.wait_for(reader.read(), 30)

    connections = Connections(12)
    listening(small(connections, handler), connections, work)
    assert not caplog.records


def test_that_no_connection_can_be_accepted_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        loop = asyncio.get_running_loop()
        async with Connections(12).listening(web.Application(), "127.0.0.1", 0):
            for _ in range(100):
                loop.call_exception_handler({"message": module._ACCEPT_FAILED, "exception": OSError(24, "x")})

    asyncio.run(fail())
    assert len(caplog.records) == 1 and "ulimit -n" in caplog.text


@pytest.mark.parametrize("output", ["pipe", "full", "closed"])
def test_a_process_whose_output_nobody_reads_goes_on(output: str) -> None:
    line = [sys.executable, "-c", UNREAD]
    if output == "full":
        with Path("/dev/full").open("wb") as full:
            assert subprocess.run(line, stdout=full, stderr=full, timeout=60).returncode == 7
        return
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        if output == "closed":
            assert process.stdout
            process.stdout.close()
        assert process.wait(60) == 7


def test_room_follows_the_limit_on_open_files_and_addresses_of_version_6_count_by_their_network(monkeypatch) -> None:
    for limit, most in ((1024, 896), (256, 128), (64, 32), (1 << 20, 4096), (module.resource.RLIM_INFINITY, 4096)):
        monkeypatch.setattr(module.resource, "getrlimit", lambda which, limit=limit: (limit, limit))
        assert Connections().most == most
    peers = (("2001:db8:1:2:3::4", 1, 0, 0), ("fe80::1%eth0", 1, 0, 2), ("::ffff:192.0.2.1", 1, 0, 0), ("192.0.2.1", 1))
    names = ["2001:db8:1:2::/64", "fe80::/64", "::ffff:192.0.2.1", "192.0.2.1"]
    assert [module._network(peer) for peer in peers] == names and module._network(None) == ""


def with_thinker(met: Scenario) -> Callable[..., None]:
    async def used(use: Scenario) -> None:
        think = Thinker()
        await use(think)
        think.close()

    return as_test(met, lambda use: asyncio.run(used(use)))


def counted(name: str, done: list[str], steps: int) -> Generator[str, None, None]:
    """Steps that each are a slice, as they tell something."""
    for _ in range(steps):
        done.append(name)
        yield name


async def held(think: Thinker) -> tuple[threading.Event, asyncio.Future[Any]]:
    """Keep the thread busy until the event."""
    begun, going = threading.Event(), threading.Event()
    work = asyncio.ensure_future(think(lambda: (begun.set(), going.wait())))
    await asyncio.to_thread(begun.wait)
    return going, work


async def waiting(*works: Any) -> list[asyncio.Task[Any]]:
    """Works that have been asked for, in this order."""
    tasks = [asyncio.ensure_future(work) for work in works]
    await asyncio.sleep(0)
    return tasks


@with_thinker
async def test_searches_take_turns_and_what_people_wait_for_comes_first(think: Thinker) -> None:
    done = list[str]()
    going, work = await held(think)
    tasks = await waiting(
        *(think.slices(counted(name, done, 4)) for name in ("first", "second")),
        think(partial(done.append, "answers"), LATER),
        think(partial(done.append, "slow card"), 1.0),
        think(partial(done.append, "card")),
    )
    going.set()
    await asyncio.gather(work, *tasks)
    assert done[:5] == ["card", "slow card", "first", "second", "answers"]
    assert done[5:] == ["first", "second"] * 3


@with_thinker
async def test_a_card_does_not_wait_for_all_searches_that_go_on_and_on(think, monkeypatch) -> None:
    monkeypatch.setattr(thinking, "_SLICE", 0.0)
    done, over = list[str](), threading.Event()

    def endless() -> Generator[None, None, None]:
        while not over.is_set():
            time.sleep(0.001)
            done.append("step")
            yield None

    searches = await waiting(*(think.slices(endless()) for _ in range(20)))
    before = 0
    for _ in range(20):
        asked = len(done)
        await think(partial(done.append, "card"))
        before += done.index("card", asked) - asked
    assert before < 100  # some 20, and 400 behind one another
    assert await think(lambda: "answers", LATER) == "answers"
    over.set()
    await asyncio.gather(*searches)


@with_thinker
async def test_what_can_wait_is_put_off_for_no_longer_than_it_can(think: Thinker) -> None:
    done = list[str]()
    going, work = await held(think)
    tasks = await waiting(think(partial(done.append, "answers"), 0.05), think(partial(done.append, "card")))
    await asyncio.sleep(0.06)
    tasks += await waiting(think(partial(done.append, "another card")))
    going.set()
    await asyncio.gather(work, *tasks)
    assert done == ["card", "answers", "another card"]


@with_thinker
async def test_what_waits_is_cancelled_at_the_end_and_nothing_begins_any_more(think: Thinker) -> None:
    done = list[str]()
    going, work = await held(think)
    tasks = await waiting(think(partial(done.append, "card")), think.slices(counted("first", done, 1)))
    think.close()
    going.set()
    found = await asyncio.gather(work, *tasks, think(partial(done.append, "late")), return_exceptions=True)
    assert not done and all(isinstance(one, asyncio.CancelledError) for one in found[1:])


@with_thinker
async def test_what_fails_says_so_and_others_go_on(think: Thinker) -> None:
    def failing() -> Generator[None, None, None]:
        yield None
        raise ValueError("no search")

    with pytest.raises(ValueError, match="no search"):
        await think.slices(failing())
    assert await think(lambda: 1) == 1
