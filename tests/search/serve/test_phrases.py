"""What the server says is said in German too: every line of many hands, and every line that refuses something."""

import ast
import inspect
import random
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from games.crew.cards import SPECIALS
from games.registry import make_game
from search.apps.pictures.pages import templates
from search.apps.play.session import Hands
from search.apps.serve import games
from search.apps.serve.tables import WATCHING, Table, TableOptions, scene_message
from search.roster.kinds import support_of
from tests.search.browsers import needs_chromium
from tests.search.serve.material import GAMES
from tests.search.serve.test_browser import playwright, press, served

pytestmark = needs_chromium
HANDS = {"hearts": 24, "skat": 220, "crew": 240}
OPTIONS = {"crew": {"distress": True, "muted": "anybody", "pink_target": "after_distress", "roles": "volunteers"}}
WANTED = TableOptions(level="network", training=True, rival="network")
SEEN = {
    "hearts": {"No cards are passed", "From North", "From West", "You lead", "North leads", "hearts broken"},
    "skat": {"Everybody has passed", "You overbid: ", "Right won: ", "hand, schneider", "null hand", "null, ouvert"},
    "crew": {*SPECIALS[:-1], "Success", "Failure", "What is the card?", "The task that gets the tile"},
}
"""What some hands must have come to, or the test says more than it does."""
_FIRST = 14
"""Scenes of a hand that more is said in than in the tricks later on."""
CARD = r"(10|[2-9JQKA])[♦♥♠♣]|[PBGYR]\d(:\d|>{1,4}|ω)?"
PLAIN = rf"((({CARD})|-?\d+|>{{1,4}}|…)( |$))+"
"""What is the same in all languages: cards, tasks with their tiles, numbers, and what is no word."""
OPERATORS = ("config", "kept", "__main__")
"""Modules whose errors are told to those who run the server."""
UNPHRASED = """(said) => {
    const left = [];
    unphrased = (one) => { left.push(one); return one; };
    said.forEach(phrase);
    return left;
}"""


def told(game: str) -> Iterator[dict[str, Any]]:
    """Some scenes of a seat of each of many hands, in which all act at random, rather low than high."""
    chance, at = random.Random(3), Table(make_game(game, OPTIONS.get(game, {})), WANTED, {}, 3)
    for _ in range(HANDS[game]):
        seat = chance.choice((at.hands.turn, chance.randrange(WATCHING, at.game.num_players)))  # who begins says more
        while not at.hands.over:
            legal = np.flatnonzero(at.game.legal(at.hands._state)[0]).tolist()
            at.hands.play(at.hands.turn, chance.choice(legal[: chance.choice((1, 6, None))]))
        history, layout = at.history_of(seat), at.layout(seat)
        stops = layout.stops(history)
        yield from at.scenes(seat, stops[-1])[0]
        for stop in {*chance.sample(stops[:_FIRST], min(len(stops), 6)), *chance.sample(stops, min(len(stops), 2))}:
            yield scene_message(layout.scene(history[:stop]))
        at.hands.deal()


def words(part: Any) -> Iterator[str]:
    """All texts of a message that people see."""
    if isinstance(part, str):
        yield from [part] * (part != "")
    elif isinstance(part, dict):
        yield from words([value for key, value in part.items() if key not in ("type", "history")])
    elif isinstance(part, list | tuple):
        for value in part:
            yield from words(value)


def refusals() -> Iterator[str]:
    """Every line that a server can refuse something with; 7 for what such a line is about."""
    sources = [path for path in Path(games.__file__).parent.glob("*.py") if path.stem not in OPERATORS]
    asked = [inspect.getsource(method) for method in (Hands.deal, Hands.play, Hands.undo, Hands._decide)]
    for code in (*(path.read_text() for path in sources), *map(dedent, asked)):
        for node in ast.walk(ast.parse(code)):
            said = list[ast.expr]()
            if isinstance(node, ast.Call):
                said = node.args[:1] if ast.unparse(node.func) in ("ValueError", "self._tell_all") else []
                said += [keyword.value for keyword in node.keywords if keyword.arg == "text"]
            elif isinstance(node, ast.Dict):
                said = [v for k, v in zip(node.keys, node.values, strict=True) if k and ast.unparse(k) == "'text'"]
            for one in said:
                parts = one.values if isinstance(one, ast.JoinedStr) else [one]
                if all(isinstance(part, ast.Constant | ast.FormattedValue) for part in parts):
                    yield "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in parts)


