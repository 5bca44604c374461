"""The system's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="no Chromium")


_LEAST_CONTRAST = """() => {
    const rgba = (text) => (text.match(/rgba?\\([^)]*\\)/g) ?? []).map((one) => {
        const [r, g, b, a = 1] = one.match(/[\\d.]+/g).map(Number);
        return [r, g, b, a];
    });
    const over = ([r, g, b, a], below) => [r, g, b].map((part, k) => a * part + (1 - a) * below[k]);
    const light = (colour) => colour.map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, k) => sum + part * [0.2126, 0.7152, 0.0722][k], 0);
    const grounds = (one) => {
        if (!one) return [[255, 255, 255]];
        const style = getComputedStyle(one), own = rgba(style.backgroundColor)[0], stops = rgba(style.backgroundImage);
        const below = own[3] === 1 ? [own.slice(0, 3)] : grounds(one.parentElement).map((ground) => over(own, ground));
        return stops.length ? stops.flatMap((stop) => below.map((ground) => over(stop, ground))) : below;
    };
    const found = [];
    for (const one of document.querySelectorAll("body *:not(svg *, script)")) {
        const says = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
        if (!says || !one.checkVisibility({ visibilityProperty: true })) continue;
        const style = getComputedStyle(one), [ink] = rgba(style.color);
        const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        const ratios = grounds(one).map((ground) => {
            const [more, less] = [light(over(ink, ground)), light(ground)].sort((a, b) => b - a);
            return (more + 0.05) / (less + 0.05);
        });
        const least = Math.min(...ratios);
        if (least < (large ? 3 : 4.5)) found.push(`contrast ${least.toFixed(2)}: ${one.outerHTML.slice(0, 200)}`);
    }
    return found;
}"""
"""Texts whose contrast with any colour behind them is below WCAG's AA. axe-core leaves those on gradients undecided."""


def findings(page: Any) -> list[str]:
    """What axe-core finds wrong with a page for people who see or hear it otherwise, or use keys; and texts that are
    hard to read."""
    axe = files(pytest.importorskip("axe_playwright_python")).joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(axe)
    found = page.evaluate("axe.run({ iframes: false })")["violations"]
    wrong = [f"{one['id']}: {node['html'][:200]} {node['failureSummary']}" for one in found for node in one["nodes"]]
    return wrong + list(page.evaluate(_LEAST_CONTRAST))


@contextmanager
def launched() -> Iterator[Any]:
    """A browser without windows."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
