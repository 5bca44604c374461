"""Sizes for which a CPU has code: oneDNN compiles products and convolutions for every shape, and keeps few."""

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


def filled_up(rows: torch.Tensor) -> torch.Tensor:
    """``[N', K]`` of ``[N, K]``: on a CPU with rows of zeros behind it, up to one of a few sizes. Other shapes, and
    all in a graph that is exported, stay as they are."""
    more = 0 if rows.is_cuda or rows.ndim != 2 or torch.compiler.is_exporting() else few_sizes(len(rows)) - len(rows)
    return F.pad(rows, (0, 0, 0, more)) if more else rows
