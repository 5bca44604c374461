"""``learner.policy.kind`` -> the object that learns it."""

import torch

from games.game import Game
from learner.config import PolicyConfig
from learner.training.policies.gradient import Gradient
from learner.training.policies.labels import Labels
from learner.training.policies.policy import Policy
from learner.training.policies.values import Values


def policy_of(game: Game, config: PolicyConfig, device: torch.device) -> Policy:
    """What a training's policy learns by. ``ValueError`` for settings that do not fit the game."""
    match config.kind:
        case "labels":
            return Labels(game, config.weight)
        case "values":
            return Values(game, config)
        case "gradient":
            return Gradient(game, config, device)
    return Policy()
