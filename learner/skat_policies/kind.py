"""The networks of paper 004 as a kind of network."""

from games.rng import derive
from learner.network_kind import NetworkKind, later
from learner.skat_policies.config import SKAT_POLICIES_MODEL_TYPE, SkatPoliciesConfig

_DEAL_BYTES = 6000
"""38 decisions of a game as bits and indices, as measured: shards are read into parts, joined and put in order."""
_SURVIVORS_BYTES = 320
"""The same of limits of survivors, two a game at most."""
_initialise = later("learner.skat_policies.network:initialise")

KIND = NetworkKind(
    name="skat_policies",
    title="set of Skat policies",
    config=SkatPoliciesConfig,
    input="decisions",
    model_type=SKAT_POLICIES_MODEL_TYPE,
    architecture=later("learner.skat_policies.architecture:skat_policies_architecture"),
    build=later("learner.skat_policies.network:SkatPolicies"),
    load=later("learner.skat_policies.checkpoint:load_skat_policies"),
    objective=later("learner.skat_policies.objective:SkatPoliciesObjective"),
    engine=later("learner.skat_policies.engine:SkatPoliciesEngine"),
    deal_bytes=lambda game, config: _DEAL_BYTES + (_SURVIVORS_BYTES if config.bid_loss == "censored" else 0),
    initialise=lambda net, game, seed: _initialise(net, derive(seed, "weights")),
    free_at_start=("dropout",),
    size_keys="model.hidden",
    learner="skat_policies",
    unused=("loss", "policy", "batch_threads"),
    in_groups=False,
)
