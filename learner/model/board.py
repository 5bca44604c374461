"""The embedding of a board: convolutions over a game's board feature (paper 003, section 3.3 and Table 5).

Letters: ``N`` any leading dimensions, ``F`` numbers of features, those of the board first, ``E`` n_embd.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from learner.model.shapes import filled_up

_SIDE = 3
"""Side of the filters; smaller on boards with fewer rows or columns."""
_SCALE = 1 / 25.5
"""A board gives shares of 1 as numbers up to 255. Most are far below, so 1 becomes 10."""


class BoardEmbedding(nn.Module):
    """Convolutions of stride 1 without padding, each with ELU, then one linear layer."""

    def __init__(self, boards: dict[str, Any], n_embd: int) -> None:
        """``boards``: as ``learner.model.architecture.Architecture`` has it."""
        super().__init__()
        rows, columns, size_in = (boards[key] for key in ("rows", "columns", "planes"))
        self._shape, self.convolutions = (rows, columns, size_in), nn.ModuleList()
        for channels in boards["channels"]:
            sides = min(_SIDE, rows), min(_SIDE, columns)
            self.convolutions.append(nn.Conv2d(size_in, channels, sides))
            rows, columns, size_in = rows - sides[0] + 1, columns - sides[1] + 1, channels
        self.out = nn.Linear(rows * columns * size_in, n_embd)

    def initialise(self, generator: torch.Generator) -> None:
        """Fresh weights in place, of variance 2 / inputs (He et al. 2015); biases 0."""
        for layer in (*self.convolutions, self.out):
            spread = math.sqrt(2 / layer.weight[0].numel())
            layer.weight.copy_(torch.empty(layer.weight.shape).normal_(0.0, spread, generator=generator))
            layer.bias.zero_()

    def forward(self, numbers_NF: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """``float32[N, E]`` of ``uint8[N, F]``; 0 where there is no board yet."""
        flat = numbers_NF.reshape(-1, numbers_NF.shape[-1])[:, : math.prod(self._shape)]
        if flat.is_cuda:  # which wants shapes that do not depend on the numbers
            return (self._embedded(flat, dtype) * flat.any(-1, keepdim=True)).view(*numbers_NF.shape[:-1], -1)
        there = flat.any(-1).nonzero()[:, 0]
        x = self._embedded(filled_up(flat.index_select(0, there)), dtype)
        every = x.new_zeros(len(flat), x.shape[1]).index_copy(0, there, x[: len(there)])
        return every.view(*numbers_NF.shape[:-1], -1)

    def _embedded(self, flat_NF: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """``float32[N, E]``"""
        x = flat_NF.to(dtype).mul_(_SCALE).view(-1, *self._shape).permute(0, 3, 1, 2)
        for layer in self.convolutions:
            x = F.elu(F.conv2d(x, layer.weight.to(dtype), layer.bias.to(dtype)))  # type: ignore[arg-type]
        return F.linear(x.permute(0, 2, 3, 1).flatten(1), self.out.weight.to(dtype), self.out.bias.to(dtype)).float()
