"""The page of a review in a real browser, opened from its file."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.provenance import installed_version
from search.apps.review.__main__ import main
from tests.search.browsers import findings, needs_chromium
from tests.search.review.test_command import RECORDS, shard_of
from tests.search.serve.material import GAMES, service, table
from tests.search.serve.test_texts import PLAIN, said

pytestmark = [needs_chromium, pytest.mark.slow]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("review")
    assert main([str(RECORDS), "--out", str(out)]) == 0
    return (out / "review.html").as_uri()


@pytest.fixture(params=[(1280, 800), (390, 844)], ids=["desk", "phone"])
def page(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page; at the end nothing has gone wrong, nothing was fetched, and it is no wider than the window."""
    width, height = request.param
    opened = browser.new_page(viewport={"width": width, "height": height})
    wrong, fetched = list[str](), list[str]()
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    opened.on("request", lambda asked: fetched.append(asked.url))
    opened.goto(address)
    yield opened
    assert not wrong and set(fetched) == {address}
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    opened.close()


def where(page: Any) -> tuple[int, int, int]:
    """Deal, step, and number of steps, as the page says; what is shown agrees."""
    step, _, count = page.inner_text("#where").split()
    deal = page.evaluate("deals.findIndex((article) => !article.hidden) + 1")
    assert int(page.input_value("#deal")) == deal and page.locator(".deal:visible").count() == 1
    assert page.locator(".step:visible").count() == 1 and page.input_value("#step") == step
    return deal, int(step), int(count)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    assert main([str(RECORDS), "--deals", "2", "--out", str(tmp_path)]) == 0
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.goto((tmp_path / "review.html").as_uri())
    page.locator("#costliest a").nth(1).click()
    assert not (found := findings(page)), "\n".join(found)
    page.close()


def test_steps_by_button_key_and_slider_stop_at_the_ends(page: Any) -> None:
    assert page.locator("#costliest a.here").get_attribute("href") == page.evaluate("location.hash")
    page.select_option("#deal", "2")
    page.select_option("#deal", "1")
    deal, step, count = where(page)
    assert (deal, step) == (1, 1) and count > 3
    page.click("#back")
    assert where(page) == (1, 1, count)
    page.click("#on")
    page.locator("#where").press("ArrowRight")
    assert where(page) == (1, 3, count)
    page.keyboard.press("ArrowLeft")
    assert where(page) == (1, 2, count)
    page.fill("#step", str(count))
    page.click("#on")
    assert where(page) == (1, count, count)
    page.select_option("#deal", "2")
    assert where(page)[:2] == (2, 1)


def test_only_decisions_that_cost_enough_are_stepped_through(page: Any) -> None:
    page.select_option("#deal", "2")
    page.select_option("#deal", "1")
    dear = page.evaluate("[...deals[0].querySelectorAll('.step')].filter((one) => one.dataset.cost >= 1).length")
    count = where(page)[2]
    page.fill("#least", "1")
    assert 0 < dear < count and where(page) == (1, 1, dear)
    for step in range(1, dear + 1):
        assert float(page.locator(".step:visible").get_attribute("data-cost")) >= 1
        assert where(page)[1] == step
        page.click("#on")
    page.fill("#least", "0")
    assert where(page) == (1, 1, count)


def test_a_link_from_the_costliest_decisions_shows_it_whatever_was_left_out(page: Any) -> None:
    link, cost = page.locator("#costliest a").nth(1), page.locator("#costliest li").nth(1)
    page.fill("#least", "1000000")
    link.click()
    page.wait_for_selector(".step:visible")
    deal, step, _ = where(page)
    assert link.get_attribute("href") == f"#deal={deal}&step={step}" and page.input_value("#least") == "0"
    told = page.inner_text(".step:visible .cost")
    assert told.removesuffix(".").rpartition("cost ")[2] in cost.inner_text() and "cost" in told
    assert page.locator(".step:visible .mark").inner_text() in ("doubtful", "mistake", "blunder")


def test_a_player_is_chosen_by_name(page: Any) -> None:
    name = page.locator("#player option").nth(2).get_attribute("value")
    page.select_option("#player", name)
    left = page.locator("#costliest li:visible")
    assert left.count() and all(name in one for one in left.all_inner_texts())
    assert page.locator(".tile:visible").count() == 1 and "lost a decision" in page.inner_text(".tile:visible")
    assert name in page.inner_text(".deal:visible h3")


def test_perfect_play_opens_trick_by_trick_and_leads_to_the_card_that_changed_it(page: Any) -> None:
    links = page.locator(".open-cards a")
    assert links.count() > 0
    number, href = page.evaluate(
        "[deals.findIndex((one) => one.querySelector('.open-cards a')) + 1, "
        "document.querySelector('.open-cards a').getAttribute('href')]"
    )
    page.select_option("#deal", str(number))
    page.click(".open-cards:visible summary")
    assert page.locator(".tricks:visible tr").count() > 1
    page.locator(".open-cards:visible a").first.click()
    page.wait_for_function("(asked) => location.hash === asked", arg=href)
    deal, step, _ = where(page)
    assert href == f"#deal={deal}&step={step}" and deal == number
    assert "lost" in page.inner_text(".step:visible .expectation")


