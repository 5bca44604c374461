"""What the server says is said in German too: every text has an id, and every language has it with the same holes."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import games
import search
from games.crew.cards import SPECIALS
from games.registry import make_game
from search.apps.pictures.pages import templates
from search.apps.pictures.texts import ENGLISH, Text, as_json
from search.apps.review.figures import BOTH, phase_name
from search.apps.review.page import _note
from search.apps.serve.tables import WATCHING, Table, TableOptions, scene_message
from search.arena.judges import load_judge
from search.arena.values.report import _AHEAD, _POINTS, _UTILITY
from search.roster.kinds import support_of
from search.scripted.skat.records.sequences import _PASSED_OVER, read_records
from tests.search.browsers import needs_chromium
from tests.search.review.test_decisions import RECORDS
from tests.search.serve.material import GAMES

TEMPLATES = Path(search.__path__[0]) / "apps" / "pictures" / "templates"
SOURCES = [path for end in ("py", "html", "js") for path in Path(search.__path__[0]).rglob(f"*.{end}")]
HANDS = {"hearts": 24, "skat": 220, "crew": 240}
OPTIONS = {"crew": {"distress": True, "muted": "anybody", "pink_target": "after_distress", "roles": "volunteers"}}
WANTED = TableOptions(level="network", people=1, training=True, rival="network")
SEEN = {
    "hearts": {"hearts.no_pass", "hearts.from", "hearts.you_leads", "hearts.leads", "hearts.broken"},
    "skat": {"skat.all_passed", "skat.you_overbid", "skat.won", "skat.schneider", "skat.hand", "skat.ouvert"},
    "crew": {*(f"crew_words.{one}" for one in SPECIALS[:-1]), "crew.success", "crew.failure", "crew.mark"},
}
"""What some hands must have come to, or the test says more than it does."""
_FIRST = 14
"""Scenes of a hand that more is said in than in the tricks later on."""
CARD = r"(10|[2-9JQKA])[♦♥♠♣]|[PBGYR]\d(:\d|>{1,4}|ω)?"
PLAIN = rf"((({CARD})|[-+]?\d+(\.\d+)?( %)?|:\d|ω|>{{1,4}}|…|[▲●▼])( |$))+"
"""What is the same in all languages: cards, tasks with their tiles, the radio's signs, numbers, and what is no word."""


def read(language: str) -> dict[str, dict[str, str]]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(pairs)) == len(pairs), f"{language}.json has an id twice among {[key for key, _ in pairs]}"
        return dict(pairs)

    found: dict[str, dict[str, str]] = json.loads((TEMPLATES / f"{language}.json").read_text(), object_pairs_hook=once)
    return found


