"""The Q-network as a kind of network."""

from games.rng import derive
from learner.config import QNetworkConfig
from learner.network_kind import NetworkKind, later
from learner.q_network.architecture import Q_MODEL_TYPE, q_architecture

_DEAL_BYTES = 12 * 1024
"""Bytes of a deal of Hearts with a branch for every legal card, as measured; 5 KB without branches."""
_initialise = later("learner.q_network.network:initialise")

KIND = NetworkKind(
    name="q_network",
    title="Q-network",
    config=QNetworkConfig,
    input="states",
    model_type=Q_MODEL_TYPE,
    architecture=q_architecture,
    build=later("learner.q_network.network:QNet"),
    load=later("learner.q_network.checkpoint:load_q_network"),
    objective=later("learner.q_network.objective:QObjective"),
    engine=later("learner.q_network.engine:QEngine"),
    deal_bytes=lambda game, config: _DEAL_BYTES,
    initialise=lambda net, game, seed: _initialise(net, derive(seed, "weights")),
    size_keys="model.width",
    learner="q_network",
    unused=(
        *("loss.observation_weight", "loss.others_weight", "loss.outcome_weight", "loss.outcome_positions"),
        *("policy", "batch_threads"),
    ),
    whole_deals=True,
    in_groups=False,
)
