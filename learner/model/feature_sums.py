"""Embeddings of features, summed on a CPU by products that leave out numbers of actions where there are none.

They are most of the features (1,872 of 2,121 in Hearts), and zeros where the seat is not to act, at four positions of
five. Left out are whole blocks, as torch's library adds up a product on most CPUs: so sums stay the same to the last
bit there. Elsewhere they may differ from those of the whole product by rounding.

Shape letters: ``N`` positions, in any leading dimensions; ``F`` features, ``E`` n_embd.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from learner.model.shapes import filled_up

_BLOCK = 192
"""Columns, or in a gradient positions: MKL adds up so many at a time, in float32 on a processor with AVX2."""
_FEW = 64
"""Positions below which it is not worth it; products of very few are added up in another order."""


def left_out(choices: Mapping[str, int]) -> tuple[int, int]:
    """The columns that are left out, from the first up to the second, by ``Architecture.choices``; 0, 0 for none."""
    if not choices:
        return 0, 0
    behind = choices["offset"] + choices["actions"] * choices["numbers"]
    first, last = -(-choices["offset"] // _BLOCK) * _BLOCK, behind // _BLOCK * _BLOCK
    return (first, last) if first < last else (0, 0)


def narrowed(table: torch.Tensor, choices: Mapping[str, int], dim: int) -> torch.Tensor:
    """Features, or what belongs to each, without the columns ``left_out`` of dimension ``dim``."""
    first, last = left_out(choices)
    return torch.cat([table.narrow(dim, 0, first), table.narrow(dim, last, table.shape[dim] - last)], dim)


def parted(features_NF: torch.Tensor, choices: Mapping[str, int]) -> tuple[torch.Tensor, torch.Tensor] | None:
    """``int64[...]`` each: the positions of ``uint8[N, F]`` that need all columns, and the others; None where it is not
    worth it."""
    first, last = left_out(choices)
    if first == last or len(features_NF) < _FEW:
        return None
    act = features_NF[:, first:last].amax(1) != 0
    return act.nonzero()[:, 0], act.logical_not_().nonzero()[:, 0]


def feature_sums(features_NF: torch.Tensor, weight_FE: torch.Tensor, choices: Mapping[str, int]) -> torch.Tensor:
    """``[N, E]`` in the type of the weights: the product of ``uint8[N, F]`` and ``[F, E]``."""
    if (
        left_out(choices) == (0, 0) or features_NF.is_cuda or torch.compiler.is_exporting()
    ):  # these want shapes that stay
        return features_NF.to(weight_FE.dtype) @ weight_FE
    sums: torch.Tensor = _Sums.apply(features_NF.flatten(0, -2), weight_FE, choices)
    return sums.view(*features_NF.shape[:-1], -1)


class _Sums(torch.autograd.Function):
    """Saves the features as they are, not as floats, which torch would get new memory for in every step."""

    @staticmethod
    def forward(ctx: Any, features: torch.Tensor, weight: torch.Tensor, choices: Mapping[str, int]) -> torch.Tensor:
        ctx.save_for_backward(features)
        ctx.choices, ctx.parts = choices, parted(features, choices)
        if ctx.parts is None:
            return features.to(weight.dtype) @ weight
        acting, others = ctx.parts
        narrow = narrowed(features, choices, 1), narrowed(weight, choices, 0)
        sums = weight.new_empty(len(features), weight.shape[1])
        sums.index_copy_(0, acting, _product(features.index_select(0, acting), weight))
        return sums.index_copy_(0, others, _product(narrow[0].index_select(0, others), narrow[1]))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[None, torch.Tensor, None]:
        (features,), choices = ctx.saved_tensors, ctx.choices
        in_blocks = len(features) >= 2 * _BLOCK and gradient.dtype == torch.float32  # bfloat16 would round each block
        if ctx.parts is None or not in_blocks:
            return None, features.to(gradient.dtype).t() @ gradient, None
        first, last = left_out(choices)
        others, (acting, _) = narrowed(features, choices, 1).to(gradient.dtype).t() @ gradient, ctx.parts
        numbers = features[:, first:last].index_select(0, acting).to(gradient.dtype)
        theirs = gradient.index_select(0, acting)
        sums = gradient.new_zeros(last - first, gradient.shape[1])
        ends = torch.searchsorted(acting, torch.arange(0, len(features) + _BLOCK, _BLOCK)).tolist()
        for here, behind in pairwise(ends):  # the product over all positions adds them up by these blocks too
            sums.addmm_(numbers[here:behind].t(), theirs[here:behind])
        return None, torch.cat([others[:first], sums, others[first:]]), None


def _product(features: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return (filled_up(features).to(weight.dtype) @ weight)[: len(features)]
