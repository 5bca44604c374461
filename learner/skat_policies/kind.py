"""The networks of paper 004 as a kind of network."""

from typing import Any

from games.game import Game
from learner.config import EngineConfig
from learner.network_kind import NetworkKind, imported_when_called
from learner.skat_policies.config import SKAT_POLICIES_MODEL_TYPE, SkatPoliciesConfig

_DEAL_BYTES = 6000
"""38 decisions of a game as bits and indices, as measured: shards are read into parts, joined and put in order."""
_SURVIVORS_BYTES = 320
"""The same of limits of survivors, two a game at most."""


def _engine(checkpoint: str, game: Game, config: EngineConfig, utility: str) -> Any:
    from learner.skat_policies.engine import SkatPoliciesEngine

    return SkatPoliciesEngine(checkpoint, game, config)


KIND = NetworkKind(
    name="skat_policies",
    title="set of Skat policies",
    config=SkatPoliciesConfig,
    input="decisions",
    model_type=SKAT_POLICIES_MODEL_TYPE,
    # Not imported before: it knows the features, which are compiled kernels.
    architecture=imported_when_called("learner.skat_policies.architecture:skat_policies_architecture"),
    build=imported_when_called("learner.skat_policies.network:SkatPolicies"),
    load=imported_when_called("learner.skat_policies.checkpoint:load_skat_policies"),
    objective=imported_when_called("learner.skat_policies.objective:SkatPoliciesObjective"),
    engine=_engine,
    deal_bytes=lambda game, config: _DEAL_BYTES + (_SURVIVORS_BYTES if config.bid_loss == "censored" else 0),
    size_keys="model.hidden",
    learner="skat_policies",
    unused=("loss", "policy", "batch_threads"),
    in_groups=False,
)
