"""A start for the outcome head in which similar outcomes have similar weights.

A label's first weights are a random projection of the points it gives to each seat, smoothly encoded, so that a
gradient for one label moves its neighbours too (docs/learner.md). Shape and loss stay as paper 001 has them.
"""

import numpy as np
import torch
import torch.nn.functional as F

from games.game import Game
from games.rng import derive
from learner.model.network import PolicyValueNet, initialise

FIRST_LOGITS = 0.7
"""Standard deviation of a fresh network's outcome logits: enough to separate labels, far from certainty."""
_BUMPS = 10
"""Centres of the encoding over a seat's points; points between are encoded by the distance to two centres."""


def fresh_weights(net: PolicyValueNet, game: Game, seed: int) -> None:
    """Give a network its first weights, those of the outcome head by ``outcome_init``; all follow from the seed."""
    initialise(net, derive(seed, "weights"))
    if net.arch.outcome_init == "points":
        head, spread = net.val_head.weight, net.arch.initializer_range
        start_outcome_head(head, game.outcomes.points, spread, derive(seed, "outcome head"))


def outcome_features(points: np.ndarray) -> torch.Tensor:
    """``float32[K, F]``: for every seat, bumps over the range of its points; each feature with mean 0 and variance 1.

    Args:
        points: ``float[K, P]`` points of each seat under every label.
    """
    values = torch.as_tensor(points, dtype=torch.float32)
    low, high = values.min(0).values, values.max(0).values
    places = torch.linspace(0.0, 1.0, _BUMPS)
    scaled = (values - low) / (high - low).clamp_min(1e-6)
    bumps = torch.exp(-0.5 * ((scaled[:, :, None] - places) * (_BUMPS - 1)) ** 2).flatten(1)
    return (bumps - bumps.mean(0)) / bumps.std(0, correction=0).clamp_min(1e-6)


def start_outcome_head(weight_KE: torch.Tensor, points: np.ndarray, initializer_range: float, seed: int) -> None:
    """Fill the outcome head's weights ``float32[K, E]`` in place with random projections of the labels' features.

    They are scaled so that the first logits have a standard deviation of about ``FIRST_LOGITS`` whatever the width and
    the range of the other weights: what reaches the head is a layer norm's output through one fresh layer and a GELU.
    """
    width = weight_KE.shape[1]
    features_KF = outcome_features(points)
    generator = torch.Generator().manual_seed(seed & (2**63 - 1))
    projection = torch.empty(features_KF.shape[1], width).normal_(generator=generator)
    inner = F.gelu(torch.linspace(-3.0, 3.0, 101) * initializer_range * width**0.5)
    density = torch.exp(-0.5 * torch.linspace(-3.0, 3.0, 101) ** 2)
    reaching = ((inner**2 * density).sum() / density.sum()).sqrt()
    with torch.no_grad():
        weight_KE.copy_(features_KF @ projection / features_KF.shape[1] ** 0.5)
        weight_KE.mul_(FIRST_LOGITS / (reaching * width**0.5))
