"""The picture of the README: ``python -m search.play.screenshot docs/images/play.svg [CHECKPOINT]``.

A hand from a fixed seed against players by rules, up to a decision, with what the network expects and a search of it.
"""

import asyncio
import re
import sys
from pathlib import Path

from games.registry import make_game
from learner.config import EngineConfig
from search.config import GoMctsConfig, SearchConfig
from search.play.app import Pace, Phase, PlayApp
from search.play.config import SHIPPED
from search.play.hints import Hints
from search.play.layouts import layout_of
from search.play.scene import Pause
from search.play.selection import legal_tokens
from search.play.session import Session
from search.players.engines import Engines
from search.players.registry import make_players

SEED = 63


def screenshot(checkpoint: str = "", seed: int = SEED) -> str:
    """The screen as SVG that refers to nothing outside; without a checkpoint the panel shows the points."""
    game = make_game("hearts")
    players = make_players(["hearts_rules"], game, SearchConfig()) * 3
    engine = Engines(game, EngineConfig(device="cpu")).get(checkpoint) if checkpoint else None
    hints = Hints(game, engine, GoMctsConfig(), seed) if engine else "there is no network"
    app = PlayApp(layout_of(game, ["hearts_rules"] * 3), Session(game, players, 0, seed), hints=hints, pace=Pace(0, 0))
    drawn = asyncio.run(_played(app, ["g"] if checkpoint else []))
    return re.sub(r"@font-face\s*{[^}]*}", "", drawn)


async def _played(app: PlayApp, keys: list[str]) -> str:
    """Play the first of what can be played up to a decision worth looking at, and press some keys."""
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.app.workers.wait_for_complete()
        while app.phase is not Phase.LOOKING and not _worth_a_picture(app):
            await pilot.press(*("123" if app.scene.needed == 3 else "1"), "enter")
            await pilot.app.workers.wait_for_complete()
        await pilot.press(*keys)
        while any(not worker.is_finished for worker in app.workers):
            await pilot.pause(0.05)
        await pilot.pause()
        return app.export_screenshot(title="kibitz play hearts")


def _worth_a_picture(app: PlayApp) -> bool:
    """A few tricks in, cards on the table, and several to choose from."""
    choices, trick = len(legal_tokens(app.scene.choices)), app.scene.pause is Pause.CARD
    return trick and app.scene.title.endswith("hearts broken") and choices >= 4


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(screenshot(sys.argv[2] if len(sys.argv) > 2 else SHIPPED), encoding="utf-8")
