"""Reading a checkpoint of the networks of paper 004; ``learner.model.checkpoint`` writes it."""

from pathlib import Path

from games.game import Game
from learner.model.checkpoint import load_network
from learner.skat_policies.architecture import skat_policies_architecture
from learner.skat_policies.config import SKAT_POLICIES_MODEL_TYPE, SkatPoliciesConfig
from learner.skat_policies.network import SkatPolicies


def load_skat_policies(checkpoint: str | Path, game: Game) -> SkatPolicies:
    """``learner.model.checkpoint.load_network`` for these networks."""
    kind = SKAT_POLICIES_MODEL_TYPE, SkatPoliciesConfig, skat_policies_architecture
    return load_network(checkpoint, game, *kind, SkatPolicies)
