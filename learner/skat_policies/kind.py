"""The networks of paper 004 as a kind of network."""

from pathlib import Path
from typing import Any

from games.game import Game
from learner.config import EngineConfig
from learner.network_kind import NetworkKind, TrainingSetup
from learner.skat_policies.config import SKAT_POLICIES_MODEL_TYPE, SkatPoliciesConfig

_DEAL_BYTES = 6000
"""38 decisions of a game as bits and indices, as measured: shards are read into parts, joined and put in order."""
_SURVIVORS_BYTES = 320
"""The same of limits of survivors, two a game at most."""


def _architecture(game: Game, config: SkatPoliciesConfig) -> Any:
    from learner.skat_policies.architecture import skat_policies_architecture

    return skat_policies_architecture(game, config)


def _build(arch: Any) -> Any:
    from learner.skat_policies.network import SkatPolicies

    return SkatPolicies(arch)


def _load(checkpoint: str | Path, game: Game) -> Any:
    from learner.model.checkpoint import load_network

    return load_network(checkpoint, game, KIND)


def _objective(setup: TrainingSetup) -> Any:
    from learner.skat_policies.objective import SkatPoliciesObjective

    return SkatPoliciesObjective(setup)


def _engine(checkpoint: str, game: Game, config: EngineConfig, utility: str) -> Any:
    from learner.skat_policies.engine import SkatPoliciesEngine

    return SkatPoliciesEngine(_load(checkpoint, game), config)


def _initialise(net: Any, game: Game, seed: int) -> None:
    from games.rng import derive
    from learner.skat_policies.network import initialise

    initialise(net, derive(seed, "weights"))


KIND = NetworkKind(
    name="skat_policies",
    title="set of Skat policies",
    config=SkatPoliciesConfig,
    input="decisions",
    model_type=SKAT_POLICIES_MODEL_TYPE,
    architecture=_architecture,
    build=_build,
    load=_load,
    objective=_objective,
    engine=_engine,
    deal_bytes=lambda game, config: _DEAL_BYTES + (_SURVIVORS_BYTES if config.bid_loss == "censored" else 0),
    initialise=_initialise,
    free_at_start=("dropout",),
    size_keys="model.hidden",
    learner="skat_policies",
    unused=("loss", "policy", "batch_threads"),
    in_groups=False,
)
