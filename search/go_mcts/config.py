"""Settings of GO-MCTS."""

from dataclasses import dataclass

from cluster.validation import at_least, within


@dataclass
class GoMctsConfig:
    """GO-MCTS (paper 001, Algorithm 3; the defaults are section 9.3's for Hearts)."""

    num_runs: int = 100
    """Simulations of every decision: the paper's N_runs."""
    num_steps: int = 2
    """Own moves of a rollout before the model values its history, N_steps."""
    exploration: float = 0.4
    """C of UCT, in units of the utility."""
    threshold: float = 0.05
    """Least probability, normalised over the legal actions, of an action that becomes a child."""
    prior_visits: int = 1
    """Visits that the model's value V(h.a) of a new child counts for; 1 is Algorithm 3, more trusts the values of a
    network that has learned them well: beyond the paper."""
    illegal_penalty: float = 0.01
    """Mu: subtracted from every node on the path of a simulation that ended in an impossible history."""
    speculative: int = 0
    """Most simulations of a search in flight at once. All but the first are guesses, rolled back where wrong, so that
    the tree does not depend on it. 1 for none; 0 for a full forward pass, at most 16."""
    mask_impossible: bool = False
    """Whether to never sample tokens that make a history impossible: beyond the paper."""
    policy_weight: float = 0.0
    """Weight of log p_legal added to an action's mean value, in Select and the final choice, in units of the utility; 0
    is Algorithm 3. Beyond the paper: follows the policy where values hardly differ, as ArgmaxVal* can."""
    seconds: float = 0.0
    """Wall time, without pauses, after which the searches of a batch begin no further simulations; 0 for no limit.
    Results then depend on the machine."""
    utility: str = ""
    """Name of the outcome utility v(o) that is maximised; empty for the game's default."""

    def __post_init__(self) -> None:
        at_least("go_mcts", self, 1, "num_runs", "prior_visits")
        at_least("go_mcts", self, 0, "num_steps", "speculative", "seconds", "exploration", "illegal_penalty")
        within("go_mcts", self, 0, 1, "threshold")
        within("go_mcts", self, 0, 100, "policy_weight")
