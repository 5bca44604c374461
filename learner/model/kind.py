"""The transformer as a kind of network."""

from pathlib import Path
from typing import TYPE_CHECKING

from games.game import Game
from learner.config import EngineConfig, LearnerConfig, TransformerConfig
from learner.model.architecture import MODEL_TYPE, Architecture, architecture
from learner.network_kind import NetworkKind

if TYPE_CHECKING:
    from learner.inference.engine import QueryEngine
    from learner.model.network import PolicyValueNet
    from learner.training.parallel import Group
    from learner.training.sequences import SequenceObjective


def _build(arch: Architecture) -> "PolicyValueNet":
    from learner.model.network import PolicyValueNet

    return PolicyValueNet(arch)


def _load(checkpoint: str | Path, game: Game) -> "PolicyValueNet":
    from learner.model.checkpoint import load_weights

    return load_weights(checkpoint, game)


def _objective(
    game: Game, config: TransformerConfig, learner: LearnerConfig, seed: int, group: "Group | None"
) -> "SequenceObjective":
    from learner.training.sequences import SequenceObjective

    return SequenceObjective(game, config, learner, seed, group)


def _engine(checkpoint: str, game: Game, config: EngineConfig, utility: str) -> "QueryEngine":
    from learner.inference.engine import QueryEngine

    values = game.outcomes.utility(utility)
    return QueryEngine(_load(checkpoint, game), values, config, game)


def _history_bytes(arch: Architecture, engine: EngineConfig) -> int:
    """Keys and values of all positions."""
    from learner.inference.engine import slot_bytes

    return arch.n_positions * slot_bytes(arch, engine.device, engine.precision)


def _deal_bytes(game: Game, config: TransformerConfig) -> int:
    """A byte for every token of every seat."""
    return game.num_players * architecture(game, config).n_positions


KIND = NetworkKind(
    name="transformer",
    title="transformer",
    summary="Reads what a seat has seen and predicts the next token and the outcome (paper 001).",
    config=TransformerConfig,
    input="histories",
    model_type=MODEL_TYPE,
    architecture=architecture,
    build=_build,
    load=_load,
    objective=_objective,
    engine=_engine,
    deal_bytes=_deal_bytes,
    history_bytes=_history_bytes,
    size_keys="model.n_layer, n_embd or n_inner",
)
