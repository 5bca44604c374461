"""That what is due first is done first; and a client that speaks no HTTP."""

import asyncio
import logging
import threading
import time
from collections.abc import Generator
from functools import partial
from typing import Any

import pytest
from aiohttp import web

from cluster.errors import UserError
from search.apps.serve import thinking
from search.apps.serve.server import listening
from search.apps.serve.thinking import LATER, Thinker


def test_what_is_no_http_is_refused_without_a_line(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with listening(web.Application(), "127.0.0.1", 0) as port:
            for junk in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/1.1\r\nbad head\r\n\r\n", b"GET\r\n\r\n"):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(junk + b"\r\n\r\n")
                writer.write_eof()
                await asyncio.wait_for(reader.read(), 30)
            with pytest.raises(UserError, match=f"port={port}: cannot be listened at"):
                async with listening(web.Application(), "127.0.0.1", port):
                    pass

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    assert not caplog.records


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


def test_searches_take_turns_and_what_people_wait_for_comes_first() -> None:
    async def scenario() -> None:
        think, done = Thinker(), list[str]()
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
        think.close()

    asyncio.run(scenario())


def test_a_card_does_not_wait_for_all_searches_that_go_on_and_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinking, "_SLICE", 0.0)

    async def scenario() -> None:
        think, done, over = Thinker(), list[str](), threading.Event()

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
        think.close()

    asyncio.run(scenario())


def test_what_can_wait_is_put_off_for_no_longer_than_it_can() -> None:
    async def scenario() -> None:
        think, done = Thinker(), list[str]()
        going, work = await held(think)
        tasks = await waiting(think(partial(done.append, "answers"), 0.05), think(partial(done.append, "card")))
        await asyncio.sleep(0.06)
        tasks += await waiting(think(partial(done.append, "another card")))
        going.set()
        await asyncio.gather(work, *tasks)
        assert done == ["card", "answers", "another card"]
        think.close()

    asyncio.run(scenario())


def test_what_waits_is_cancelled_at_the_end_and_nothing_begins_any_more() -> None:
    async def scenario() -> None:
        think, done = Thinker(), list[str]()
        going, work = await held(think)
        tasks = await waiting(think(partial(done.append, "card")), think.slices(counted("first", done, 1)))
        think.close()
        going.set()
        found = await asyncio.gather(work, *tasks, think(partial(done.append, "late")), return_exceptions=True)
        assert not done and all(isinstance(one, asyncio.CancelledError) for one in found[1:])

    asyncio.run(scenario())


def test_what_fails_says_so_and_others_go_on() -> None:
    def failing() -> Generator[None, None, None]:
        yield None
        raise ValueError("no search")

    async def scenario() -> None:
        think = Thinker()
        with pytest.raises(ValueError, match="no search"):
            await think.slices(failing())
        assert await think(lambda: 1) == 1
        think.close()

    asyncio.run(scenario())
