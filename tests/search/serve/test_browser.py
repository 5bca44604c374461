"""Whole hands in a real browser: by mouse on a desk, by touch on a phone, with a reload in the middle."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from aiohttp import web

from search.apps.pictures.pages import templates
from search.apps.serve.server import Server
from tests.search.browsers import needs_chromium
from tests.search.serve.material import GAMES, config, service, table

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = [needs_chromium, pytest.mark.slow]


@contextmanager
def served(game: str) -> Iterator[str]:
    """The address of a server of one game, in a thread of its own."""
    loop, ready, found = asyncio.new_event_loop(), threading.Event(), list[str]()

    async def serve() -> None:
        runner = web.AppRunner(Server(config(game), service(game)).app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        found.append(f"http://127.0.0.1:{runner.addresses[0][1]}/")
        ready.set()

    def run() -> None:
        loop.run_until_complete(serve())
        loop.run_forever()

    threading.Thread(target=run, daemon=True).start()
    assert ready.wait(120)
    yield found[0]
    loop.call_soon_threadsafe(loop.stop)


@pytest.fixture(scope="module", params=GAMES)
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    with served(request.param) as found:
        yield found


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "touch"])
def test_a_whole_hand_with_a_reload_in_the_middle(browser: Any, address: str, touch: bool) -> None:
    size = {"width": 390, "height": 844} if touch else {"width": 1280, "height": 800}
    page = browser.new_context(viewport=size, has_touch=touch, is_mobile=touch).new_page()
    wrong = list[str]()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.goto(address)
    page.wait_for_selector("#lobby:not([hidden]) #level option", state="attached")
    page.select_option("#level", "rules")
    press(page, "#open button", touch)
    decisions = played(page, touch)
    assert decisions > 5 and page.inner_text("#score") and not wrong
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.locator("#hand button:not([aria-label])").count() == 0
    page.context.close()


def test_three_browsers_at_a_table_and_every_button(browser: Any) -> None:
    """Two people and a spectator at a table for training: hint, search, stop, take back, rival, review, next hand."""
    with served("skat") as address:
        ann, ben, watching = (browser.new_context().new_page() for _ in range(3))
        ann.goto(address)
        ann.wait_for_selector("#lobby:not([hidden]) #level option", state="attached")
        ann.fill("#name", "Ann <b>")
        ann.select_option("#level", "rules")
        ann.fill("#people", "2")
        press(ann, "#open button", touch=False)
        ann.wait_for_selector("#links span:nth-of-type(4)")
        links = [text for text in ann.locator("#links span").all_inner_texts() if text.startswith("http")]
        for page, link in zip((ben, watching), links, strict=True):
            page.goto(link)
            page.wait_for_selector("#felt .place")
        mover = first_to_act((ann, ben))
        press(mover, "#hint", touch=False)
        mover.wait_for_selector("#told table")
        press(mover, "#search", touch=False)
        mover.wait_for_selector("#told:has-text('simulations')")
        with suppress(playwright.TimeoutError):  # the search may be over
            press(mover, "#stop", touch=False, seconds=1)
        press(mover, "#hand button:not(:disabled)", touch=False)
        press(mover, "#undo", touch=False)
        mover.wait_for_selector("#undo", state="hidden")
        while ann.is_hidden("#next"):
            step(first_to_act((ann, ben)))
            assert watching.locator("#hand button").count() == 0 and "Ann <b>" in watching.inner_text("#felt")
        press(ann, "#again", touch=False)
        ann.wait_for_selector("#told:has-text('points a hand')")
        press(ann, "#review", touch=False)
        ann.frame_locator("#page").locator("h1:has-text('Review')").wait_for()
        ann.select_option("#language", "de")
        ann.frame_locator("#page").locator("h1:has-text('Analyse Ihres letzten Spiels')").wait_for()
        press(ann, "#review", touch=False)
        ann.frame_locator("#page").locator("h1:has-text('Analyse Ihres letzten Spiels')").wait_for()
        press(ann, "#next", touch=False)
        ann.wait_for_selector("#next", state="hidden")
        assert watching.is_hidden("#review") and watching.is_hidden("#next")
        for page in (ann, ben, watching):
            page.context.close()


def test_a_finished_trick_stays_for_a_while_and_a_comparison_comes_behind_it(browser: Any) -> None:
    with served("hearts") as address:
        page = browser.new_page()
        page.goto(address)
        page.wait_for_selector("#lobby:not([hidden]) #level option", state="attached")
        press(page, "#open button", touch=False)
        page.wait_for_selector("#hand button:not(:disabled)", timeout=60_000)
        shown = page.evaluate(
            """async () => {
              const times = [], draws = drawTable, first = { ...scene, pause: 2 };
              $("speed").value = "0.2";  // 300 ms a trick
              drawTable = () => { times.push([performance.now(), scene.title]); draws(); };
              for (const title of ["one", "two", "three"]) take({ ...first, title });
              take({ type: "again", player: "network", points: 1, yours: 2, hands: 1, ahead: 1, half: null });
              await new Promise((done) => setTimeout(done, 1500));
              return ["one", "two", "three"].map((title) => times.find((time) => time[1] === title)[0]);
            }"""
        )
        assert shown[1] - shown[0] > 250 and shown[2] - shown[1] > 250
        assert "points a hand" in page.inner_text("#told")
        page.close()


def test_a_second_tap_and_a_key_that_is_held_decide_nothing(browser: Any) -> None:
    """Against a server that does not answer, so that nothing depends on how fast it does."""
    page = browser.new_page()
    page.set_content(templates("search.apps.serve").get_template("table.html").render(game="skat"))
    scene = table("skat", 3).scenes(0, 0)[0][-1]
    scene |= {"choices": [{**one, "legal": True} for one in scene["choices"]], "needed": 1, "your_turn": True}
    page.evaluate("window.sent = []; socket = { send: (told) => sent.push(told) }; $('table').hidden = false;")
    page.evaluate("take", scene)
    sent, enabled = "sent.map(JSON.parse)", page.locator("#hand button:not(:disabled)")
    assert enabled.count() > 1
    first = page.locator("#hand button").first
    first.click()
    first.dispatch_event("click")
    page.keyboard.press("2")
    token = scene["choices"][0]["token"]
    assert page.evaluate(sent) == [{"act": [token], "at": len(scene["history"])}] and enabled.count() == 0
    page.evaluate("take", scene)
    assert enabled.count() > 1
    page.wait_for_timeout(350)
    first.focus()
    page.evaluate("""() => {
        for (const key of ["2", "Enter"]) {
            const held = new KeyboardEvent("keydown", { key, repeat: true, cancelable: true, bubbles: true });
            document.activeElement.dispatchEvent(held);
            if (key === "Enter" && !held.defaultPrevented) sent.push('"pressed"');
        }
    }""")
    assert len(page.evaluate(sent)) == 1
    page.evaluate("(scene) => { take(scene); $('hand').querySelector('button').click(); }", scene)
    assert len(page.evaluate(sent)) == 2
    page.evaluate("take", scene)
    page.evaluate("""() => $("hand").querySelector("button").dispatchEvent(new MouseEvent("click", { detail: 2 }))""")
    assert len(page.evaluate(sent)) == 2
    page.close()


def first_to_act(pages):  # type: ignore[no-untyped-def]
    """The page that is asked for something, or sees the end of the hand."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for page in pages:
            page.evaluate("document.getElementById('speed').value = '0.2'")
            if page.locator("#hand button:not(:disabled)").count() or page.is_visible("#next"):
                return page
        pages[0].wait_for_timeout(30)
    raise AssertionError(pages[0].inner_text("#table"))


