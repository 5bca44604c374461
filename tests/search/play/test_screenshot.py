"""The picture of docs/play.md."""

import html
from pathlib import Path

from tests.search.play.screenshot import screenshot

PICTURE = Path(__file__).parents[3] / "docs/images/play.svg"


def words(picture: str) -> str:
    return html.unescape(picture).replace("\xa0", " ")


def test_the_picture_is_made_from_a_seed_and_refers_to_nothing_outside() -> None:
    made = screenshot()
    assert made == screenshot()
    assert "@font-face" not in made and "url(http" not in made
    for text in ("North hearts_rules", "trick 7 of 13", "Your card", "J♥", "Points", "Confirm"):
        assert text in words(made)


def test_the_picture_in_the_docs_shows_that_decision_with_what_the_network_expects() -> None:
    shown = words(PICTURE.read_text(encoding="utf-8"))
    for text in ("North hearts_rules", "trick 7 of 13", "J♥", "What the network expects", "V(h.a)", "visits"):
        assert text in shown
