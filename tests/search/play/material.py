"""What the tests of playing share: a table with quick players, and what is on the screen."""

import asyncio
from collections.abc import Awaitable, Callable

from textual.pilot import Pilot

from games.registry import make_game
from search.apps.play.app import Pace, Phase, PlayApp
from search.apps.play.hints import Hints
from search.apps.play.layouts import layout_of
from search.apps.play.session import Session
from search.config import SearchConfig
from search.roster.registry import make_players


def session_of(game_name: str = "hearts", player: str = "random", seat: int = 0, seed: int = 1) -> Session:
    game = make_game(game_name)
    return Session(game, make_players([player], game, SearchConfig()) * (game.num_players - 1), seat, seed)


def app_of(session: Session, hints: Hints | str = "there is no network") -> PlayApp:
    layout = layout_of(session.game, ["random"] * (session.game.num_players - 1))
    return PlayApp(layout, session, hints=hints, pace=Pace(0, 0))


def drive(app: PlayApp, script: Callable[[Pilot[None]], Awaitable[None]]) -> None:
    """Run an app at 80 x 24 while a script presses keys."""

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(pilot)
            await script(pilot)

    asyncio.run(run())


async def settled(pilot: Pilot[None]) -> None:
    """Everybody else has played, the network has answered, and all of it is on the screen."""
    await pilot.pause(0)
    while not all(worker.is_finished for worker in pilot.app.workers):
        await pilot.pause(0.005)
    await pilot.pause(0)
    await pilot.pause(0)


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys and wait for what follows; ``pilot.press`` waits much longer."""
    for key in keys:
        pilot.app.simulate_key(key)
    await settled(pilot)


async def play_hand(pilot: Pilot[None], app: PlayApp) -> None:
    """Play the first of what can be played until the hand is over."""
    while app.phase is Phase.CHOOSING:
        keys = "123"[: app.scene.needed]
        await press(pilot, *keys, "enter")


def screen(app: PlayApp) -> list[str]:
    """The lines on the screen, without the line of keys."""
    strips = app.screen._compositor.render_strips()[:23]
    return ["".join(segment.text for segment in strip) for strip in strips]


def size(text: str) -> tuple[int, int]:
    """Columns and lines."""
    lines = text.split("\n")
    return max(map(len, lines)), len(lines)
