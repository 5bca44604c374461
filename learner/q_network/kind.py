"""The Q-network as a kind of network."""

from typing import Any

from games.game import Game
from learner.config import EngineConfig, QNetworkConfig
from learner.network_kind import NetworkKind, imported_when_called
from learner.q_network.architecture import Q_MODEL_TYPE, q_architecture

_DEAL_BYTES = 12 * 1024
"""Of a deal of Hearts with a branch for every legal card, as measured; 5 KB without branches."""


def _engine(checkpoint: str, game: Game, config: EngineConfig, utility: str) -> Any:
    from learner.q_network.engine import QEngine

    return QEngine(checkpoint, game, config)


KIND = NetworkKind(
    name="q_network",
    title="Q-network",
    config=QNetworkConfig,
    input="states",
    model_type=Q_MODEL_TYPE,
    architecture=q_architecture,
    build=imported_when_called("learner.q_network.network:QNet"),
    load=imported_when_called("learner.q_network.checkpoint:load_q_network"),
    objective=imported_when_called("learner.q_network.objective:QObjective"),
    engine=_engine,
    deal_bytes=lambda game, config: _DEAL_BYTES,
    size_keys="model.width",
    learner="q_network",
    unused=(
        *("loss.observation_weight", "loss.others_weight", "loss.outcome_weight", "loss.outcome_positions"),
        *("policy", "batch_threads"),
    ),
    whole_deals=True,
    in_groups=False,
)
