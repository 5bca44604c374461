"""Multiplying by a matrix that never changes, on a CPU.

torch repacks a bfloat16 matrix for every product, which for a few dozen tokens costs as much as the product. If torch
has the operations of its compiler, they keep the matrix packed, and apply GELU to the result before it is rounded
(docs/performance.md).
"""

import torch
import torch.nn.functional as F

from learner.model.shapes import few_sizes

_USUAL_ROWS = 64
"""Rows that the packing is tuned for; it works for any number."""


def rows_for(count: int, dtype: torch.dtype) -> int:
    """Number of rows to pad a product to, at least ``count``."""
    return few_sizes(count) if dtype == torch.bfloat16 else count


class Product:
    """``x @ weight + bias``, optionally followed by GELU."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor, dtype: torch.dtype, gelu: str = "") -> None:
        """``weight`` is ``[in, out]``, ``bias`` ``[out]``; copies of both are kept as ``dtype``. ``gelu`` is ``tanh``
        for that form, ``none`` for the exact one, as torch says it."""
        self._weight, self._bias = weight.detach().to(dtype).contiguous(), bias.detach().to(dtype)
        self._packed = _packed(self._weight) if dtype == torch.bfloat16 else None
        self._gelu = gelu

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """``[rows, out]`` of ``[rows, in]``."""
        if self._packed is not None:
            then = "gelu" if self._gelu else "none"
            return torch.ops.mkldnn._linear_pointwise(x, self._packed, self._bias, then, [], self._gelu)  # type: ignore[no-any-return]
        result = torch.addmm(self._bias, x, self._weight)
        return F.gelu(result, approximate=self._gelu) if self._gelu else result


def _packed(weight: torch.Tensor) -> torch.Tensor | None:
    """The matrix as oneDNN wants it; None where this build of torch or this processor has no such operation."""
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(weight.t().contiguous(), _USUAL_ROWS)
        torch.ops.mkldnn._linear_pointwise(weight.new_zeros(1, len(weight)), packed, None, "gelu", [], "tanh")
    except (AttributeError, RuntimeError, TypeError):
        return None
    return packed  # type: ignore[no-any-return]
