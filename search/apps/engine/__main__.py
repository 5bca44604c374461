"""Answer other programs' questions about positions: ``kibitz engine GAME``, a JSON object a line.

Questions come on standard input, answers go to standard output, in the order of the questions. The first line out says
who answers. Questions that wait are answered together. ``search.apps.engine.engine`` has the form of both.
"""

import io
import json
import queue
import sys
import threading
from collections.abc import Iterator
from typing import Any, TextIO

from cluster import cli
from cluster.errors import blaming_input
from games.registry import make_game
from search.apps.engine.config import MoveEngineConfig
from search.apps.engine.engine import Answer, MoveEngine, read_json
from search.arena.judges import load_judge
from search.roster.engines import Engines

_WAITING = 1024
"""Most questions read ahead."""


def main(config: MoveEngineConfig) -> None:
    """Answer until standard input ends."""
    with blaming_input():
        game = make_game(config.game.name, config.game.options)
        setup = load_judge(config.player, game, Engines(game, config.engine), config.search)
    engine = MoveEngine(game, setup, config.seed)
    print(json.dumps(engine.about), flush=True)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # else a byte of another encoding ends it
    for batch in batches(sys.stdin, config.batch):
        for answer in answered(engine, batch):
            print(json.dumps(answer))
        sys.stdout.flush()


def answered(engine: MoveEngine, lines: list[str]) -> list[Answer]:
    """The answers to lines, which may be no JSON at all."""
    questions, wrong = dict[int, Any](), dict[int, Answer]()
    for number, line in enumerate(lines):
        try:
            questions[number] = read_json(line)
        except ValueError as error:
            wrong[number] = {"error": f"not JSON: {error}"}
    found = wrong | dict(zip(questions, engine.answers([*questions.values()]), strict=True))
    return [found[number] for number in range(len(lines))]


def batches(file: TextIO, most: int) -> Iterator[list[str]]:
    """The lines of a file as they come, those that wait together, until it ends."""
    waiting: queue.Queue[str | None] = queue.Queue(_WAITING)

    def read() -> None:
        try:
            for line in file:
                if line.strip():
                    waiting.put(line)
        finally:
            waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    while (line := waiting.get()) is not None:
        batch = [line]
        while len(batch) < most and not waiting.empty():
            if (following := waiting.get()) is None:
                yield batch
                return
            batch.append(following)
        yield batch


if __name__ == "__main__":
    cli.game_alone()
    cli.run("move_engine", MoveEngineConfig, main)
