"""Settings of the networks of paper 004."""

from dataclasses import dataclass, field

from cluster.validation import at_least, at_least_below, one_of, require
from learner.config import NetworkConfig

SKAT_POLICIES_MODEL_TYPE = "kibitz_skat_policies"
"""What ``config.json`` calls networks of this kind."""
VALUE_LABELS = ("classic", "tournament")
"""The value of the game alone, as the paper's words say; or with the 50 points of Seeger and Fabian."""

BID_LOSSES = ("last", "censored")
"""The limits that passes show alone, as in the paper; or also how far survivors of duels went at least."""


@dataclass
class SkatPoliciesConfig(NetworkConfig):
    """The networks of all decisions in Skat (paper 004), and what they learn; the optimiser's settings are
    ``LearnerConfig``'s: ``num_epochs`` is the most for each of them."""

    kind: str = "skat_policies"
    hidden: list[int] = field(default_factory=lambda: [512, 1024, 1024, 512, 128])
    """Widths of the five hidden layers. The paper gives none but the numbers of weights, 2.3 and 2.4 million at most,
    which these have."""
    dropout: float = 0.4
    """Share that is dropped after each of the three layers in the middle."""
    patience: int = 2
    """A network stops after so many epochs without a lower loss on held-out games; its best weights stay."""
    shared: bool = False
    """Whether they are one network with 18 heads: the layers between the five hidden ones are the same for all, the
    first and the last each one's own. They then stop together, by their mean loss on held-out games."""
    value_label: str = "classic"
    """What a game brings its soloist: ``classic`` or ``tournament``."""
    bid_loss: str = "last"
    """What the two networks of bids learn from: ``last``, the limits of those who pass (the paper's); ``censored``,
    also survivors of duels, whose limit is their last bid or hold at least, by -log P(limit >= that)."""

    def __post_init__(self) -> None:
        require(len(self.hidden) == 5 and min(self.hidden) > 0, "model", self, "hidden", "five widths above 0")
        at_least_below("model", self, 0, 1, "dropout")
        at_least("model", self, 1, "patience")
        one_of("model", self, VALUE_LABELS, "value_label")
        one_of("model", self, BID_LOSSES, "bid_loss")
