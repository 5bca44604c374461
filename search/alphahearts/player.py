"""The players of paper 002, which evaluate actions in known deals by a network.

Letters: ``M`` turns of a batch, ``W`` worlds of each, ``B`` worlds of all of them, ``V`` tokens.
"""

import numpy as np

from games.game import Game
from learner.state_model import StateModel
from search.alphahearts.config import AlphaHeartsConfig, QValuesConfig
from search.alphahearts.search import alphahearts
from search.players.beliefs import Beliefs, by_network
from search.players.kinds import PlayerKind
from search.players.memory import worlds_bytes
from search.players.worlds_player import WorldsPlayer
from search.uct.search import unit_utility

_TREES, _STATES = 1024, 8192
"""Most deals searched, and most evaluated, side by side; more would only take memory."""


class AlphaHearts(WorldsPlayer):
    """Searches each world, and plays the action with the highest sum of values over worlds ("Summary of Terminology":
    the move with the highest value); with PUCT, beyond the paper, the action with most visits."""

    name = "alphahearts"

    def __init__(self, model: StateModel, config: AlphaHeartsConfig, beliefs: Beliefs | None = None) -> None:
        """``beliefs`` where the settings name one."""
        super().__init__(config.worlds_searched, config.cheat, config.seconds, _TREES, config.candidates, beliefs)
        self.config, self._model = config, model

    def evaluate(self, worlds: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
        """``float64[B, V]``: mean values at the roots; with PUCT, which tries few actions, visits."""
        config, puct = self.config, self.config.selection == "puct"
        forest = alphahearts(
            self.game,
            self._model,
            worlds,
            seeds,
            unit_utility(self.game, config.utility),
            config.iterations,
            config.exploration,
            puct,
            seconds,
        )
        return forest.root_visits() if puct else forest.root_values()

    def combined(self, values: np.ndarray) -> np.ndarray:
        """``float64[M, V]``: the mean over worlds less the penalty times their standard deviation."""
        means = values.mean(axis=1)
        if self.config.variance_penalty == 0:
            return np.asarray(means)
        legal = np.isfinite(means)
        spread = np.where(legal[:, None], values, 0.0).std(axis=1)
        return np.where(legal, means - self.config.variance_penalty * spread, -np.inf)


class QValues(WorldsPlayer):
    """Plays the legal action of the highest q, on average over the worlds ("Multi-agent Reinforcement Learning", the
    rules Perfect Information and PIMC)."""

    name = "q_values"

    def __init__(self, model: StateModel, config: QValuesConfig, beliefs: Beliefs | None = None) -> None:
        """``beliefs`` where the settings name one."""
        worlds = 1 if config.cheat else config.worlds
        super().__init__(worlds, config.cheat, 0.0, _STATES, config.candidates, beliefs)
        self._model = model

    def evaluate(self, worlds: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
        """``float64[B, V]``: the network's q."""
        q = self._model.values(worlds, self.game.to_move(worlds))
        return np.where(self.game.legal(worlds), q.astype(np.float64), -np.inf)


def _beliefs(settings: AlphaHeartsConfig | QValuesConfig) -> tuple[str, ...]:
    return (settings.beliefs,) if settings.beliefs else ()


def _searched_bytes(game: Game, settings: AlphaHeartsConfig) -> int:
    nodes = 1 + (0 if settings.seconds else settings.iterations)
    return worlds_bytes(game, settings.worlds_searched, settings.candidates, nodes, by_token=5)  # a node has q of each


def _judged_bytes(game: Game, settings: QValuesConfig) -> int:
    return worlds_bytes(game, 1 if settings.cheat else settings.worlds, settings.candidates)


ALPHAHEARTS = PlayerKind(
    name="alphahearts",
    summary="AlphaHearts Zero: sampled deals, each searched with a Q-network's rollouts (paper 002).",
    games=("hearts",),
    settings=AlphaHeartsConfig,
    needs_model=True,
    model_input="states",
    further=_beliefs,
    decision_bytes=_searched_bytes,
    factory=lambda game, model, settings, *beliefs: AlphaHearts(model, settings, *map(by_network, beliefs)),
)
Q_VALUES = PlayerKind(
    name="q_values",
    summary="The action of the highest q in sampled deals, without a search (paper 002).",
    games=("hearts",),
    settings=QValuesConfig,
    needs_model=True,
    model_input="states",
    further=_beliefs,
    decision_bytes=_judged_bytes,
    factory=lambda game, model, settings, *beliefs: QValues(model, settings, *map(by_network, beliefs)),
)