def test_another_language_changes_every_text_and_nothing_else(page: Any, browser: Any, address: str) -> None:
    page.select_option("#deal", "1")
    english = page.inner_text("main")
    page.fill("#least", "1")
    page.click("#on")
    before = where(page)
    page.select_option("#language", "de")
    assert where(page) == before and page.locator("#costliest h2").inner_text() == "Die teuersten Entscheidungen"
    assert page.title() == "Analyse von iss_records.sgf - Kibitz" and page.get_attribute("html", "lang") == "de"
    assert page.get_attribute("#on", "aria-label") == "einen Schritt weiter"
    assert re.match(
        r"Protokoll \d+, Zeile 1: \w+, Platz 0, \d+,\d+ Punkte verloren$", page.inner_text("#deal option:checked")
    )
    link = page.locator("#costliest a").nth(1)
    link.click()
    page.wait_for_function("(asked) => location.hash === asked", arg=link.get_attribute("href"))
    deal, step, count = where(page)
    assert link.get_attribute("href") == f"#deal={deal}&step={step}"
    assert "kostet" in page.inner_text(".step:visible .cost")
    page.keyboard.press("ArrowLeft")
    assert where(page) == (deal, step - 1, count)
    page.reload()
    assert page.input_value("#language") == "de" and page.locator("h1").inner_text().startswith("Analyse")
    page.select_option("#language", "en")
    page.select_option("#deal", "1")
    assert page.inner_text("main") == english and page.title() == "Review of iss_records.sgf - Kibitz"


def test_where_the_browser_keeps_nothing_the_language_is_that_of_the_browser(browser: Any, address: str) -> None:
    opened = browser.new_page(locale="de-DE")
    wrong = list[str]()
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })"
    )
    opened.goto(address)
    assert opened.input_value("#language") == "de"
    opened.select_option("#language", "en")
    assert opened.locator("h1").inner_text().startswith("Review of") and not wrong
    opened.close()


FIXED = r"Kibitz|kibitz:\w+|random<b>|Ann <b>|skat_rules|west|north|east"
"""What judges and players are called, in all languages."""
INTERVAL = r"-|[-\d.]+( \([-\d.]+\.\.[-\d.]+\))?( %)?"
SEEN = {
    "hearts": {"hearts.pass", "review_words.card I pass", "table.you_led", "review.for"},
    "skat": {"review.changes", "review.from_card", "skat_words.forehand", "skat.discard", "notes.not by our rules"},
    "crew": {"crew.mission", "crew.commander", "crew.talk", "review_words.card shown or silence", "crew_words.silent"},
    "table": {"review.own", "notes.your_hand", "words.nth", "table.your_card"},
}
"""What some pages must say, or the test says more than it does."""
APART = """() => {
    const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const known = "[data-said], [data-text], .card, #language, #deal, #player, script";
    while (walker.nextNode()) {
        if (!walker.currentNode.parentElement.closest(known)) found.push(walker.currentNode.textContent);
    }
    return found;
}"""
"""Texts of the page that are the same in all languages."""


@pytest.fixture(scope="module", params=[*GAMES, "table"])
def review(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A review of deals of a game, or of a hand at a table; and its page."""
    name, out = str(request.param), tmp_path_factory.mktemp("review")
    if name == "table":
        at = table("skat", 1, player="skat_rules")
        while not at.hands.over:
            mine, legal = at.hands.turn == 0, at.game.legal(at.hands._state)[0]
            at.hands.play(0, int(legal.argmax())) if mine else at.hands.let_play()
        at.seats[0].name = "Ann <b>"
        (out / "review.html").write_text(service("skat").review(at, 0))
    else:
        file = RECORDS if name == "skat" else shard_of(name, out / "played.parquet")
        assert main([str(file), "--out", str(out)]) == 0
    return name, out / "review.html"


def german(browser: Any, path: Path) -> Any:
    page = browser.new_page(locale="de-DE")
    page.goto(path.as_uri())
    return page


def test_everything_on_the_page_is_a_text_or_the_same_in_all_languages(review: tuple[str, Path], browser: Any) -> None:
    name, path = review
    page, ids = german(browser, path), set[str]()
    assert ("Ann <b>" in page.inner_text("#players")) == (name == "table")
    texts = page.evaluate("[...document.querySelectorAll('[data-said]')].map((one) => JSON.parse(one.dataset.said))")
    files = {"iss_records.sgf", "played.parquet", installed_version()}
    plain = {one for text in texts for one in said(text, ids)}
    assert not [one for one in plain - files if not re.fullmatch(rf"{PLAIN}|{FIXED}|{INTERVAL}", one)]
    assert SEEN[name] <= ids
    for text in page.evaluate(APART):
        assert not re.search(r"[^\W\d_]", re.sub(FIXED, "", text)), f"no text is asked for {text.strip()!r}"
    assert page.evaluate("[say('3.10'), number('3.10')]") == ["3.10", "3,10"]  # a move of SameGame, and a number
    numbers = page.locator("td[data-said], td > [data-said]").all_text_contents()
    assert not [one for one in numbers if re.search(r"\d\.\d", one)] and (
        name == "crew" or any("," in one for one in numbers)
    )
    assert page.evaluate("document.documentElement.lang") == "de" and page.title().startswith("Analyse ")
    assert page.get_attribute("#back", "aria-label") == "einen Schritt zurück"
    option = page.locator("#deal option").first.inner_text()
    assert option.startswith(page.locator(".deal h3").first.text_content()) and option.endswith(" verloren")


def test_without_scripts_the_page_is_in_english(review: tuple[str, Path], browser: Any) -> None:
    page = browser.new_context(java_script_enabled=False, locale="de-DE").new_page()
    page.goto(review[1].as_uri())
    assert page.locator("#costliest h2").inner_text() == "The costliest decisions" and page.is_hidden("#language")
    assert page.get_attribute("html", "lang") == "en"
