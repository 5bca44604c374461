"""The players of paper 002, which evaluate actions in known deals by a network.

Letters: ``M`` turns of a batch, ``W`` worlds of each, ``B`` worlds of all of them, ``V`` tokens.
"""

import numpy as np

from games.game import Game
from learner.state_model import StateModel
from search.alphahearts.config import AlphaHeartsConfig, QValuesConfig
from search.alphahearts.search import alphahearts
from search.players.kinds import PlayerKind
from search.players.memory import worlds_bytes
from search.players.player import Turns
from search.players.worlds_player import WorldsPlayer
from search.uct.search import unit_utility

_TREES, _STATES = 1024, 8192
"""Most deals searched, and most evaluated, side by side; more would only take memory."""


class AlphaHearts(WorldsPlayer):
    """Searches each world, and plays the action with the highest mean value over worlds ("Summary of Terminology": the
    move with the highest value)."""

    name = "alphahearts"

    def __init__(self, model: StateModel, config: AlphaHeartsConfig) -> None:
        super().__init__(config.worlds_searched, config.cheat, config.seconds, _TREES)
        self.config, self._model = config, model

    def scores(self, turns: Turns, found: np.ndarray, independent: np.ndarray) -> np.ndarray:
        """``float64[M, V]``: means over the worlds. Sums would have other ties, by rounding."""
        return np.asarray(found.mean(axis=1))

    def evaluate(self, worlds: np.ndarray, considered: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
        """``float64[B, V]``: mean values at the roots."""
        config, utility = self.config, unit_utility(self.game, self.config.utility)
        searched = self.game, self._model, worlds, seeds, utility
        return alphahearts(*searched, config.iterations, config.exploration, seconds).root_values()


class QValues(WorldsPlayer):
    """Plays the legal action of the highest q, on average over the worlds ("Multi-agent Reinforcement Learning", the
    rules Perfect Information and PIMC)."""

    name = "q_values"

    def __init__(self, model: StateModel, config: QValuesConfig) -> None:
        super().__init__(1 if config.cheat else config.worlds, config.cheat, 0.0, _STATES)
        self._model = model

    def evaluate(self, worlds: np.ndarray, considered: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
        """``float64[B, V]``: the network's q."""
        q = self._model.values(worlds, self.game.to_move(worlds))
        return np.where(considered, q.astype(np.float64), -np.inf)


def _searched_bytes(game: Game, settings: AlphaHeartsConfig) -> int:
    nodes = 1 + (0 if settings.seconds else settings.iterations)
    return worlds_bytes(game, settings.worlds_searched, nodes, by_token=5)  # a node has q of each


def _judged_bytes(game: Game, settings: QValuesConfig) -> int:
    return worlds_bytes(game, 1 if settings.cheat else settings.worlds)


ALPHAHEARTS = PlayerKind(
    name="alphahearts",
    summary="AlphaHearts Zero: sampled deals, each searched with a Q-network's rollouts (paper 002).",
    games=("hearts",),
    settings=AlphaHeartsConfig,
    needs_model=True,
    model_input="states",
    decision_bytes=_searched_bytes,
    factory=lambda game, model, settings: AlphaHearts(model, settings),
)
Q_VALUES = PlayerKind(
    name="q_values",
    summary="The action of the highest q in sampled deals, without a search (paper 002).",
    games=("hearts",),
    settings=QValuesConfig,
    needs_model=True,
    model_input="states",
    decision_bytes=_judged_bytes,
    factory=lambda game, model, settings: QValues(model, settings),
)
