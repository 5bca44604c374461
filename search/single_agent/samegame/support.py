"""Support of SameGame: scripted player and rollouts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from games.game import Game
from search.players.kinds import PlayerKind
from search.players.player import Player
from search.players.support import Support
from search.single_agent.config import NrpaConfig

if TYPE_CHECKING:
    from search.apps.pictures.scene import Layout


def _greedy(game: Game, model: None, settings: None) -> Player:
    from search.single_agent.samegame.greedy import SameGameGreedy

    return SameGameGreedy()


def _nrpa(game: Game, model: None, settings: NrpaConfig) -> Player:
    from search.single_agent.samegame.nrpa import Nrpa

    return Nrpa(settings)


def _layout(game: Game, players: Sequence[str], observer: str) -> "Layout":
    from search.single_agent.samegame.layout import SameGameLayout

    return SameGameLayout(game, players, observer)


def _tabu(game: Game, states: np.ndarray, seeds: np.ndarray) -> None:
    from search.single_agent.samegame.rollouts import tabu

    tabu(game, states, seeds)


SUPPORT = Support(
    kinds=(
        PlayerKind(
            name="samegame_greedy",
            summary="Takes the largest block of SameGame.",
            games=("samegame",),
            factory=_greedy,
            baseline=True,
        ),
        PlayerKind(
            name="nrpa",
            summary="Nested rollout policy adaptation in SameGame (Rosin 2011).",
            games=("samegame",),
            settings=NrpaConfig,
            factory=_nrpa,
        ),
    ),
    layout=_layout,
    rollouts={"tabu": _tabu},
)
