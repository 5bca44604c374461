"""The page of a review in German: everything on it has German words, in every game and from the table."""

import re
from pathlib import Path
from typing import Any

import pytest

from cluster.provenance import installed_version
from games.registry import make_game
from search.apps.pictures.texts import ENGLISH, Text, as_json
from search.apps.review.__main__ import main
from search.apps.review.figures import BOTH, phase_name
from search.apps.review.page import _note
from search.arena.judges import load_judge
from search.arena.values.report import _AHEAD, _POINTS, _UTILITY
from search.scripted.skat.records.sequences import _PASSED_OVER, read_records
from tests.search.browsers import needs_chromium
from tests.search.review.test_command import RECORDS, shard_of
from tests.search.serve.material import GAMES, service, table
from tests.search.serve.test_texts import PLAIN, said

pytestmark = needs_chromium
FIXED = r"Kibitz|argmax_val\S*@kibitz:\w+|random<b>|skat_rules|west|north|east"
"""What judges and players are called, in all languages."""
SEEN = {
    "hearts": {"hearts.pass", "review_words.card I pass", "table.you_led", "review.for"},
    "skat": {"review.changes", "review.from_card", "skat_words.forehand", "skat.discard", "notes.not by our rules"},
    "crew": {"crew.mission", "crew.commander", "crew.talk", "review_words.card shown or silence", "crew_words.silent"},
    "table": {"review.own", "notes.your_hand", "words.human", "table.your_card"},
}
"""What some pages must say, or the test says more than it does."""
APART = """() => {
    const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const known = "[data-said], [data-text], .card, #language, #deal, script";
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
    texts = page.evaluate("[...document.querySelectorAll('[data-said]')].map((one) => JSON.parse(one.dataset.said))")
    files = {"iss_records.sgf", "played.parquet", installed_version()}
    plain = {one for text in texts for one in said(text, ids)}
    assert not [one for one in plain - files if not re.fullmatch(rf"{PLAIN}|{FIXED}", one)]
    assert SEEN[name] <= ids
    for text in page.evaluate(APART):
        assert not re.search(r"[^\W\d_]", re.sub(FIXED, "", text)), f"no text is asked for {text.strip()!r}"
    assert page.evaluate("document.documentElement.lang") == "de" and page.title().startswith("Analyse ")
    assert page.get_attribute("#back", "aria-label") == "einen Schritt zurück"
    option = page.locator("#deal option").first.inner_text()
    assert option.startswith(page.locator(".deal h3").first.text_content()) and option.endswith(" verloren")


def test_every_rare_word_is_a_text() -> None:
    """What rare files, judges and decisions add to the page."""
    left_out = [f"{left} left out: {why}" for left in ("1 line", "2 lines") for why in _PASSED_OVER]
    notes = [*left_out, *read_records(RECORDS).notes, "record 7, line 3"]
    for note in (*notes, *(f"a.sgf: {one}" for one in notes), "left.parquet, row 12", "your hand"):
        assert isinstance(_note(note), Text) and str(_note(note)) == note
        assert not [one for one in said(as_json(_note(note)), set()) if re.search("[a-z]{2}", one.replace("a.sgf", ""))
                    and one != "left.parquet"]  # fmt: skip
    own = load_judge("pimc:worlds=1:evaluator=solver", make_game("skat")).unit
    types = {kind for game in GAMES for kind in make_game(game).token_types}
    words = {phase_name(kind) for kind in types if kind.startswith("my ") and kind != "my place"}
    assert words | {"card I pass", "card I discard", _POINTS, _AHEAD, _UTILITY, own, BOTH} <= {*ENGLISH["review_words"]}


def test_without_scripts_the_page_is_in_english(review: tuple[str, Path], browser: Any) -> None:
    page = browser.new_context(java_script_enabled=False, locale="de-DE").new_page()
    page.goto(review[1].as_uri())
    assert page.locator("#costliest h2").inner_text() == "The costliest decisions" and page.is_hidden("#language")
    assert page.get_attribute("html", "lang") == "en"
