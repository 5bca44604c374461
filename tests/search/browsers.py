"""The system's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="no Chromium")


def findings(page: Any) -> list[str]:
    """What axe-core finds wrong with a page for people who see or hear it otherwise, or use keys."""
    axe = files(pytest.importorskip("axe_playwright_python")).joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(axe)
    found = page.evaluate("axe.run({ iframes: false })")["violations"]
    return [f"{one['id']}: {node['html'][:200]} {node['failureSummary']}" for one in found for node in one["nodes"]]


@contextmanager
def launched() -> Iterator[Any]:
    """A browser without windows."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