def german(browser: Any, game: str) -> Any:
    """The page of a game in German, without a server."""
    page = browser.new_page(locale="de-DE")
    page.set_content(templates("search.apps.serve").get_template("table.html").render(game=game))
    return page


@pytest.mark.parametrize("game", GAMES)
def test_everything_that_a_seat_is_told_has_german_words(game: str, browser: Any) -> None:
    said = {text for scene in told(game) for text in words(scene)}
    assert not [wanted for wanted in SEEN[game] if not any(wanted in text for text in said)]
    said |= {*refusals(), *(f"{level} (7)" for level in support_of(make_game(game)).levels), game.capitalize()}
    left = german(browser, game).evaluate(UNPHRASED, sorted(said))
    assert not [text for text in left if not re.fullmatch(PLAIN, text)]


def test_names_that_people_chose_stay_as_they_are(browser: Any) -> None:
    at = Table(make_game("skat"), WANTED, {}, 7)
    at.seats[1].name, page = "You pass <b>", german(browser, "skat")
    page.evaluate("take", at.scenes(0, 0)[0][-1])
    names = page.locator("#felt .name").all_inner_texts()
    assert names == ["Sie", "Links You pass <b>", "Rechts Gast"]


def test_what_stands_in_a_phrase_is_translated_too_and_english_is_left_alone(browser: Any) -> None:
    page, said = german(browser, "skat"), "Left led J♠ Q♥ 7♦ · You 18 · Right play to them"
    assert page.evaluate("phrase", said) == "Links spielte B♠ D♥ 7♦ aus · Sie: 18 · Right play to them"
    page.select_option("#language", "en")
    assert page.evaluate("phrase", said) == said


def test_a_game_in_german_and_back_in_english(browser: Any) -> None:
    """The switch changes at once what is on the page, hints too."""
    with served("skat") as address:
        page = browser.new_page(locale="en-GB")
        page.goto(address)
        page.wait_for_selector("#level option", state="attached")
        page.select_option("#language", "de")
        assert "Anfänger" in page.inner_text("#level") and page.input_value("#level") == "network"
        page.select_option("#level", "rules")
        press(page, "#open button", touch=False)
        page.evaluate("document.getElementById('speed').value = '0.2'")
        hinted, until = False, time.monotonic() + 120
        while not hinted:
            assert time.monotonic() < until, page.inner_text("#table")
            with suppress(playwright.TimeoutError):  # somebody else's turn
                if "Stich" in page.inner_text("#title") and page.inner_text("#prompt") == "Ihre Karte":
                    press(page, "#hint", touch=False, seconds=1)
                    page.wait_for_selector("#told table", timeout=10_000)
                else:
                    press(page, "#next:visible, #hand button:not(:disabled)", touch=False, seconds=1)
            page.wait_for_timeout(500)  # scenes that are on their way
            hinted = page.locator("#told table").count() == 1 and page.inner_text("#prompt") == "Ihre Karte"
        title, told = page.inner_text("#title"), page.inner_text("#told")
        assert (
            re.fullmatch(r"Skat · (Karo|Herz|Pik|Kreuz|Grand|Null)[\w ,]* · Stich \d+ von 10", title)
            and "Erwartet" in told
        )
        page.select_option("#language", "en")
        assert page.inner_text("#prompt") == "Your card" and "Expected" in page.inner_text("#told")
        assert re.fullmatch(r"Skat · [a-z ,]+ · trick \d+ of 10", page.inner_text("#title"))
