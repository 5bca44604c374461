"""Muon steps as its description says, and AdamW steps what is no hidden matrix."""

import math

import pytest
import torch

from games.hearts.game import HeartsGame
from games.registry import make_game
from learner.config import LearnerConfig, TransformerConfig
from learner.training.optimizer import Optimizer
from tests.learner.material import tiny_net

FEATURED = TransformerConfig(n_layer=2, n_head=2, n_embd=16, token_types=True, features=["all"])


def muon_step(weight: torch.Tensor, gradients: list[torch.Tensor], rate: float, decay: float) -> torch.Tensor:
    """Jordan et al. 2024, "Muon", in float64: Nesterov momentum 0.95 as a moving mean, five Newton-Schulz steps with
    coefficients (3.4445, -4.7750, 2.0315); Liu et al. (arXiv 2502.16982), equation 4: decay, and 0.2 sqrt(max(A, B))
    of the rate."""
    momentum, weight = torch.zeros_like(weight, dtype=torch.float64), weight.double()
    for gradient in gradients:
        momentum = 0.95 * momentum + 0.05 * gradient.double()
        update = 0.95 * momentum + 0.05 * gradient.double()
        x = update / update.norm()
        wide = x.shape[0] <= x.shape[1]
        x = x if wide else x.T
        for _ in range(5):
            gram = x @ x.T
            x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
        x = x if wide else x.T
        weight = weight * (1.0 - rate * decay) - rate * 0.2 * math.sqrt(max(weight.shape)) * x
    return weight


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_muon_steps_hidden_matrices_and_adamw_the_rest(decay: float) -> None:
    net, same = (tiny_net(make_game("crew", {}), config=FEATURED) for _ in range(2))  # has features of actions
    before = {name: parameter.detach().clone() for name, parameter in net.named_parameters()}
    muon = Optimizer(net, LearnerConfig(optimizer="muon", weight_decay=decay))
    adamw = torch.optim.AdamW(same.parameters(), lr=0.01, betas=(0.9, 0.999), weight_decay=decay)
    generator, seen = torch.Generator().manual_seed(3), []
    for _ in range(3):
        gradients = {name: torch.randn(old.shape, generator=generator) for name, old in before.items()}
        seen.append(gradients)
        for network in (net, same):
            for name, parameter in network.named_parameters():
                parameter.grad = gradients[name].clone()
        muon.step(0.01)
        adamw.step()
    of_adamw, hidden = dict(same.named_parameters()), set()
    for name, parameter in net.named_parameters():
        expected = muon_step(before[name], [step[name] for step in seen], 0.01, decay) if parameter.ndim == 2 else None
        if torch.allclose(parameter, of_adamw[name], atol=1e-6):
            continue
        hidden.add(name)
        assert expected is not None
        moved = (expected - before[name]).abs().max()
        assert (parameter - expected).abs().max() < 1e-3 * moved, name
    layers = {
        f"transformer.h.{n}.{part}.weight"
        for n in range(2)
        for part in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
    }
    assert hidden == layers | {"lm_hidden.weight", "val_hidden.weight", "choice_hidden.weight"}


def test_moments_are_zeros_before_the_first_step_and_named_by_parameter() -> None:
    net = tiny_net(HeartsGame())
    moments = Optimizer(net, LearnerConfig(optimizer="muon")).moments(0)
    assert all(not moment.any() for moment in moments.values())
    assert {name for name in moments if name.endswith("lm_hidden.weight")} == {"momentum_buffer.lm_hidden.weight"}
    assert {name for name in moments if name.endswith("lm_head.weight")} == {
        "exp_avg.lm_head.weight",
        "exp_avg_sq.lm_head.weight",
    }
