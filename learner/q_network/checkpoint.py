"""Reading the checkpoint of a Q-network; ``learner.model.checkpoint`` writes it."""

from pathlib import Path

from games.game import Game
from learner.config import QNetworkConfig
from learner.model.checkpoint import load_network
from learner.q_network.architecture import Q_MODEL_TYPE, q_architecture
from learner.q_network.network import QNet


def load_q_network(checkpoint: str | Path, game: Game) -> QNet:
    """``learner.model.checkpoint.load_network`` for Q-networks."""
    return load_network(checkpoint, game, Q_MODEL_TYPE, QNetworkConfig, q_architecture, QNet)
