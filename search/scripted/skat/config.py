"""Settings of the scripted Skat players."""

from dataclasses import dataclass

from cluster.validation import within


@dataclass
class SkatRulesConfig:
    """The rule-based Skat player; other values make other bidders."""

    aggression: float = 0.5
    """Boldness of bids and declarations: 0 divides the estimated odds of winning by 7, 1 multiplies them by 7."""
    noise: float = 0.0
    """Standard deviation of a random error of the hand's log odds, drawn once per hand dealt."""

    def __post_init__(self) -> None:
        within("skat_rules", self, 0, 1, "aggression")
        within("skat_rules", self, 0, 10, "noise")
