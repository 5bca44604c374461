"""The transformer as a kind of network."""

from typing import Any

from games.game import Game
from learner.config import EngineConfig, TransformerConfig
from learner.model.architecture import MODEL_TYPE, Architecture, architecture
from learner.network_kind import NetworkKind, imported_when_called


def _engine(checkpoint: str, game: Game, config: EngineConfig, utility: str) -> Any:
    from learner.inference.engine import QueryEngine
    from learner.model.checkpoint import load_weights

    values = game.outcomes.utility(utility)
    return QueryEngine(load_weights(checkpoint, game), values, config, game)


def _history_bytes(arch: Architecture, engine: EngineConfig) -> int:
    """Keys and values of all positions."""
    from learner.inference.engine import slot_bytes

    return arch.n_positions * slot_bytes(arch, engine.device, engine.precision)


KIND = NetworkKind(
    name="transformer",
    title="transformer",
    config=TransformerConfig,
    input="histories",
    model_type=MODEL_TYPE,
    architecture=architecture,
    build=imported_when_called("learner.model.network:PolicyValueNet"),
    load=imported_when_called("learner.model.checkpoint:load_weights"),
    objective=imported_when_called("learner.training.sequences:SequenceObjective"),
    engine=_engine,
    deal_bytes=lambda game, config: game.num_players * architecture(game, config).n_positions,  # a byte a token
    history_bytes=_history_bytes,
    size_keys="model.n_layer, n_embd or n_inner",
    muon=True,
)
