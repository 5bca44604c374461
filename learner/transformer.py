"""The transformer as a kind of network."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from games.game import Game
from learner.config import EngineConfig, LearnerConfig, TransformerConfig
from learner.model.architecture import MODEL_TYPE, Architecture, architecture
from learner.network_kind import NetworkKind

if TYPE_CHECKING:
    from learner.model.checkpoint import Network
    from learner.training.objective import Objective
    from learner.training.parallel import Group


def _engine(checkpoint: str, game: Game, config: EngineConfig, utility: str) -> Any:
    from learner.inference.engine import QueryEngine
    from learner.model.checkpoint import load_weights

    values = game.outcomes.utility(utility)
    return QueryEngine(load_weights(checkpoint, game), values, config, game)


def _history_bytes(arch: Architecture, engine: EngineConfig) -> int:
    """Keys and values of all positions."""
    from learner.inference.engine import slot_bytes

    return arch.n_positions * slot_bytes(arch, engine.device, engine.precision)


def _build(arch: Architecture) -> "Network":
    from learner.model.network import PolicyValueNet

    return PolicyValueNet(arch)


def _load(checkpoint: str | Path, game: Game) -> "Network":
    from learner.model.checkpoint import load_weights

    return load_weights(checkpoint, game)


def _objective(
    game: Game, config: TransformerConfig, learner: LearnerConfig, seed: int, group: "Group | None"
) -> "Objective":
    from learner.training.sequences import SequenceObjective

    return SequenceObjective(game, config, learner, seed, group)


KIND = NetworkKind(
    name="transformer",
    title="transformer",
    config=TransformerConfig,
    input="histories",
    model_type=MODEL_TYPE,
    architecture=architecture,
    build=_build,
    load=_load,
    objective=_objective,
    engine=_engine,
    deal_bytes=lambda game, config: game.num_players * architecture(game, config).n_positions,  # a byte a token
    history_bytes=_history_bytes,
    size_keys="model.n_layer, n_embd or n_inner",
    muon=True,
)
