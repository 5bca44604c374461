"""The shape of the networks of paper 004, from their configuration."""

from dataclasses import dataclass, replace

from games.game import Game
from games.skat.policies.points import CHOICE, DECISION_TYPES, DECLARE, VERSION, DecisionType
from learner.skat_policies.config import SkatPoliciesConfig

VALUES = {len(DECISION_TYPES): CHOICE, len(DECISION_TYPES) + 1: DECLARE}
"""Index of a network of values -> the point whose decisions it judges."""
NETWORKS: tuple[DecisionType, ...] = (
    *DECISION_TYPES,
    *(replace(DECISION_TYPES[number], name=f"value_{DECISION_TYPES[number].name}") for number in VALUES.values()),
)
"""All 18, in the order of their weights: policies by point, then values."""
VALUE_SCALE = 100.0
"""Points of the game that an output of 1 of a network of values means."""


@dataclass(frozen=True)
class SkatPoliciesArchitecture:
    """Everything that fixes the networks' shapes and their inputs."""

    hidden: tuple[int, ...]
    dropout: float
    value_label: str
    shared: bool
    version: int
    """Version of features and labels (``games.skat.policies.points.VERSION``)."""


def skat_policies_architecture(game: Game, config: SkatPoliciesConfig) -> SkatPoliciesArchitecture:
    """The networks of this configuration. ``ValueError`` for another game than Skat by Seeger and Fabian."""
    if game.name != "skat":
        raise ValueError(f"model.kind=skat_policies: these are networks for skat, not {game.name}; use game=skat")
    if game.options["scoring"] != "seeger_fabian":
        raise ValueError(
            f"model.kind=skat_policies: game.options.scoring={game.options['scoring']}: outcomes are read by Seeger "
            "and Fabian; leave it out (model.value_label says what is learned)"
        )
    return SkatPoliciesArchitecture(tuple(config.hidden), config.dropout, config.value_label, config.shared, VERSION)