def holes(texts: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    """Of every text by its id."""
    return {f"{group}.{name}": sorted({*re.findall(r"\{(\w+)\}", text)})
            for group, found in texts.items() for name, text in found.items()}  # fmt: skip


def test_every_language_has_every_text_with_the_same_holes() -> None:
    english, german = read("en"), read("de")
    assert holes(german) == holes(english) and english == ENGLISH
    assert all(text for texts in (english, german) for group in texts.values() for text in group.values())


def test_every_text_that_is_asked_for_is_there_and_none_is_left_over() -> None:
    """An id is asked for whole, or by its name alone where code or a page puts them together."""
    source = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    words = source + "".join(path.read_text(encoding="utf-8") for path in Path(games.__path__[0]).rglob("*.py"))
    known = holes(ENGLISH)
    asked = {
        f"{group}.{name}" for group, name in re.findall(rf'"({"|".join(ENGLISH)})\.(?!css|html|js)([\w ]*\w)"', source)
    }
    asked |= {f"page.{name}" for name in re.findall(r'(?:data-text="|\btext\("|label\("\w+", ")(\w+)"', source)}
    subjects = {one.replace(".", ".you_") for one in re.findall(r'(?:does\(\S+ |\(trick\.\w+, )"(\w+\.\w+)"', source)}
    assert not [one for one in asked | subjects if one not in known]
    phases = {phase_name(kind) for game in GAMES for kind in make_game(game).token_types}
    named = {*re.findall(r'"([^"\n]+)"', words), *phases, *"JQPBGYR"}
    assert not [one for one in known if one not in asked | subjects
                and one.partition(".")[2].removeprefix("you_").removeprefix("by ") not in named]  # fmt: skip


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


def said(part: Any, ids: set[str]) -> Iterator[str]:
    """The plain strings of a message that people see, also in the holes of texts, whose ids are added."""
    match part:
        case str():
            yield from [part] * (part != "")
        case [str() as id, dict() as inside] if id in KNOWN:
            ids.add(id)
            yield from said(inside, ids)
        case dict():
            yield from said([value for key, value in part.items() if key not in ("type", "history")], ids)
        case list() | tuple():
            for value in part:
                yield from said(value, ids)


KNOWN = holes(ENGLISH)


@pytest.mark.parametrize("game", ["hearts", *(pytest.param(name, marks=pytest.mark.slow) for name in ("skat", "crew"))])
def test_everything_that_a_seat_is_told_is_a_text_or_the_same_in_all_languages(game: str) -> None:
    ids = set[str]()
    plain = {one for scene in told(game) for one in said(scene, ids)}
    assert SEEN[game] <= ids and not [one for one in plain if not re.fullmatch(PLAIN, one)]
    assert {*support_of(make_game(game)).levels} <= {*ENGLISH["words"]} and game in ENGLISH["games"]


def german(browser: Any, game: str) -> Any:
    """The page of a game in German, without a server."""
    page = browser.new_page(locale="de-DE")
    page.set_content(templates("search.apps.serve").get_template("table.html").render(game=game))
    return page


@pytest.mark.slow
@needs_chromium
def test_names_that_people_chose_stay_as_they_are(browser: Any) -> None:
    at = Table(make_game("skat"), WANTED, {}, 7)
    at.seats[1].name, page = "Left J♠ <b>", german(browser, "skat")
    page.evaluate("take", at.scenes(0, 0)[0][-1])
    names = page.locator("#felt .plate").all_inner_texts()
    assert names[1].startswith("LinksLeft J♠ <b>")


@pytest.mark.slow
@needs_chromium
def test_what_stands_in_a_hole_is_translated_too(browser: Any) -> None:
    page, led = german(browser, "skat"), ["table.led_cards", {"who": ["table.left", {}], "cards": "J♠ Q♥ 7♦"}]
    assert page.evaluate("say", led) == "Links spielte B♠ D♥ 7♦ aus" and page.evaluate("say", "Left") == "Left"
    page.select_option("#language", "en")
    assert page.evaluate("say", led) == "Left led J♠ Q♥ 7♦"


def test_every_rare_word_is_a_text() -> None:
    """What rare files, judges and decisions add to the page."""
    left_out = [f"{left} left out: {why}" for left in ("1 line", "2 lines") for why in _PASSED_OVER]
    notes = [*left_out, *read_records(RECORDS).notes, "record 7, line 3"]
    for note in (*notes, *(f"a.sgf: {one}" for one in notes), "left.parquet, row 12", "Your hand"):
        assert isinstance(_note(note), Text) and str(_note(note)) == note
        assert not [one for one in said(as_json(_note(note)), set()) if re.search("[a-z]{2}", one.replace("a.sgf", ""))
                    and one != "left.parquet"]  # fmt: skip
    own = load_judge("pimc:worlds=1:evaluator=solver", make_game("skat")).unit
    types = {kind for game in GAMES for kind in make_game(game).token_types}
    words = {phase_name(kind) for kind in types if kind.startswith("my ") and kind != "my place"}
    assert words | {"card I pass", "card I discard", _POINTS, _AHEAD, _UTILITY, own, BOTH} <= {*ENGLISH["review_words"]}
