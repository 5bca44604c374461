"""Observation models without a network: a table of answers, and answers drawn from a hash of the history."""

import functools
import hashlib
from collections.abc import Callable

import numpy as np

from games.game import Game
from learner.observation_model import Answer

History = tuple[int, ...]
Model = Callable[[History], tuple[np.ndarray, float]]


class FunctionModel:
    """Answers every query from a function of the history: (next-token distribution, value).

    It keeps slots as the protocol asks, each a whole history, and fails where a path is not the history it is said to
    be, and where a slot is used or given back that nobody holds.
    """

    def __init__(self, function: Model, limit: int = 100_000) -> None:
        self.function = function
        self.histories_asked: list[History] = []
        self.computed: list[History] = []
        self.slots: dict[int, History] = {}
        self._limit = limit
        self._made = 0

    @property
    def slots_left(self) -> int:
        return self._limit - len(self.slots)

    def query(
        self,
        paths: np.ndarray,
        held: np.ndarray,
        tokens: np.ndarray,
        lengths: np.ndarray,
        candidates: np.ndarray | None = None,
        values: np.ndarray | None = None,
        look_ahead: bool = False,
    ) -> Answer:
        histories = [tuple(int(t) for t in row[:length]) for row, length in zip(tokens, lengths, strict=True)]
        for path, have, history in zip(paths, held, histories, strict=True):
            for place in range(have):
                assert self.slots[int(path[place])] == history[: place + 1], "the path is not its history"
            path[have : len(history)] = [self._new(history[: place + 1]) for place in range(have, len(history))]
        self.histories_asked += histories
        answers = [self.function(history) for history in histories]
        next_token = np.array([answer[0] for answer in answers], np.float32)
        asked = np.zeros(len(histories), bool) if values is None else values
        marked = np.zeros(next_token.shape, bool) if candidates is None else candidates
        behind = [(*histories[row], int(action)) for row, action in zip(*np.nonzero(marked), strict=True)]
        return Answer(
            next_token,
            np.where(asked, np.array([answer[1] for answer in answers], np.float32), np.nan),
            np.array([self.function(history)[1] for history in behind], np.float32),
            np.array([self._new(history) for history in behind], np.int64),
            np.array([self.function(h)[0] for h in behind if look_ahead], np.float32).reshape(-1, next_token.shape[1]),
        )

    def free(self, slots: np.ndarray) -> None:
        for slot in slots[slots >= 0].tolist():
            del self.slots[slot]

    def _new(self, history: History) -> int:
        assert self.slots_left > 0, "the cache is full"
        self._made += 1
        self.slots[self._made] = history
        self.computed.append(history)
        return self._made


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
