"""Sample deals for a page: a run's newest network plays every seat; its expectations at each step are recorded.

Letters: ``T`` tokens of a history.
"""

from collections.abc import Mapping, Sequence
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
class Own:
    """Names of a game and a player that the user gives in place of the recorded ones, because records may not name the
    user's own modules (``games.plugins``); empty for the recorded ones."""

    game: str = ""
    player: str = ""


RECORDED = Own()
"""Nothing of the user's own."""


@dataclass(frozen=True)
class ActionRow:
    """A legal action of the seat to act."""

    name: str
    probability: float
    """Of the policy over legal actions."""
    value: float
    """V(h.a), in units of the utility."""
    visits: Visits | None
    """Its visits in GO-MCTS, where that searched."""
    chosen: bool


@dataclass(frozen=True)
class TokenRow:
    """A possible next token."""

    name: str
    probability: float
    came: bool
    """Whether it came next."""


@dataclass(frozen=True)
class Step:
    """A moment of a deal as one seat sees it."""

    scene: Scene
    chosen: tuple[int, ...]
    """Tokens of the seat's decision."""
    value: float | None
    """V(h), in units of the utility; None at the end."""
    illegal: float
    """Probability of illegal tokens, on the seat's turn."""
    actions: tuple[ActionRow, ...]
    """Most probable first; empty on another seat's turn."""
    tokens: tuple[TokenRow, ...]
    """The most probable next tokens, of any seat."""
    came: str
    """The next token; empty at the end."""
    searched: bool
    """Whether GO-MCTS searched."""


@dataclass(frozen=True)
class Deal:
    """A deal from one seat."""

    seed: int
    seat: int
    player: str
    """Player of all seats."""
    points_per_utility: float
    """0 if unknown."""
    names: tuple[str, ...]
    """Of the seats, the observer's first."""
    searched: bool
    """Whether GO-MCTS searched at every decision."""
    steps: tuple[Step, ...]


def sample_deals(run: Run, count: int, searched: int = 0, own: Own = RECORDED) -> list[Deal]:
    """Play ``count`` deals with the run's newest network on this machine's CPU, each watched from another seat.

    The deals follow from the run's seed: another call plays the same ones.

    Args:
        searched: number of first deals in which GO-MCTS searches every decision, with the run's settings.

    Raises:
        ValueError: the game, the network or the player cannot be loaded.
    """
    if run.newest is None or not count:
        return []
    file, spec = f"{run.root}/{SETTINGS_FILE}", own.player or run.settings["selfplay"]["newest_player"]
    game = recorded_game(file, run.settings["game"]["name"], run.settings["game"]["options"], own.game)
    if not own.player:
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
                points_per_utility=layout.points_per_utility,
                names=layout.names,
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
    scene, expected = layout.scene(history), hints.expect(history)
    visits = hints.search(history) if searched and scene.needed else {}
    following = rest[0] if rest else -1
    return Step(
        scene=scene,
        chosen=tuple(rest[: scene.needed]),
        value=expected.value if expected else None,
        illegal=expected.illegal if expected else 0.0,
        actions=tuple(_actions(layout, expected, visits, following)) if expected else (),
        tokens=tuple(
            TokenRow(layout.token(token), chance, token == following)
            for token, chance in (expected.next_tokens if expected else ())
        ),
        came=layout.token(following) if rest else "",
        searched=bool(visits),
    )


def _actions(layout: Layout, expected: Expectation, visits: Mapping[int, Visits], chosen: int) -> Sequence[ActionRow]:
    return [
        ActionRow(layout.token(hint.token), hint.probability, hint.value, visits.get(hint.token), hint.token == chosen)
        for hint in expected.actions
    ]
