"""The transformer as a kind of network."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from games.game import Game
from learner.config import EngineConfig, TransformerConfig
from learner.model.architecture import MODEL_TYPE, architecture
from learner.network_kind import NetworkKind, TrainingSetup


def _build(arch: Any) -> Any:
    from learner.model.network import PolicyValueNet

    return PolicyValueNet(arch)


def _load(checkpoint: str | Path, game: Game) -> Any:
    from learner.model.checkpoint import load_weights

    return load_weights(checkpoint, game)


def _objective(setup: TrainingSetup) -> Any:
    from learner.training.sequences import SequenceObjective

    return SequenceObjective(setup)


def _engine(checkpoint: str, game: Game, config: EngineConfig, utility: str, beside: Collection[Any] = ()) -> Any:
    from learner.inference.engine import open_engine

    return open_engine(checkpoint, game, config, utility, beside)


def _initialise(net: Any, game: Game, seed: int) -> None:
    from learner.model.outcome_init import fresh_weights

    fresh_weights(net, game, seed)


def _history_bytes(arch: Any, engine: EngineConfig) -> int:
    from learner.inference.engine import history_bytes

    return history_bytes(arch, engine)


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
    initialise=_initialise,
    free_at_start=("embd_pdrop", "resid_pdrop", "outcome_init", "initializer_range"),
    history_bytes=_history_bytes,
    size_keys="model.n_layer, n_embd or n_inner",
    pooled=True,
    muon=True,
)
