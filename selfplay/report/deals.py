"""Sample deals for a page: a run's newest network plays every seat; each step has what it expects.

Letters: ``T`` tokens of a history.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from games.game import Game
from games.registry import recorded_game
from games.rng import derive, derive_many
from learner.config import EngineConfig
from search.apps.pictures.scene import Layout, Scene
from search.apps.play.hints import Expectation, Hints, Visits
from search.apps.play.layouts import layout_of
from search.config import SearchConfig
from search.players.player import Player
from search.players.table import play_table
from search.roster.engines import Engines
from search.roster.registry import check_recorded, make_players
from selfplay.recorded import SETTINGS_FILE, typed
from selfplay.report.contents import Run
from selfplay.run_directory import RunDirectory


@dataclass(frozen=True)
class Step:
    """A moment of a deal as one seat sees it."""

    scene: Scene
    chosen: tuple[int, ...]
    """Tokens of the seat's decision."""
    expected: Expectation | None
    """The network's; None at the end of the deal."""
    visits: Mapping[int, Visits]
    """GO-MCTS's, by action; empty where it did not search."""
    came: int
    """The next token; -1 at the end."""


@dataclass(frozen=True)
class Deal:
    """A deal from one seat."""

    seed: int
    seat: int
    player: str
    """Player of all seats."""
    layout: Layout
    """Words of the tokens, and names of the seats, the observer's first."""
    searched: bool
    """Whether GO-MCTS searched at every decision."""
    steps: tuple[Step, ...]


def sample_deals(run: Run, count: int, searched: int = 0, own_game: str = "", own_player: str = "") -> list[Deal]:
    """Play ``count`` deals with the run's newest network on this machine's CPU, each watched from another seat.

    The deals follow from the run's seed: another call plays the same ones.

    Args:
        searched: number of first deals in which GO-MCTS searches every decision, with the run's settings.
        own_game, own_player: the user's own names in place of the recorded ones, as records may not name the user's own
            modules (``games.plugins``); empty for the recorded ones.

    Raises:
        ValueError: the game, the network or the player cannot be loaded.
    """
    if run.newest is None or not count:
        return []
    file, spec = f"{run.root}/{SETTINGS_FILE}", own_player or run.settings["selfplay"]["newest_player"]
    game = recorded_game(file, run.settings["game"]["name"], run.settings["game"]["options"], own_game)
    if not own_player:
        check_recorded(file, spec)
    search = typed(run.settings["search"], SearchConfig)
    engine = EngineConfig(device="cpu", mask_outcomes=run.settings["engine"]["mask_outcomes"])
    engines, checkpoint = Engines(game, engine), RunDirectory(run.root).checkpoint(run.newest)
    seed = derive(run.settings["run"]["seed"], "report")
    (player,) = make_players([spec], game, search, checkpoint, engines=engines)
    hints = Hints(game, engines.get(checkpoint, search.go_mcts.utility), search.go_mcts, seed)
    layout = layout_of(game, [""] * (game.num_players - 1))
    deals = []
    for i, deal_seed in enumerate(derive_many(seed, count)):
        seat, is_searched = i % game.num_players, i < searched
        tokens = _history(game, player, deal_seed, seat, derive(seed, "decisions"))
        deals.append(
            Deal(
                seed=int(deal_seed),
                seat=seat,
                player=f"{spec} of iteration {run.newest}",
                layout=layout,
                searched=is_searched,
                steps=tuple(_step(game, layout, hints, tokens, stop, is_searched) for stop in layout.stops(tokens)),
            )
        )
    return deals


def _history(game: Game, player: Player, deal_seed: np.uint64, seat: int, secret: int) -> np.ndarray:
    """The history (``[T]``) of one seat in a deal that ``player`` plays in every seat."""
    seating = np.zeros((1, game.num_players), np.int64)
    played = play_table(game, [player], seating, np.array([deal_seed], np.uint64), secret=secret)
    tokens, lengths = game.histories(played.states, np.array([seat]))
    return tokens[0, : lengths[0]]


def _step(game: Game, layout: Layout, hints: Hints, tokens: np.ndarray, stop: int, searched: bool) -> Step:
    history, rest = tokens[:stop], tokens[stop:].tolist()
    scene = layout.scene(history)
    return Step(
        scene=scene,
        chosen=tuple(rest[: scene.needed]),
        expected=hints.expect(history),
        visits=hints.search(history) if searched and scene.needed else {},
        came=rest[0] if rest else -1,
    )
