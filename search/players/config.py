"""Settings of the players that use a network without search."""

from dataclasses import dataclass

from cluster.validation import above, one_of, require, within

BIDDING = ("own", "percentile")


@dataclass(kw_only=True)
class BiddingConfig:
    """How a player that uses a network bids."""

    bidding: str = "own"
    """The auction, in games that have one (Skat). ``own``: as all else; ``percentile``: goes along, by the smallest
    call, up to a percentile of the network's distribution over its own limit (paper 004, equation 1)."""
    a: float = 0.85
    """A of equation 1 with ``bidding=percentile``: it bids up to the smallest limit whose cumulative probability
    reaches this. Higher is bolder."""

    def check_bidding(self, group: str) -> None:
        """``ValueError`` for settings that mean nothing."""
        one_of(group, self, BIDDING, "bidding")
        above(group, self, 0, "a")
        within(group, self, 0, 1, "a")
        default = type(self).a
        read = self.bidding == "percentile" or self.a == default
        require(read, group, self, "a", f"left out (it is {default}) with {group}.bidding={self.bidding}")


@dataclass
class ArgmaxValConfig(BiddingConfig):
    """ArgmaxVal* (paper 001, equations 2 and 3)."""

    threshold: float = 0.05
    """Lambda: least probability, normalised over the legal actions, of an action that may be chosen."""
    policy_weight: float = 0.0
    """Weight of log p_legal added to the value, in units of the utility; 0 is the paper's rule. Beyond the paper:
    follows the policy where values hardly differ."""
    utility: str = ""
    """Name of the outcome utility v(o) that is maximised; empty for the game's default."""

    def __post_init__(self) -> None:
        within("argmax_val", self, 0, 1, "threshold")
        within("argmax_val", self, 0, 100, "policy_weight")
        self.check_bidding("argmax_val")


@dataclass
class ImitationConfig(BiddingConfig):
    """Sampling from the policy head over the legal actions (paper 001, section 6.1)."""

    temperature: float = 1.0
    """The policy is raised to ``1 / temperature`` before it is sampled; 1 is the policy itself."""
    greedy: bool = False
    """Whether it plays the most probable legal action in place of a draw (DI.M of paper 004)."""

    def __post_init__(self) -> None:
        holds = 0 < self.temperature <= 100
        require(holds, "imitation", self, "temperature", "above 0 and at most 100")
        self.check_bidding("imitation")

    @property
    def samples(self) -> bool:
        """Whether every action is drawn from the policy itself."""
        return not self.greedy and self.temperature == 1.0 and self.bidding == "own"
