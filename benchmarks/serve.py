"""How fast ``kibitz serve`` answers: ``python -m benchmarks.serve [GAME] [--seconds 60]``.

One question alone over HTTP, against a process that is started for each (``kibitz engine``); a hint with a search of
100 simulations; how long somebody waits for the page and for the first cards in a browser; then 200 clients at once,
each asking again as soon as it is answered, every answer compared with that of the same question alone.
"""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np
from aiohttp.test_utils import TestClient, TestServer

from benchmarks.report import Case, report
from games.config import GameConfig
from games.game import Game
from games.rng import derive_many
from search.apps.serve.config import ServeConfig
from search.apps.serve.server import Server
from search.apps.serve.service import Service
from search.apps.serve.tables import Table, TableOptions

Client = TestClient[Any, Any]
CLIENTS, QUESTIONS, SIMULATIONS, VISITORS = 200, 100, 100, 11


def questions_of(game: Game, count: int) -> list[dict[str, Any]]:
    """Decisions of random deals, early and late."""
    states, found, number = game.deal(derive_many(2, count)), list[dict[str, Any]](), 0
    while len(found) < count:
        states = states[game.to_move(states) >= 0]
        seats = game.to_move(states).astype(np.int64)
        tokens, lengths = game.histories(states[number % len(states)][None], seats[number % len(states)][None])
        names = [game.vocabulary.name(token) for token in tokens[0, : lengths[0]]]
        found.append({"seat": int(seats[number % len(states)]), "history": names})
        legal = game.legal(states)
        game.play(states, (legal * np.random.default_rng(number).random(legal.shape)).argmax(axis=1))
        number += 1
        if not (game.to_move(states) >= 0).any():
            states = game.deal(derive_many(3 + number, count))
    return found


async def timed(client: Client, questions: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], float]:
    """The answer to each question alone, and the median seconds of one."""
    answers, seconds = [], []
    for question in questions:
        began = time.perf_counter()
        answers.append(await (await client.post("/answers", json=question)).json())
        seconds.append(time.perf_counter() - began)
    return answers, median(seconds)


async def crowd(
    client: Client,
    questions: list[dict[str, Any]],
    answers: list[dict[str, Any]],
    seconds: float,
) -> Counter[str]:
    """How many answers of many clients at once were right, wrong, or told to come back."""
    counts, until = Counter[str](), time.monotonic() + seconds

    async def ask(number: int) -> None:
        while time.monotonic() < until:
            number = (number + 1) % len(questions)
            response = await client.post("/answers", json=questions[number])
            if response.status == 503:
                counts["later"] += 1
                await asyncio.sleep(0.1)
                continue
            answer = await response.json()
            same = answer["best"] == answers[number]["best"] and np.isclose(
                answer["expected"], answers[number]["expected"], atol=0.2
            )
            counts["right" if same else "wrong"] += 1

    await asyncio.gather(*(ask(number) for number in range(CLIENTS)))
    return counts


def hinted(service: Service) -> float:
    """Median seconds until a search shows as many simulations, at decisions of a hand."""
    table: Table = service.table(service.checked(TableOptions(level="rules", training=True)))
    found = []
    while not table.hands.over:
        if table.waits_for_players:
            table.hands.let_play()
            continue
        began = time.perf_counter()
        for hint in service.search(table, 0, lambda: False):
            if hint and hint["searching"] and hint["simulations"] >= SIMULATIONS:
                found.append(time.perf_counter() - began)  # a decision with one likely action is not searched so long
                break
        scene = table.scenes(0, 0)[0][-1]
        legal = [choice["token"] for choice in scene["choices"] if choice["legal"]]
        table.act(0, legal[: scene["needed"]])
    return median(found)


@contextmanager
def serving(game: str) -> Iterator[str]:
    """The link of a server that was started for it."""
    line = [sys.executable, "-m", "search.apps.serve", game, "port=0", "seed=1", "pace=0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def shown(game: str) -> dict[str, float]:
    """Seconds that somebody waits: for the link, for the first paint of the page (the median and the longest of several
    new visitors), and for a table with its cards."""
    from playwright.sync_api import sync_playwright

    began, found = time.perf_counter(), dict[str, float]()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with serving(game) as link, sync_playwright() as started:
        found["link"] = time.perf_counter() - began
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        paints = list[float]()
        for _ in range(VISITORS):
            page = browser.new_context().new_page()
            page.goto(link)
            entries = "performance.getEntriesByName('first-contentful-paint')"
            while not page.evaluate(f"{entries}.length"):  # the page forbids what Playwright would wait with
                page.wait_for_timeout(10)
            paints.append(page.evaluate(f"{entries}[0].startTime") / 1000)
        found |= {"first paint": median(paints), "the longest": max(paints)}
        page.wait_for_selector("#lobby:not([hidden]) #levels input")
        asked = time.perf_counter()
        page.click("#open button")
        page.wait_for_selector("#hand button:not(:disabled)", timeout=120_000)
        found["first cards"] = time.perf_counter() - asked
        browser.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", nargs="?", default="skat")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the crowd")
    options = parser.parse_args()
    waits = shown(options.game)
    config = ServeConfig(game=GameConfig(name=options.game), seed=1)
    service = Service(config)
    questions = questions_of(service.game, QUESTIONS)

    async def measured() -> tuple[float, Counter[str]]:
        async with TestClient(TestServer(Server(config, service).app)) as client:
            await timed(client, questions[:20])
            answers, alone = await timed(client, questions)
            return alone, await crowd(client, questions, answers, options.seconds)

    alone, counts = asyncio.run(measured())
    began = time.perf_counter()
    command = [sys.executable, "-m", "search.apps.engine", options.game]
    subprocess.run(command, input=json.dumps(questions[0]) + "\n", text=True, capture_output=True, check=True)
    started, hint = time.perf_counter() - began, hinted(service)
    told = f"{counts['right']:,} right, {counts['wrong']} wrong, {counts['later']} told to come back"
    print(f"{CLIENTS} clients for {options.seconds:g} s: {told}")
    print(
        f"a hint with {SIMULATIONS} simulations: {hint:.2f} s; "
        + ", ".join(f"{k}: {v:.2f} s" for k, v in waits.items())
    )
    rate = counts["right"] / options.seconds
    report(
        [
            Case("serve", f"{options.game}, an answer", alone, started, "s", less_is_better=True),
            Case("serve", f"{options.game}, {CLIENTS} clients", rate, 1 / alone, "answers/s"),
        ]
    )


if __name__ == "__main__":
    main()
