"""Observation models without a network: a table of answers, and answers drawn from a hash of the history."""

import functools
import hashlib
from collections import Counter
from collections.abc import Callable

import numpy as np

from games.game import Game
from learner.observation_model import EMPTY, Answer

History = tuple[int, ...]
Model = Callable[[History], tuple[np.ndarray, float]]


class FunctionModel:
    """Answers every query from a function of the history: (next-token distribution, value).

    Each handle is a whole history. It fails where a handle is used or released that nobody holds, and counts KV slots
    as the protocol asks: one for every token of what is held.
    """

    def __init__(self, function: Model, limit: int = 100_000) -> None:
        self.function = function
        self.histories_asked: list[History] = []
        self.computed: list[History] = []
        self.held: Counter[int] = Counter()
        """Handle -> holds."""
        self._uses: Counter[int] = Counter()
        """Handle -> holds of it, and longer histories that stand on it and have uses themselves."""
        self._limit = limit
        self._made: list[tuple[History, int]] = []
        """Handle -> its history, and the handle of what it continues."""

    def history_of(self, handle: int) -> History:
        return self._made[handle][0]

    @property
    def slots(self) -> set[int]:
        """Handles of everything that is held, itself or as the beginning of something longer."""
        return set(self._uses)

    @property
    def slots_left(self) -> int:
        return self._limit - len(self._uses)

    def query(
        self,
        handles: np.ndarray,
        tokens: np.ndarray,
        counts: np.ndarray,
        candidates: np.ndarray | None = None,
        values: np.ndarray | None = None,
        look_ahead: bool = False,
    ) -> Answer:
        before, new = self.held.copy(), np.split(np.asarray(tokens), np.cumsum(counts)[:-1])
        try:
            ends = [self._append(int(handle), row.tolist()) for handle, row in zip(handles, new, strict=True)]
            histories = [self._made[end][0] for end in ends]
            self.histories_asked += histories
            answers = [self.function(history) for history in histories]
            next_token = np.array([answer[0] for answer in answers], np.float32)
            asked = np.zeros(len(histories), bool) if values is None else values
            marked = np.zeros(next_token.shape, bool) if candidates is None else candidates
            behind = [self._append(ends[row], [int(action)]) for row, action in zip(*np.nonzero(marked), strict=True)]
            judged = [self.function(self._made[end][0]) for end in behind]
        except BaseException:
            for handle in (self.held - before).elements():
                self._let_go(handle)
            raise
        assert self.slots_left >= 0, "the cache is full"
        return Answer(
            handles=np.array(ends, np.int64),
            next_token=next_token,
            value=np.where(asked, np.array([answer[1] for answer in answers], np.float32), np.nan),
            action_handles=np.array(behind, np.int64),
            action_values=np.array([value for _, value in judged], np.float32),
            action_next=np.array([p for p, _ in judged if look_ahead], np.float32).reshape(-1, next_token.shape[1]),
        )

    def release(self, handles: np.ndarray) -> None:
        for handle in handles[handles != EMPTY].ravel().tolist():
            assert self.held[handle] > 0, "released what nobody holds"
            self._let_go(handle)

    def _append(self, handle: int, tokens: list[int]) -> int:
        """The handle of a history that goes on with these tokens, held once more."""
        assert handle == EMPTY or handle in self._uses, "asked with a handle that nobody holds"
        for token in tokens:
            history = (*(self._made[handle][0] if handle != EMPTY else ()), token)
            self._made.append((history, handle))
            self.computed.append(history)
            handle = len(self._made) - 1
        self._hold(handle)
        return handle

    def _hold(self, handle: int) -> None:
        self.held[handle] += 1
        while handle != EMPTY:
            self._uses[handle] += 1
            if self._uses[handle] > 1:
                return
            handle = self._made[handle][1]

    def _let_go(self, handle: int) -> None:
        self.held[handle] -= 1
        if self.held[handle] == 0:
            del self.held[handle]
        while handle != EMPTY:
            self._uses[handle] -= 1
            if self._uses[handle] > 0:
                return
            del self._uses[handle]
            handle = self._made[handle][1]


def table_model(size: int, rows: dict[History, tuple[dict[int, float], float]]) -> Model:
    """The answers written down in ``rows``: history -> ({token: probability}, value); other histories are an error."""

    def answer(history: History) -> tuple[np.ndarray, float]:
        chances, value = rows[history]
        distribution = np.zeros(size, np.float32)
        for token, chance in chances.items():
            distribution[token] = chance
        return distribution, value

    return answer


@functools.cache
def hash_model(game: Game, nonsense: float) -> Model:
    """Answers that look random but follow from the history; impossible tokens share the probability ``nonsense``. Tests
    of one game share its answers."""
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
