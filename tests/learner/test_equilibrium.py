"""A policy gradient with a magnet finds the equilibrium of a game of two cards; without one it goes round in circles.

The policy and the values are tables, so that all that is learned follows from ``learner.training.policy_gradient``.
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from learner.config import PolicyConfig
from learner.training.policies.gradient import Decisions, Gradient
from tests.learner.poker import ACE, BET, CALL, CHECK, FOLD, GAINS, QUEEN, TwoCards, exploitability

FACES_A_BET, STEPS, DEALS, REFRESH = 2, 4000, 1500, 160
"""The third history in which somebody decides, beside those of the ace and the queen."""


def learned(magnet_weight: float, seed: int, steps: int = STEPS) -> list[float]:
    """How far the policy is from the equilibrium at the end of each of the last five magnets, in chips a deal."""
    rng, shape = np.random.default_rng(seed), (3, TwoCards.vocabulary.size)
    legal = torch.zeros(shape, dtype=torch.bool)
    legal[[[ACE], [QUEEN]], [BET, CHECK]] = legal[FACES_A_BET, [CALL, FOLD]] = True
    logits, outcomes = torch.zeros(shape, requires_grad=True), torch.zeros(3, len(GAINS), requires_grad=True)
    optimizer, magnet, found = torch.optim.Adam([logits, outcomes], 0.05), logits.detach().clone(), list[float]()
    settings = Gradient(
        TwoCards(), PolicyConfig(kind="gradient", magnet_weight=magnet_weight, magnet="some"), torch.device("cpu")
    )
    settings.worth = torch.tensor(GAINS, dtype=torch.float32)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 0.05 * (1.0 - 0.98 * step / steps)
        policy = logits.detach().masked_fill(~legal, -torch.inf).softmax(-1)
        history, action, ends = play(policy.numpy(), rng)
        row = torch.arange(len(history))
        chances = policy[history, action]
        decisions = Decisions(
            at=row, row=row, action=action, probability=chances, legal=legal[history], whole=len(history)
        )
        loss = settings.terms(decisions, logits[history], outcomes[history], ends, magnet[history]).loss.mean()
        optimizer.zero_grad()
        (loss + F.cross_entropy(outcomes[history], ends)).backward()
        optimizer.step()
        if (step + 1) % REFRESH == 0:
            magnet = logits.detach().clone()
            now = magnet.masked_fill(~legal, -torch.inf).softmax(-1)
            found.append(exploitability(*(float(now[at]) for at in ((ACE, BET), (QUEEN, BET), (FACES_A_BET, CALL)))))
    return found[-5:]


def play(policy: np.ndarray, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Histories, actions and outcome labels, each seen by the seat that acts, of the decisions of some deals."""
    card = rng.integers(0, 2, DEALS)
    bets, calls = rng.random(DEALS) < policy[card, BET], rng.random(DEALS) < policy[FACES_A_BET, CALL]
    better = np.where(card == ACE, 1, -1)
    gain = np.where(bets, np.where(calls, 2 * better, 1), better)
    history = np.concatenate([card, np.full(bets.sum(), FACES_A_BET)])
    action = np.concatenate([np.where(bets, BET, CHECK), np.where(calls[bets], CALL, FOLD)])
    ends = np.searchsorted(GAINS, np.concatenate([gain, -gain[bets]]))
    return torch.from_numpy(history), torch.from_numpy(action), torch.from_numpy(ends)


def test_the_known_equilibrium_has_nothing_to_gain() -> None:
    assert exploitability(1.0, 1 / 3, 2 / 3) == pytest.approx(0.0)
    assert exploitability(1.0, 1.0, 1.0) == pytest.approx(0.5)  # the queen checks, the king always calls


def test_with_a_magnet_the_equilibrium_is_learned_to_within_two_hundredths() -> None:
    assert max(learned(0.5, 0)[-2:]) < 0.02


def test_without_a_magnet_it_is_not() -> None:
    assert min(learned(0.0, 0, 1600)) > 0.2
