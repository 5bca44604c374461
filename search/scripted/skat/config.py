"""Settings of the scripted Skat players."""

from dataclasses import dataclass

from cluster.validation import within


@dataclass
class SkatRulesConfig:
    """The rule-based Skat player; other values make other bidders."""

    aggression: float = 0.5
    """How bold it bids and declares: 0 takes odds of winning for 7 times lower than they are, 1 for 7 times higher."""
    noise: float = 0.0
    """Standard deviation of an error in judging the hand, one for each hand dealt, in the logarithm of the odds."""

    def __post_init__(self) -> None:
        within("skat_rules", self, 0, 1, "aggression")
        within("skat_rules", self, 0, 10, "noise")