def step(page) -> None:  # type: ignore[no-untyped-def]
    """Press what can be pressed."""
    target = "#confirm" if page.is_visible("#confirm") else "#hand button:not(:disabled):not(.chosen)"
    with suppress(playwright.TimeoutError):  # another scene came while it was pressed
        press(page, target, touch=False, seconds=1)


def played(page, touch: bool) -> int:  # type: ignore[no-untyped-def]
    """Play to the end of the hand; returns how many things were pressed."""
    pressed, until = 0, time.monotonic() + 120
    while page.is_hidden("#next"):
        assert time.monotonic() < until, page.inner_text("#table")
        if pressed == 3:
            page.reload()
            page.wait_for_selector("#hand button")
            pressed += 1
        page.evaluate("document.getElementById('speed').value = '0.2'")
        target = "#confirm" if page.is_visible("#confirm") else "#hand button:not(:disabled):not(.chosen)"
        if page.locator(target).count() and page.locator(target).first.is_visible():
            try:
                press(page, target, touch, seconds=1)
                pressed += 1
            except playwright.TimeoutError:  # another scene came while it was pressed
                continue
        else:
            page.wait_for_timeout(30)
    return pressed


def press(page, target: str, touch: bool, seconds: float = 60.0) -> None:  # type: ignore[no-untyped-def]
    first = page.locator(target).first
    first.tap(timeout=1000 * seconds) if touch else first.click(timeout=1000 * seconds)
