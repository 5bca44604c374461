"""The transformer as a kind of network."""

from learner.config import TransformerConfig
from learner.model.architecture import MODEL_TYPE, architecture
from learner.network_kind import NetworkKind, later

KIND = NetworkKind(
    name="transformer",
    title="transformer",
    config=TransformerConfig,
    input="histories",
    model_type=MODEL_TYPE,
    architecture=architecture,
    build=later("learner.model.network:PolicyValueNet"),
    load=later("learner.model.checkpoint:load_weights"),
    objective=later("learner.training.sequences:SequenceObjective"),
    engine=later("learner.inference.engine:open_engine"),
    deal_bytes=lambda game, config: game.num_players * architecture(game, config).n_positions,  # a byte a token
    initialise=later("learner.model.outcome_init:fresh_weights"),
    free_at_start=("embd_pdrop", "resid_pdrop", "outcome_init", "initializer_range"),
    history_bytes=later("learner.inference.engine:history_bytes"),
    size_keys="model.n_layer, n_embd or n_inner",
    muon=True,
)
