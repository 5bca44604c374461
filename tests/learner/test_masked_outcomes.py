"""``engine.mask_outcomes``: values count only outcomes that can still come."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from games.hearts.game import HeartsGame
from games.rng import derive_many
from learner.config import EngineConfig
from learner.inference.engine import QueryEngine
from learner.observation_model import EMPTY
from tests.learner.material import tiny_net, transformers_model

GAME = HeartsGame()
NET = tiny_net(GAME, seed=3)
MODEL = transformers_model(NET).eval()
UTILITY = np.random.default_rng(0).normal(size=NET.arch.num_outcomes).astype(np.float32)
MASKED = EngineConfig(device="cpu", mask_outcomes=True)


def histories() -> list[list[int]]:
    """Beginnings of real histories of a few lengths, and one that is impossible."""
    states = GAME.deal(derive_many(1, 6))
    GAME.playout(states, derive_many(2, 6))
    tokens, _ = GAME.histories(states, np.arange(6) % 4)
    cut = [tokens[row, :length].tolist() for row, length in enumerate((5, 21, 40, 58, 70, 73))]
    return [*cut, [*cut[3][:-1], cut[3][-2]]]


@torch.no_grad()
def value(history: list[int]) -> float:
    """V(h) over the outcomes that can still come, by the transformers model."""
    logits = MODEL(torch.tensor(history)[None]).outcome_logits[0, -1].numpy().astype(np.float64)
    chances = np.exp(logits) * GAME.view_outcomes(GAME.views(np.array([history]), np.array([len(history)])))[0]
    return float(chances @ UTILITY / chances.sum())


@pytest.mark.parametrize(
    "engine",
    [MASKED, replace(MASKED, trunk="torch"), replace(MASKED, trunk="torch", cuda_graphs=True)],
    ids=["compiled", "torch", "filled"],
)
def test_values_are_those_over_the_outcomes_that_can_still_come(engine: EngineConfig) -> None:
    asked, rng = histories(), np.random.default_rng(1)
    judged, candidates = np.arange(len(asked)) % 3 > 0, rng.random((len(asked), NET.arch.vocab_size)) < 0.1
    answer = QueryEngine(NET, UTILITY, engine, GAME).query(
        np.full(len(asked), EMPTY), np.concatenate(asked), np.array([len(h) for h in asked]), candidates, judged
    )
    wanted = [value(history) if judged[row] else np.nan for row, history in enumerate(asked)]
    np.testing.assert_allclose(answer.value, wanted, atol=2e-5)
    leaves = [value([*asked[row], token]) for row, token in zip(*np.nonzero(candidates), strict=True)]
    np.testing.assert_allclose(answer.action_values, leaves, atol=2e-5)


def test_without_the_rules_nothing_can_be_masked() -> None:
    with pytest.raises(ValueError, match=r"engine\.mask_outcomes=true: the engine needs the game"):
        QueryEngine(NET, UTILITY, MASKED)
