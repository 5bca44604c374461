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
from tests.search.browsers import findings, needs_chromium
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
    open_table(page, address)
    decisions = played(page, touch)
    assert decisions > 5 and page.inner_text("#headline") and page.inner_text("#score") and not wrong
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_everything_is_large_enough(browser: Any, address: str, scheme: str) -> None:
    """In the lobby, at the first decision, in the middle, among the tricks, and at the end."""
    for width, height, card in ((1280, 800, 90), (390, 844, 44)):
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.goto(address)
        page.wait_for_selector("#levels input")
        found = findings(page)
        open_table(page, address)
        page.wait_for_selector("#hand button:not(:disabled)")
        page.wait_for_timeout(500)  # motion is over
        wide = page.evaluate("Math.min(...[...document.querySelectorAll('.fan .card, .place > .card')]"
                             ".map((one) => one.offsetWidth))")  # fmt: skip
        low = page.evaluate("Math.min(...[...document.querySelectorAll('#table button, header summary')]"
                            ".filter((one) => one.offsetWidth).map((one) => one.offsetHeight))")  # fmt: skip
        assert wide >= card and low >= 24
        found += findings(page)
        while not page.locator("#last").count():
            step(page)
        found += findings(page)
        page.click("#last")
        found += findings(page)
        page.keyboard.press("Escape")
        played(page, touch=False)
        found += findings(page)
        assert not found, "\n".join(found)
        page.close()


def test_three_browsers_at_a_table_and_every_button(browser: Any) -> None:
    """Two people and a spectator at a table for training: hint, search, stop, take back, rival, review, next hand."""
    with served("skat") as address:
        ann, ben, watching = (browser.new_context().new_page() for _ in range(3))
        open_table(ann, address, people=2, name="Ann <b>")
        ann.wait_for_selector("#links input")
        links = ann.locator("#links input").evaluate_all("(found) => found.map((one) => one.value)")
        ann.locator("#links button").first.click()
        assert ann.locator("#links button").first.inner_text() == "Copied"
        ann.click("#felt")
        assert ann.is_hidden("#links")
        for page, link in zip((ben, watching), links, strict=True):
            page.goto(link)
            page.wait_for_selector("#felt .place")
        ben.fill("#name", "Ben & <i>")
        ben.keyboard.press("Enter")
        ben.click("#settings summary")
        ann.wait_for_selector("#felt .name:has-text('Ben & <i>')")
        watching.evaluate("document.getElementById('settings').open = false")
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
        ann.wait_for_selector("#compared:has-text('points a hand')")
        press(ann, "#review", touch=False)
        ann.frame_locator("#page").locator("h1:has-text('Review')").wait_for()
        ann.select_option("#language", "de")
        ann.frame_locator("#page").locator("h1:has-text('Analyse Ihres letzten Spiels')").wait_for()
        press(ann, "#leave", touch=False)
        press(ann, "#review", touch=False)
        ann.frame_locator("#page").locator("h1:has-text('Analyse Ihres letzten Spiels')").wait_for()
        press(ann, "#leave", touch=False)
        press(ann, "#next", touch=False)
        ann.wait_for_selector("#next", state="hidden")
        assert watching.is_hidden("#review") and watching.is_hidden("#next")
        ann.click("#home")
        ann.wait_for_selector("#lobby:not([hidden]) #levels input")
        assert ann.input_value("#name") == "Ann <b>"
        ann.goto(links[1])  # an address pasted into the same tab
        ann.wait_for_selector("#felt .place")
        for page in (ann, ben, watching):
            page.context.close()


