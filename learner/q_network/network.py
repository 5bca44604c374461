"""The Q-networks of paper 002 ("Network Architectures"): numbers of a whole deal in, one value for each action out.

``fc`` has 3 hidden layers, ``pv16`` has 16 with 5 skip connections and ``pv24`` has 24 with 9; all are ReLU. The paper
says neither where the skips lie nor how wide the layers are. A skip here leads around two layers, as in the networks of
Shi et al. from which the paper adopts them, so 6 layers of each are left without one; these stand first.

There is an output for every token of the vocabulary, where the paper has one for each of 52 cards: so it fits any game,
and the tokens that are no actions are never asked.

Shape letters: ``B`` states, ``F`` numbers of a state, ``W`` width, ``V`` tokens of the vocabulary.
"""

import math
from dataclasses import asdict
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from games.game import Game
from learner.config import Q_NETWORKS
from learner.q_network.architecture import Q_MODEL_TYPE, QArchitecture


class QNet(nn.Module):
    """Hidden layers ``plain`` and then ``around``, pairs of layers that a skip connection leads around; ``head``."""

    def __init__(self, arch: QArchitecture) -> None:
        super().__init__()
        self.arch = arch
        layers, skips = Q_NETWORKS[arch.architecture]
        width, num_plain = arch.width, layers - 2 * skips
        sizes = [arch.num_features, *[width] * (num_plain - 1)]
        self.plain = nn.ModuleList(nn.Linear(size, width) for size in sizes)
        self.around = nn.ModuleList(nn.Linear(width, width) for _ in range(2 * skips))
        self.head = nn.Linear(width, arch.vocab_size)

    def forward(self, x_BF: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """``float32[B, V]`` from ``uint8[B, F]``, matrix products in ``dtype``."""
        x_BW = x_BF.to(dtype)
        for layer in self.plain:
            x_BW = _relu_of(layer, x_BW)
        for first, second in zip(self.around[::2], self.around[1::2], strict=True):
            x_BW = x_BW + _relu_of(second, _relu_of(first, x_BW))
        return _linear(self.head, x_BW).float()

    def config_record(self, game: Game) -> dict[str, Any]:
        """What ``config.json`` holds of it."""
        return {"model_type": Q_MODEL_TYPE, "architectures": [type(self).__name__], **asdict(self.arch)}


def initialise(net: QNet, seed: int) -> None:
    """Fresh weights in place: normal of variance 2 / inputs in front of a ReLU and 1 / inputs in the head, biases 0.
    What a skip connection adds begins smaller the more there are of them, so that depth does not blow up the sum."""
    generator = torch.Generator().manual_seed(seed & (2**63 - 1))
    closing = {f"around.{index}.weight" for index in range(1, len(net.around), 2)}
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if parameter.ndim == 1:
                parameter.zero_()
                continue
            std = math.sqrt((1 if name.startswith("head") else 2) / parameter.shape[1])
            std = std / len(closing) if name in closing else std
            parameter.copy_(torch.empty(parameter.shape).normal_(0.0, std, generator=generator))


def _relu_of(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return F.relu(_linear(layer, x))


def _linear(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    weight, bias = layer.weight, layer.bias
    assert isinstance(weight, torch.Tensor) and isinstance(bias, torch.Tensor)
    return F.linear(x, weight.to(x.dtype), bias.to(x.dtype))
