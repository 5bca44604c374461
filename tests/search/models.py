"""Observation models without a network: a table of answers, and answers drawn from a hash of the history."""

import functools
import hashlib
from collections.abc import Callable

import numpy as np

from games.game import Game
from search.queries import Answer

History = tuple[int, ...]
Model = Callable[[History], tuple[np.ndarray, float]]


class FunctionModel:
    """Answers every query from a function of the history: (next-token distribution, value).

    It keeps its lanes as the protocol asks, and fails where a query does not continue its lane.
    """

    def __init__(self, function: Model) -> None:
        self.function = function
        self.histories_asked: list[History] = []
        self._lanes: list[History] = []

    def reset(self, num_lanes: int) -> None:
        self._lanes = [()] * num_lanes

    def query(
        self, lanes: np.ndarray, tokens: np.ndarray, lengths: np.ndarray, candidates: np.ndarray | None = None
    ) -> Answer:
        assert len(set(lanes.tolist())) == len(lanes), "a lane was asked twice in one batch"
        histories = [tuple(int(t) for t in row[:length]) for row, length in zip(tokens, lengths, strict=True)]
        for lane, history in zip(lanes, histories, strict=True):
            assert history[: len(self._lanes[lane])] == self._lanes[lane], "the query does not continue its lane"
            self._lanes[lane] = history
        self.histories_asked += histories
        answers = [self.function(history) for history in histories]
        next_token = np.array([answer[0] for answer in answers], np.float32)
        action_values = np.full(next_token.shape, np.nan, np.float32)
        if candidates is not None:
            for row, action in zip(*np.nonzero(candidates), strict=True):
                action_values[row, action] = self.function((*histories[row], int(action)))[1]
        return Answer(next_token, np.array([answer[1] for answer in answers], np.float32), action_values)

    def keep(self, lanes: np.ndarray, tokens: np.ndarray) -> None:
        for lane, token in zip(lanes, tokens, strict=True):
            self._lanes[lane] = (*self._lanes[lane], int(token))

    def truncate(self, lanes: np.ndarray, lengths: np.ndarray) -> None:
        for lane, length in zip(lanes, lengths, strict=True):
            self._lanes[lane] = self._lanes[lane][:length]


def table_model(size: int, rows: dict[History, tuple[dict[int, float], float]]) -> Model:
    """The answers written down in ``rows``: history -> ({token: probability}, value); other histories are an error."""

    def answer(history: History) -> tuple[np.ndarray, float]:
        chances, value = rows[history]
        distribution = np.zeros(size, np.float32)
        for token, chance in chances.items():
            distribution[token] = chance
        return distribution, value

    return answer


def hash_model(game: Game, nonsense: float) -> Model:
    """Answers that look random but follow from the history; impossible tokens share the probability ``nonsense``."""
    size = game.vocabulary.size

    @functools.cache
    def answer(history: History) -> tuple[np.ndarray, float]:
        digest = hashlib.blake2b(bytes(history), digest_size=64).digest()
        rng = np.random.default_rng(list(digest))
        weights = rng.exponential(size=size) ** 2
        possible = possible_tokens(game, history)
        weights[~possible] *= nonsense / max(weights[~possible].sum(), 1e-9)
        weights[possible] *= (1 - nonsense) / max(weights[possible].sum(), 1e-9)
        return weights.astype(np.float32), float(rng.uniform(-1, 1))

    return answer


def possible_tokens(game: Game, history: History) -> np.ndarray:
    """``bool[V]``: tokens after which the history could still have happened."""
    views = game.views(np.array([history] * game.vocabulary.size), np.full(game.vocabulary.size, len(history)))
    game.advance(views, np.arange(game.vocabulary.size))
    return np.asarray(game.consistent(views))