def test_the_book_of_missions_goes_on_after_a_success_and_counts_attempts(browser: Any) -> None:
    with served("crew") as address:
        page = browser.new_page()
        open_table(page, address, mission=1)
        page.wait_for_selector("#title:has-text('mission 1')")
        assert "take the trick" in page.inner_text("#felt .about")
        number, attempt = 1, 1
        for _ in range(2):
            played(page, touch=False)
            done = "done" in page.inner_text("#headline")
            assert done or "Failed" in page.inner_text("#headline")
            number, attempt = (number + 1, 1) if done else (number, attempt + 1)
            press(page, "#next", touch=False)
            page.wait_for_selector(f"#title:has-text('mission {number}')")
            if attempt > 1:  # the title is the same as before
                page.wait_for_selector("#felt .about:has-text('Attempt')")
            assert ("Attempt" in page.inner_text("#felt .about")) == (attempt > 1)
        assert "point" not in page.inner_text("#table")
        page.close()


def test_a_card_is_raised_by_a_first_tap_and_keeps_its_key(browser: Any) -> None:
    page = alone(browser, "hearts")
    scene = table("hearts", 4).scenes(0, 0)[0][-1]
    scene |= {"choices": [{**one, "legal": True} for one in scene["choices"]], "needed": 1, "your_turn": True}
    page.evaluate("take", scene)
    keys = """Object.fromEntries(
        [...document.querySelectorAll(".fan .card")].map((one) => [one.dataset.card, one.dataset.key]))"""
    before, cards = page.evaluate(keys), scene["choices"]
    page.evaluate('document.getElementById("twice").checked = true')
    page.keyboard.press(before[cards[3]["name"]])
    assert page.evaluate("sent") == [] and page.locator(".fan .chosen").count() == 1 and page.is_visible("#confirm")
    page.keyboard.press(before[cards[3]["name"]])
    assert page.evaluate("sent.map(JSON.parse)")[0]["act"] == [cards[3]["token"]]
    page.evaluate("take", scene | {"choices": cards[:3] + cards[4:], "hand": scene["hand"]})
    after = page.evaluate(keys)
    assert after == {name: key for name, key in before.items() if name != cards[3]["name"]}
    assert page.evaluate("document.activeElement.closest('.fan') !== null")
    page.keyboard.press("?")
    assert page.evaluate("document.body.classList.contains('keys')")
    page.close()


def test_a_finished_trick_stays_for_a_while_and_a_comparison_comes_behind_it(browser: Any) -> None:
    with served("hearts") as address:
        page = browser.new_page()
        open_table(page, address, level="network")
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
        assert "points a hand" in page.text_content("#compared")
        page.close()


def test_a_second_tap_and_a_key_that_is_held_decide_nothing(browser: Any) -> None:
    """Against a server that does not answer, so that nothing depends on how fast it does."""
    page = alone(browser, "skat")
    scene = table("skat", 3).scenes(0, 0)[0][-1]
    scene |= {"choices": [{**one, "legal": True} for one in scene["choices"]], "needed": 1, "your_turn": True}
    page.evaluate("take", scene)
    sent, enabled = "sent.map(JSON.parse)", page.locator("#hand button:not(:disabled)")
    assert enabled.count() > 1
    first = page.locator("#hand button").first
    press(page, "#hand button", touch=False)
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


def alone(browser: Any, game: str) -> Any:
    """The page of a game without a server; what it sends is in ``sent``."""
    page = browser.new_page()
    page.set_content(templates("search.apps.serve").get_template("table.html").render(game=game))
    page.evaluate("window.sent = []; socket = { send: (told) => sent.push(told) }; $('table').hidden = false;")
    page.evaluate("document.body.classList.add('playing')")
    return page


def open_table(page: Any, address: str, level: str = "rules", **asked: Any) -> None:
    """From the lobby."""
    page.goto(address)
    page.check(f"#levels input[value={level}]")
    for name, value in asked.items():
        page.fill(f"#{name}", str(value))
    press(page, "#open button", touch=False)
    page.wait_for_selector("#felt > *")


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
    """A card is pressed where its neighbour does not lie on it."""
    first = page.locator(target).first
    in_fan = "card" in (first.get_attribute("class", timeout=1000 * seconds) or "").split()
    where = {"position": {"x": 11, "y": 30}} if in_fan else {}
    first.tap(timeout=1000 * seconds, **where) if touch else first.click(timeout=1000 * seconds, **where)
