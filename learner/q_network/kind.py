"""The Q-network as a kind of network."""

from pathlib import Path
from typing import Any

from games.game import Game
from learner.config import EngineConfig, QNetworkConfig
from learner.network_kind import NetworkKind, TrainingSetup
from learner.q_network.architecture import Q_MODEL_TYPE, q_architecture

_DEAL_BYTES = 12 * 1024
"""Bytes of a deal of Hearts with a branch for every legal card, as measured; 5 KB without branches."""


def _build(arch: Any) -> Any:
    from learner.q_network.network import QNet

    return QNet(arch)


def _load(checkpoint: str | Path, game: Game) -> Any:
    from learner.model.checkpoint import load_network

    return load_network(checkpoint, game, KIND)


def _objective(setup: TrainingSetup) -> Any:
    from learner.q_network.objective import QObjective

    return QObjective(setup)


def _engine(checkpoint: str, game: Game, config: EngineConfig, utility: str) -> Any:
    from learner.q_network.engine import QEngine

    return QEngine(_load(checkpoint, game), game, config)


def _initialise(net: Any, game: Game, seed: int) -> None:
    from games.rng import derive
    from learner.q_network.network import initialise

    initialise(net, derive(seed, "weights"))


KIND = NetworkKind(
    name="q_network",
    title="Q-network",
    config=QNetworkConfig,
    input="states",
    model_type=Q_MODEL_TYPE,
    architecture=q_architecture,
    build=_build,
    load=_load,
    objective=_objective,
    engine=_engine,
    deal_bytes=lambda game, config: _DEAL_BYTES,
    initialise=_initialise,
    size_keys="model.width",
    learner="q_network",
    unused=(
        *("loss.observation_weight", "loss.others_weight", "loss.outcome_weight", "loss.outcome_positions"),
        *("policy", "batch_threads"),
    ),
    whole_deals=True,
    in_groups=False,
)
