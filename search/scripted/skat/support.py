"""Support of Skat: scripted players, pictures and PIMC's solver."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from games.game import Game
from search.pimc.player import Pimc
from search.players.kinds import PlayerKind
from search.players.player import Player, Turns
from search.players.support import Calls, Level, Support
from search.scripted.skat.config import SkatRulesConfig

if TYPE_CHECKING:
    from games.recorded_deals import RecordedDeals
    from search.apps.pictures.scene import Layout


def _rules(game: Game, model: None, settings: SkatRulesConfig) -> Player:
    from search.scripted.skat.rules.player import SkatRules

    return SkatRules(settings)


def _layout(game: Game, players: Sequence[str], observer: str) -> "Layout":
    from search.scripted.skat.layout import SkatLayout

    return SkatLayout(game, players, observer)


def _solver(pimc: Pimc, worlds: np.ndarray, considered: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
    from search.scripted.skat.solved import solver

    return solver(pimc, worlds, considered, seeds, seconds)


def _solve(game: Game, states: np.ndarray) -> np.ndarray:
    from search.scripted.skat.solved import solve

    return solve(game, states)


def _line(game: Game, states: np.ndarray, real: np.ndarray) -> np.ndarray:
    from search.scripted.skat.solved import line

    return line(game, states, real)


def _rebuild(game: Game, tokens: np.ndarray, deal: np.ndarray, seat: np.ndarray, place: np.ndarray) -> np.ndarray:
    from games.skat.replay import states_at

    return states_at(game, tokens, deal, seat, place)


def _records(path: Path, most: int = 0) -> "RecordedDeals":
    from search.scripted.skat.records.sequences import read_records

    return read_records(path, most)


def _auction(game: Game, turns: Turns) -> Calls:
    from search.scripted.skat.auction import calls

    return calls(game, turns)


SUPPORT = Support(
    kinds=(
        PlayerKind(
            name="skat_rules",
            summary="Bids and plays Skat by rules of thumb.",
            games=("skat",),
            settings=SkatRulesConfig,
            factory=_rules,
            baseline=True,
        ),
    ),
    layout=_layout,
    evaluators={"solver": _solver},
    solvers={"solver": _solve},
    hindsight="solver",
    rebuild=_rebuild,
    line=_line,
    review_field={0: 1.24, 2: 1.78, 5: 3.38, 10: 4.58, 15: 5.17, 20: 7.32, 100: 25.2},
    records={".sgf": _records},
    auction=_auction,
    levels={
        "beginner": Level("skat_rules:explore=0.15", -203),
        "rules": Level("skat_rules", 0),
        "casual": Level("imitation:temperature=2@kibitz:skat", 65),
        "network": Level("argmax_val@kibitz:skat", 119),
        "search": Level("go_mcts:num_runs=40@kibitz:skat", 118, 1.0),
    },
)
