"""Embeddings of features, summed on a CPU over those that are not 0: in Hearts 46 of 2,121 at a position.

A product of matrices would convert and multiply all the zeros too.

Shape letters: ``N`` positions, in any leading dimensions; ``F`` features, ``E`` n_embd.
"""

from typing import Any

import numba
import numpy as np
import torch
from torch.autograd.function import once_differentiable

from games.compiling import kernel
from learner.model.threads import bounds_of

_BLOCK = 192
"""Features, or in a gradient positions, that are added up on their own before they are added to the rest, as MKL does
it on a processor with AVX2: there sums are those of its product to the last bit."""
_FEW = 16
"""Positions of which torch's product is made: MKL adds up those of two or three, a thread's part, in another order."""


def feature_sums(features_NF: torch.Tensor, weight_FE: torch.Tensor) -> torch.Tensor:
    """``[N, E]`` in the type of the weights: the product of ``uint8[N, F]`` and ``[F, E]``; on a CPU added up in
    float32."""
    # First whether it is exported: a graph must not depend on the number of positions.
    elsewhere = torch.compiler.is_exporting() or features_NF.device.type != "cpu"
    if elsewhere or features_NF.shape[:-1].numel() < _FEW:
        return features_NF.to(weight_FE.dtype) @ weight_FE
    sums: torch.Tensor = _Sums.apply(features_NF.flatten(0, -2).contiguous(), weight_FE)
    return sums.view(*features_NF.shape[:-1], -1)


class _Sums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(features)
        bounds, sums = bounds_of(len(features)), np.empty((len(features), weight.shape[1]), np.float32)
        given = features.numpy(), weight.detach().float().numpy(), sums
        if len(bounds) == 2:
            _add_up(*given)
        else:
            _add_up_in_parts(*given, bounds)
        return torch.from_numpy(sums).to(weight.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[None, torch.Tensor]:
        (features,) = ctx.saved_tensors
        sums = np.zeros((features.shape[1], gradient.shape[1]), np.float32)
        _add_up_gradient(features.numpy(), gradient.float().contiguous().numpy(), sums)
        return None, torch.from_numpy(sums).to(gradient.dtype)


@kernel
def _not_zero(numbers, places):
    """Write the places of the numbers that are not 0, and return how many there are."""
    some, count = np.uint8(0), 0
    for place in range(len(numbers)):  # becomes vector instructions: most blocks are all zeros
        some |= numbers[place]
    if some != 0:
        for place in range(len(numbers)):
            places[count] = place
            count += numbers[place] != 0
    return count


@kernel(parallel=True)
def _add_up_in_parts(features, weight, sums, bounds):
    for part in numba.prange(len(bounds) - 1):
        first, last = bounds[part], bounds[part + 1]
        _add_up(features[first:last], weight, sums[first:last])


@kernel(fastmath={"contract"})
def _add_up(features, weight, sums):
    places, block = np.empty(_BLOCK, np.int64), np.empty(weight.shape[1], np.float32)
    for n in range(len(features)):
        row = sums[n]
        row[:] = 0
        for first in range(0, features.shape[1], _BLOCK):
            numbers = features[n, first : first + _BLOCK]
            count = _not_zero(numbers, places)
            if count == 0:
                continue
            block[:] = 0
            for i in range(count):
                number, embedding = np.float32(numbers[places[i]]), weight[first + places[i]]
                for e in range(len(block)):
                    block[e] += number * embedding[e]
            for e in range(len(block)):
                row[e] += block[e]


@kernel(fastmath={"contract"})
def _add_up_gradient(features, gradient, sums):
    places, block = np.empty(_BLOCK, np.int64), np.zeros_like(sums)
    for start in range(0, len(features), _BLOCK):
        for n in range(start, min(start + _BLOCK, len(features))):
            row = gradient[n]
            for first in range(0, features.shape[1], _BLOCK):
                numbers = features[n, first : first + _BLOCK]
                for i in range(_not_zero(numbers, places)):
                    number, into = np.float32(numbers[places[i]]), block[first + places[i]]
                    for e in range(len(row)):
                        into[e] += number * row[e]
        sums += block
        block[:] = 0
