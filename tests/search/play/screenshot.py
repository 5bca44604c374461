"""The pictures of the docs: ``python -m tests.search.play.screenshot docs/images/play.svg GAME [CHECKPOINT]``.

A hand from a fixed seed against the game's scripted players, up to a decision; with a network, its expectations and a
search of the decision.
"""

import argparse
import asyncio
import re
from pathlib import Path

from cluster.reader import end_with_reader
from games.registry import make_game
from learner.config import EngineConfig
from search.apps.pictures.scene import Pause
from search.apps.play.app import Pace, Phase, PlayApp
from search.apps.play.hand import legal_tokens
from search.apps.play.hints import Hints
from search.apps.play.layouts import layout_of
from search.apps.play.session import Session
from search.config import SearchConfig
from search.go_mcts.config import GoMctsConfig
from search.roster import kinds
from search.roster.engines import Engines
from search.roster.registry import make_players

MOMENTS = {"hearts": (63, "hearts broken"), "skat": (2, "of 10")}
"""Game -> seed of the hand, and end of the title at the decision to show."""


def screenshot(game_name: str = "hearts", checkpoint: str = "") -> str:
    """The screen as self-contained SVG; without a checkpoint the panel shows the points."""
    game, (seed, title) = make_game(game_name), MOMENTS[game_name]
    player, others = kinds.baseline(game) or "random", game.num_players - 1
    players = make_players([player], game, SearchConfig()) * others
    engine = Engines(game, EngineConfig(device="cpu")).get(checkpoint) if checkpoint else None
    hints = Hints(game, engine, GoMctsConfig(), seed) if engine else "there is no network"
    app = PlayApp(layout_of(game, [player] * others), Session(game, players, 0, seed), hints=hints, pace=Pace(0, 0))
    drawn = asyncio.run(_played(app, title, ["g"] if checkpoint else [], f"kibitz play {game_name}"))
    return re.sub(r"@font-face\s*{[^}]*}", "", drawn)


async def _played(app: PlayApp, ending: str, keys: list[str], title: str) -> str:
    """Play first legal actions up to the decision to show, and press some keys."""
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.app.workers.wait_for_complete()
        while app.phase is not Phase.LOOKING and not _worth_a_picture(app, ending):
            await pilot.press(*"123"[: app.scene.needed], "enter")
            await pilot.app.workers.wait_for_complete()
        await pilot.press(*keys)
        while any(not worker.is_finished for worker in app.workers):
            await pilot.pause(0.05)
        await pilot.pause()
        return app.export_screenshot(title=title)


def _worth_a_picture(app: PlayApp, ending: str) -> bool:
    """A few tricks in, cards on the table, and several to choose from."""
    choices, trick = len(legal_tokens(app.scene.choices)), app.scene.pause is Pause.CARD
    return trick and app.scene.title.endswith(ending) and choices >= 4


if __name__ == "__main__":
    end_with_reader()
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("game", choices=MOMENTS)
    parser.add_argument("checkpoint", nargs="?", default="")
    given = parser.parse_args()
    drawn = screenshot(given.game, given.checkpoint)
    given.path.write_text(drawn, encoding="utf-8")
