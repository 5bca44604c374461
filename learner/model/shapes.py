"""Few sizes of what varies: on a CPU oneDNN compiles products and convolutions for every shape, and keeps few; on a GPU
every layout of a batch is a CUDA graph of its own."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F


def few_sizes(count: int) -> int:
    """One of a few numbers of rows that is at least ``count``."""
    step = 8 if count <= 128 else 64 if count <= 1024 else 256
    return -(-count // step) * step


def few_widths(count: int) -> int:
    """One of a few lengths of sequences that is at least ``count``."""
    step = 8 if count <= 64 else 16
    return -(-count // step) * step


def few_layouts(count: int) -> int:
    """A number above ``count`` by at most a sixteenth or 128, and the same for most of those near it; 0 for 0."""
    step = max(1 << max(count.bit_length() - 5, 0), 128)
    return (count // step + 1) * step if count else 0


def lengthened(rows: np.ndarray, fill: Any = None) -> np.ndarray:
    """``rows`` with rows of ``fill``, or the last one again, behind them: ``few_layouts`` in all."""
    more, fill = few_layouts(len(rows)) - len(rows), rows[-1:] if fill is None else np.asarray(fill, rows.dtype)
    return np.concatenate([rows, np.broadcast_to(fill, (more, *rows.shape[1:]))])


def filled_up(rows: torch.Tensor) -> torch.Tensor:
    """``[N', K]`` of ``[N, K]``: on a CPU with rows of zeros behind it, up to one of a few sizes. Other shapes, and
    all in a graph that is exported, stay as they are."""
    more = 0 if rows.is_cuda or rows.ndim != 2 or torch.compiler.is_exporting() else few_sizes(len(rows)) - len(rows)
    return F.pad(rows, (0, 0, 0, more)) if more else rows
