"""FLOPs of a training step, and the machine's rate of matrix products, for the utilisation.

Letters: ``E`` n_embd, ``V`` tokens, ``K`` outcome labels. A multiplication and its addition are 2 FLOPs.
"""

from functools import cache

import torch
from torch.utils.benchmark import Timer

from learner.model.architecture import Architecture


def forward_flops(arch: Architecture, length: float, outcome_share: float = 1.0) -> float:
    """FLOPs of the forward pass for one token.

    Args:
        length: tokens it attends to, its own included.
        outcome_share: part of the tokens whose outcome is predicted.
    """
    size, inner = arch.n_embd, arch.n_inner
    layer = 2 * (4 * size * size + 2 * size * inner) + 4 * size * length
    next_token = 2 * (size * size + size * arch.vocab_size)
    outcome = 2 * (size * size + size * arch.num_outcomes)
    return arch.n_layer * layer + next_token + outcome_share * outcome


def training_flops(arch: Architecture, length: float, outcome_share: float) -> float:
    """FLOPs of a training step for one token of sequences of ``length``: the backward pass costs twice the forward
    pass, and a token attends to half of its sequence on average."""
    return 3 * forward_flops(arch, (length + 1) / 2, outcome_share)


@cache
def matmul_rate(device: torch.device, dtype: torch.dtype) -> float:
    """FLOPs a second of large square matrix products: the best within a fifth of a second, once in a process."""
    size = 8192 if device.type == "cuda" else 1024
    left, right = (torch.ones(size, size, dtype=dtype, device=device) for _ in range(2))
    timer = Timer("left @ right", globals={"left": left, "right": right}, num_threads=torch.get_num_threads())
    return float(2 * size**3 / min(timer.blocked_autorange(min_run_time=0.2).times))
