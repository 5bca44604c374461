"""A policy gradient with a magnet finds the equilibrium of a game of two cards; without one it goes round in circles.

The game (Chen and Ankenman, "The Mathematics of Poker", 2006: half-street clairvoyance): the pot holds 2, one of each
seat. Seat 0 is dealt the ace or the queen, seat 1 has a king that all know. Seat 0 bets 1 or checks; after a bet seat 1
calls or folds. The better card wins what lies there, unless seat 1 folds. With a pot of P and a bet of 1 seat 0 bets
every ace and 1 / (P + 1) of its queens, and seat 1 calls P / (P + 1) of the bets: 1/3 and 2/3.

The policy and the values are tables, so that all that is learned follows from ``learner.training.policy_gradient``.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from games.outcomes import OutcomeTable
from learner.config import PolicyConfig
from learner.training.policies.gradient import Gradient
from tests.learner.test_policy_gradient import decisions_of

ACE, QUEEN, FACES_A_BET = range(3)
"""The three histories in which somebody decides."""
BET, CHECK, CALL, FOLD = range(4)
GAINS = (-2, -1, 1, 2)
"""Chips that seat 0 may gain; the labels in this order, seen from either seat."""
TWO_CARDS: Any = SimpleNamespace(
    name="two cards",
    outcomes=OutcomeTable(np.array([[gain, -gain] for gain in GAINS]), {"chips": np.array(GAINS, float)}),
)
DEALS, REFRESH = 1500, 160


def exploitability(bet_ace: float, bet_queen: float, call: float) -> float:
    """What the best replies to both seats' strategies gain together, in chips a deal; 0 in the equilibrium."""
    ace, queen = max(1.0, 1.0 + call), max(-1.0, 1.0 - 3.0 * call)  # of seat 0 against this caller: check, or bet
    # Of seat 1 against this bettor: of every bet it calls the better reply.
    called, folded = bet_ace * 2.0 - bet_queen * 2.0, bet_ace * 1.0 + bet_queen * 1.0
    checked = (1.0 - bet_ace) * 1.0 - (1.0 - bet_queen) * 1.0
    return (ace + queen) / 2 - (min(called, folded) + checked) / 2


def learned(magnet_weight: float, seed: int, steps: int) -> list[float]:
    """How far the policy is from the equilibrium at the end of each of the last five magnets, in chips a deal."""
    rng, shape = np.random.default_rng(seed), (3, 4)
    legal = torch.zeros(shape, dtype=torch.bool)
    legal[[[ACE], [QUEEN]], [BET, CHECK]] = legal[FACES_A_BET, [CALL, FOLD]] = True
    logits, outcomes = torch.zeros(shape, requires_grad=True), torch.zeros(3, len(GAINS), requires_grad=True)
    optimizer, magnet, found = torch.optim.Adam([logits, outcomes], 0.05), logits.detach().clone(), list[float]()
    config = PolicyConfig(kind="gradient", magnet_weight=magnet_weight, magnet="some")
    settings = Gradient(TWO_CARDS, config, torch.device("cpu"))
    settings.worth = torch.tensor(GAINS, dtype=torch.float32)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 0.05 * (1.0 - 0.98 * step / steps)
        policy = logits.detach().masked_fill(~legal, -torch.inf).softmax(-1)
        history, action, ends = play(policy.numpy(), rng)
        rows, chances = torch.arange(len(history)), policy[history, action]
        decisions = decisions_of(rows, action=action, probability=chances, legal=legal[history])
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


@pytest.mark.parametrize(
    ("magnet_weight", "steps", "least", "most"),
    [
        (0.5, 640, 0.0, 0.2),
        pytest.param(0.5, 4000, 0.0, 0.02, marks=pytest.mark.slow),
        pytest.param(0.0, 1600, 0.2, 1.0, marks=pytest.mark.slow),
    ],
)
def test_with_a_magnet_the_equilibrium_is_learned_and_without_it_is_not(magnet_weight, steps, least, most):
    assert all(least <= distance < most for distance in learned(magnet_weight, 0, steps)[-2:])
