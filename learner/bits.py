"""Rows of zeros and ones, eight to a byte: states and legal actions as training keeps them."""

from functools import cache

import numpy as np
import torch


def packed(rows: np.ndarray) -> np.ndarray:
    """``uint8[N, ceil(F / 8)]`` of rows ``[N, F]``. ``ValueError`` where they hold more than 0 and 1."""
    if rows.max(initial=0) > 1:
        raise ValueError(f"states have numbers up to {rows.max()}; StateFeatures.encode gives 0 or 1 alone")
    return np.packbits(rows, axis=1, bitorder="little")


def unpacked(bits: torch.Tensor, size: int) -> torch.Tensor:
    """``uint8[N, size]``: the rows that were packed."""
    return _spread(bits.device)[bits.long()].view(torch.uint8)[:, :size]


@cache
def _spread(device: torch.device) -> torch.Tensor:
    """``int64[256]``: the bits of every byte, each in a byte of its own. Looking them up is faster than shifting."""
    every = np.arange(256, dtype=np.uint8)[:, None]
    return torch.from_numpy(np.unpackbits(every, axis=1, bitorder="little").view(np.int64)[:, 0]).to(device)
