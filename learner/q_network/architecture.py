"""The shape of a Q-network for a game, from its configuration."""

from dataclasses import dataclass

from games.features import StateFeatures
from games.game import Game
from learner.config import QNetworkConfig

Q_MODEL_TYPE = "kibitz_q_network"
"""What ``config.json`` calls networks of this kind."""


@dataclass(frozen=True)
class QArchitecture:
    """Everything that fixes the network's shape and its input."""

    architecture: str
    width: int
    num_features: int
    """Numbers of a state."""
    features_version: int
    """Version of the features (``StateFeatures.version``)."""
    vocab_size: int


def q_architecture(game: Game, config: QNetworkConfig) -> QArchitecture:
    """The network of this configuration for this game. ``ValueError`` for a game without ``state_features``, or one
    that is won by points: q is minus those still to come."""
    features = state_features(game)
    if not game.outcomes.lower_is_better:
        raise ValueError(f"model.kind=q_network: {game.name} is won by points, and q counts them as lost; use hearts")
    return QArchitecture(config.architecture, config.width, features.size, features.version, game.vocabulary.size)


def state_features(game: Game) -> StateFeatures:
    """The numbers that a game has for a true state. ``ValueError`` where it has none."""
    if game.state_features is None:
        raise ValueError(
            f"model.kind=q_network: {game.name} has no numbers for a whole deal (Game.state_features); use hearts"
        )
    return game.state_features
