"""The 18 networks of paper 004 (section III): five hidden layers with ReLU, dropout after the three in the middle; or
one with 18 heads.

Shape letters: ``B`` decisions, ``F`` features, ``A`` actions.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from games.game import Game
from games.skat.policies.features import NUMBERS
from games.skat.policies.points import DecisionType
from learner.skat_policies.architecture import NETWORKS, SkatPoliciesArchitecture
from learner.skat_policies.config import SKAT_POLICIES_MODEL_TYPE


class PolicyNet(nn.Module):
    """One network: features of a decision in, a number for each action out."""

    def __init__(self, point: DecisionType, arch: SkatPoliciesArchitecture) -> None:
        super().__init__()
        self.dropout = arch.dropout
        sizes = [point.bits + point.numbers, *arch.hidden, point.actions]
        layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
        self.layers = nn.ModuleList([layers[0], layers[-1]] if arch.shared else layers)

    def forward(
        self,
        x_BF: torch.Tensor,
        dtype: torch.dtype = torch.float32,
        generator: torch.Generator | None = None,
        trunk: Iterable[nn.Module] = (),
    ) -> torch.Tensor:
        """``float32[B, A]`` from ``float[B, F]``, matrix products in ``dtype``; with a ``generator``, which draws it,
        with dropout. ``trunk``: layers behind the first that it shares with others."""
        x = x_BF.to(dtype)
        layers = [self.layers[0], *trunk, *self.layers[1:]]
        for index, layer in enumerate(layers):
            weight, bias = layer.weight, layer.bias
            assert isinstance(weight, torch.Tensor) and isinstance(bias, torch.Tensor)
            x = F.linear(x, weight.to(dtype), bias.to(dtype))
            if index < len(layers) - 1:
                x = F.relu(x)
            if generator and self.dropout and 1 <= index <= 3:
                kept = torch.rand(x.shape, generator=generator, device=x.device) >= self.dropout
                x = x * kept / (1 - self.dropout)
        return x.float()


class SkatPolicies(nn.Module):
    """All 18, in the order of ``NETWORKS``: apart, as in the paper, or with all layers but their first and last in
    common."""

    def __init__(self, arch: SkatPoliciesArchitecture) -> None:
        super().__init__()
        self.arch = arch
        self.nets = nn.ModuleList(PolicyNet(point, arch) for point in NETWORKS)
        self.trunk = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(arch.hidden) if arch.shared)

    def forward(
        self,
        network: int,
        x_BF: torch.Tensor,
        dtype: torch.dtype = torch.float32,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor:
        """``float32[B, A]``: what one of them answers; see ``PolicyNet.forward``."""
        answer: torch.Tensor = self.nets[network](x_BF, dtype, generator, self.trunk)
        return answer

    def config_record(self, game: Game) -> dict[str, Any]:
        """What ``config.json`` holds of them."""
        return {
            "model_type": SKAT_POLICIES_MODEL_TYPE,
            "architectures": [type(self).__name__],
            **asdict(self.arch),
        }


def inputs_of(point: DecisionType, bits_BF: torch.Tensor, numbers_BN: torch.Tensor) -> torch.Tensor:
    """``float32[B, F]`` for a network, of all features ``uint8[B, 385]`` and numbers ``uint8[B, 4]``."""
    bits = bits_BF[:, : point.bits].float()
    if not point.numbers:
        return bits
    return torch.cat([bits, numbers_BN.float() / _largest(numbers_BN.device)], dim=1)


@cache
def _largest(device: torch.device) -> torch.Tensor:
    return torch.from_numpy(NUMBERS).to(device)


def initialise(net: SkatPolicies, seed: int) -> None:
    """Fresh weights in place: normal of variance 2 / inputs before a ReLU and 1 / inputs at the end, biases 0."""
    generator = torch.Generator().manual_seed(seed & (2**63 - 1))
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if parameter.ndim == 1:
                parameter.zero_()
                continue
            last = name.endswith(f"layers.{1 if net.arch.shared else len(net.arch.hidden)}.weight")
            std = math.sqrt((1 if last else 2) / parameter.shape[1])
            parameter.copy_(torch.empty(parameter.shape).normal_(0.0, std, generator=generator))
