"""Pictures of tables and of a review: ``python -m tests.search.serve.screenshots DIR``.

A table of each game on a desk and on a phone, at the third decision with a hint, and the review of a file of records.
"""

import sys
from pathlib import Path

from playwright.sync_api import Browser, Page

from search.apps.review.__main__ import main as review
from tests.search.browsers import launched
from tests.search.serve.material import GAMES
from tests.search.serve.test_browser import open_table, press, served

RECORDS = Path(__file__).parents[2] / "games" / "skat" / "iss_records.sgf"
_HINTED = 6
"""Things that are pressed before the hint."""


def main(out: Path) -> None:
    """Draw all of them."""
    out.mkdir(parents=True, exist_ok=True)
    with launched() as browser:
        for game in GAMES:
            with served(game) as address:
                for name, size in (("desk", (1100, 720)), ("phone", (390, 844))):
                    table(browser, game, address, size).screenshot(path=out / f"table-{game}-{name}.png")
        review([str(RECORDS), "--out", str(out / "review")])
        page = browser.new_page(viewport={"width": 1000, "height": 900})
        page.goto(f"file://{(out / 'review' / 'review.html').resolve()}")
        page.locator("#costliest a").nth(2).click()
        page.screenshot(path=out / "review.png")


def table(browser: Browser, game: str, address: str, size: tuple[int, int]) -> Page:
    """A table with a hint on it."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    open_table(page, address, "network", **({"mission": 8} if game == "crew" else {}))
    pressed = 0
    while pressed < _HINTED or not page.is_visible("#hint"):
        page.evaluate("document.getElementById('speed').value = '0.2'")
        target = "#confirm" if page.is_visible("#confirm") else "#hand button:not(:disabled):not(.chosen)"
        if page.locator(target).count():
            press(page, target, touch=False)
            pressed += 1
        page.wait_for_timeout(200)
    press(page, "#search", touch=False)
    page.wait_for_selector("#told table")
    page.wait_for_selector("#stop", state="hidden")
    return page


if __name__ == "__main__":
    main(Path(sys.argv[1]))
