"""The page of a review in German: everything on it has German words, in every game and from the table."""

import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from games.registry import make_game
from games.skat.records.sequences import _PASSED_OVER, read_records
from search.apps.review.__main__ import main
from search.apps.review.figures import BOTH, phase_name
from search.arena.judges import load_judge
from search.arena.values.report import _AHEAD, _POINTS, _UTILITY
from tests.search.browsers import needs_chromium
from tests.search.review.test_command import RECORDS, shard_of
from tests.search.serve.material import GAMES, service, table
from tests.search.serve.test_phrases import CARD, UNPHRASED

pytestmark = needs_chromium
PLAIN = rf"((({CARD})|[-+]?\d+(\.\d+)?|…)( |$))+"
"""What is the same in all languages."""
FIXED = r"Kibitz|argmax_val\S*@kibitz:\w+|random<b>|skat_rules|west|north|east"
"""What judges and players are called, in all languages."""
SEEN = {
    "hearts": {"Pass three cards to ", "card I pass", "You led", " for ", "J♠"},
    "skat": {
        "Cards that changed ",
        "in place of",
        "forehand",
        "Put two cards away",
        "not by our rules",
        "By player and",
    },
    "crew": {"mission ", "commander", "Tasks", "Show a card, or stay silent", "card shown or silence", "silent"},
    "table": {"your last hand", "your hand", "human", "Your card"},
}
"""What some pages must say, or the test says more than it does."""
APART = """() => {
    const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const known = "[data-phrase], [data-text], #language, #deal, script";
    while (walker.nextNode()) {
        if (!walker.currentNode.parentElement.closest(known)) found.push(walker.currentNode.textContent);
    }
    return found;
}"""
"""Texts of the page that no phrase is asked for."""


@pytest.fixture(scope="module", params=[*GAMES, "table"])
def review(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A review of deals of a game, or of a hand at a table; and its page."""
    name, out = str(request.param), tmp_path_factory.mktemp("review")
    if name == "table":
        at = table("skat", 1, player="skat_rules")
        while not at.hands.over:
            mine, legal = at.hands.turn == 0, at.game.legal(at.hands._state)[0]
            at.hands.play(0, int(legal.argmax())) if mine else at.hands.let_play()
        (out / "review.html").write_text(service("skat").review(at, 0))
    else:
        file = RECORDS if name == "skat" else shard_of(name, out / "played.parquet")
        assert main([str(file), "--out", str(out)]) == 0
    return name, out / "review.html"


def german(browser: Any, path: Path) -> Any:
    page = browser.new_page(locale="de-DE")
    page.goto(path.as_uri())
    return page


def unphrased(page: Any, said: set[str]) -> list[str]:
    left: list[str] = page.evaluate(UNPHRASED, sorted(said))
    return [text for text in left if text and not re.fullmatch(PLAIN, text)]


def test_everything_on_the_page_has_german_words(review: tuple[str, Path], browser: Any) -> None:
    name, path = review
    page = german(browser, path)
    said = set(page.evaluate("[...document.querySelectorAll('[data-phrase]')].map((one) => one.dataset.phrase)"))
    assert not [wanted for wanted in SEEN[name] if not any(wanted in text for text in said)]
    labels = set(page.evaluate("[...document.querySelectorAll('[aria-label]')].map((one) => one.dataset.label)"))
    assert "step back" in labels and not unphrased(page, said | labels)
    for text in page.evaluate(APART):
        assert not re.search(r"[^\W\d_]", re.sub(FIXED, "", text)), f"no phrase is asked for {text.strip()!r}"
    assert page.evaluate("document.documentElement.lang") == "de" and page.title().startswith("Analyse ")
    option = page.locator("#deal option").first.inner_text()
    assert option.startswith(page.locator(".deal h3").first.text_content()) and option.endswith(" verloren")


def test_every_rare_text_has_german_words(tmp_path: Path, browser: Any, review: tuple[str, Path]) -> None:
    """What the template holds, and what rare files, judges and decisions add to it."""
    source = resources.files("search.apps.review").joinpath("templates/review.html").read_text(encoding="utf-8")
    texts = [" ".join(text.split()) for text in re.findall(r"data-phrase>([^<]+)<", source)]
    said = {re.sub(r"\{\{.*?\}\}", "7", text) for text in texts} - {"By 7", "in 7"}
    assert len(said) > 30
    said |= {f"By {of}" for of in ("player", "phase", "seat", BOTH)} | {"player", "phase", "seat", BOTH}
    own = load_judge("pimc:worlds=1:evaluator=solver", make_game("skat")).unit
    said |= {f"in {unit}" for unit in (_POINTS, _AHEAD, _UTILITY, own)}
    left_out = {f"{left} left out: {why}" for left in ("1 line", "2 lines") for why in _PASSED_OVER}
    said |= left_out | {f"a.sgf: {note}" for note in (*left_out, "record 7, line 3")}
    notes = read_records(RECORDS).notes
    said |= {*notes, *(re.sub(r"\d+ of", "1 of", note) for note in notes)}
    types = {kind for game in GAMES for kind in make_game(game).token_types}
    said |= {phase_name(kind) for kind in types if kind.startswith("my ") and kind != "my place"}
    said |= {"card I pass", "card I discard", "Cards dealt", "Before play", "Play", "Result", "lost 7.1"}
    assert not unphrased(german(browser, review[1]), said)


def test_names_of_files_stay_as_they_are(review: tuple[str, Path], browser: Any) -> None:
    page = german(browser, review[1])
    assert page.evaluate("phrase", "Review of left.parquet - Kibitz") == "Analyse von left.parquet - Kibitz"
    assert page.evaluate("phrase", "Left, row 12") == "Left, Zeile 12"
    assert page.evaluate("phrase", "Review of Left") == "Analyse von Left"


@pytest.mark.parametrize("text", [": ", " won: ", "x for ", "record , line ", " of "])
def test_what_a_file_calls_its_deals_is_never_tried_for_ever(text: str, review: tuple[str, Path], browser: Any) -> None:
    """As long as an ID or a name may be, a little longer, and as long as nothing should be."""
    page = german(browser, review[1])
    for length in (80, 200, 201, 50_000):
        page.evaluate("phrase", (text * length)[:length])
        page.evaluate("phrase", f"record {(text * length)[:length]}, line 7")


def test_without_scripts_the_page_is_in_english(review: tuple[str, Path], browser: Any) -> None:
    page = browser.new_context(java_script_enabled=False, locale="de-DE").new_page()
    page.goto(review[1].as_uri())
    assert page.locator("#costliest h2").inner_text() == "The costliest decisions" and page.is_hidden("#language")
    assert page.get_attribute("html", "lang") == "en"
