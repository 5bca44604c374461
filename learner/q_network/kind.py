"""The Q-network as a kind of network."""

from pathlib import Path
from typing import TYPE_CHECKING

from games.game import Game
from learner.config import EngineConfig, LearnerConfig, QNetworkConfig
from learner.network_kind import NetworkKind
from learner.q_network.architecture import Q_MODEL_TYPE, QArchitecture, q_architecture

if TYPE_CHECKING:
    from learner.q_network.engine import QEngine
    from learner.q_network.network import QNet
    from learner.q_network.objective import QObjective
    from learner.training.parallel import Group

_DEAL_BYTES = 12 * 1024
"""Of a deal of Hearts with a branch for every legal card, as measured; 5 KB without branches."""


def _build(arch: QArchitecture) -> "QNet":
    from learner.q_network.network import QNet

    return QNet(arch)


def _load(checkpoint: str | Path, game: Game) -> "QNet":
    from learner.q_network.checkpoint import load_q_network

    return load_q_network(checkpoint, game)


def _objective(
    game: Game, config: QNetworkConfig, learner: LearnerConfig, seed: int, group: "Group | None"
) -> "QObjective":
    from learner.q_network.objective import QObjective

    return QObjective(game, config, learner, seed)


def _engine(checkpoint: str, game: Game, config: EngineConfig, utility: str) -> "QEngine":
    from learner.q_network.engine import QEngine

    return QEngine(checkpoint, game, config)


KIND = NetworkKind(
    name="q_network",
    title="Q-network",
    summary="Reads a whole deal and predicts what every action is worth (paper 002).",
    config=QNetworkConfig,
    input="states",
    model_type=Q_MODEL_TYPE,
    architecture=q_architecture,
    build=_build,
    load=_load,
    objective=_objective,
    engine=_engine,
    deal_bytes=lambda game, config: _DEAL_BYTES,
    size_keys="model.width",
    learner="q_network",
    unused=("observation_weight", "others_weight", "outcome_weight", "outcome_positions"),
    whole_deals=True,
    in_groups=False,
)
