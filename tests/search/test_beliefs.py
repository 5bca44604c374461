"""Worlds that a network weighs: which deals are judged, on their own, and in whose time."""

import time
from typing import Any

import numpy as np
import pytest

from games.hearts.game import HeartsGame
from search.pimc.config import PimcConfig
from search.pimc.player import Pimc
from search.players.support import Support
from tests.search.models import FunctionModel, History, Model, hash_model
from tests.search.state_models import NO_PASS
from tests.search.test_pimc import turns_of


def weighing(model: FunctionModel, candidates: int) -> Pimc:
    return Pimc(model, PimcConfig(worlds=4, candidates=candidates, runs=10), Support())


class HalfCertain(HeartsGame):
    """The variant of paper 002, in which every second deal that is sampled for a view is the same one."""

    def __init__(self) -> None:
        super().__init__(**NO_PASS.options)

    def determinize(self, views: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states, seats = super().determinize(views, seeds)
        self.certain = super().determinize(views[:1], np.array([7], np.uint64))
        states[::2] = self.certain[0]
        return states, seats

    def believing(self, certain: bool) -> Model:
        """Answers by which everybody plays as they did with the hands of that deal (or with all others), and never so
        with all others (or with those of that deal)."""

        def answer(history: History) -> tuple[np.ndarray, float]:
            (state,), (seat,) = self.certain
            tokens = self.histories(np.repeat(state, 3), (seat + np.arange(1, 4)) % 4)[0]
            there = any(tuple(own[: len(history)]) == history for own in tokens)
            played = np.arange(self.vocabulary.size) == tokens[0, len(history)]  # plays stand alike in all histories
            return (played if there == certain else ~played / (~played).sum()).astype(np.float32), 0.0

        return answer


def test_only_the_deal_that_the_beliefs_make_certain_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: two of four candidates are that deal. They have all the weight, so the effective size is 2, which is the
    floor: nothing is tempered, and each is two of the four worlds. With beliefs turned round neither is any."""
    game, turns = HalfCertain(), turns_of(NO_PASS, 1, 40)
    for certain in (True, False):
        player, seen = weighing(FunctionModel(game.believing(certain)), 4), []

        def judge(worlds: np.ndarray, considered: np.ndarray, *rest: Any, seen: list = seen) -> np.ndarray:
            seen.append(worlds)
            return np.where(considered, 0.0, -np.inf)

        monkeypatch.setattr(player, "evaluate", judge)
        player.start(game, 1)
        player.act(turns)
        (worlds,) = seen
        assert (worlds["hands"] == game.certain[0]["hands"]).all(axis=1).tolist() == [certain] * 4
        tokens, _ = game.histories(worlds, game.to_move(worlds))
        np.testing.assert_array_equal(tokens, np.repeat(turns.tokens, 4, axis=0))


def test_weighing_the_worlds_counts_as_time_of_the_decision() -> None:
    class Timed(FunctionModel):
        seconds = 0.0

        def query(self, *given: Any, **asked: Any) -> Any:
            began = time.monotonic()
            answer = super().query(*given, **asked)
            self.seconds += time.monotonic() - began
            return answer

    turns, left, weighed = turns_of(NO_PASS, 3, 36), list[float](), list[float]()
    model = Timed(hash_model(NO_PASS, 0.1))
    player = weighing(model, 6)
    player.start(NO_PASS, 3)
    judge = player.evaluate

    def evaluate(worlds: np.ndarray, considered: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
        left.append(seconds)
        weighed.append(model.seconds)
        return judge(worlds, considered, seeds, seconds)

    player.evaluate = evaluate  # type: ignore[method-assign]
    for limit in (60.0, 1e-12, 0.0):
        player._seconds = limit
        player.values(turns)
    assert 0 < left[0] <= 60.0 * len(turns.seeds) - weighed[0]
    assert 0 < left[1] <= 1e-9 and left[2] == 0.0  # 0 is for no limit
    assert model.seconds > 0
