"""Settings of the players that use a network without search."""

from dataclasses import dataclass

from cluster.validation import require, within


@dataclass
class ArgmaxValConfig:
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


@dataclass
class ImitationConfig:
    """Sampling from the policy head over the legal actions (paper 001, section 6.1)."""

    temperature: float = 1.0
    """The policy is raised to ``1 / temperature`` before it is sampled; 1 is the policy itself."""

    def __post_init__(self) -> None:
        holds = 0 < self.temperature <= 100
        require(holds, "imitation", self, "temperature", "above 0 and at most 100")
