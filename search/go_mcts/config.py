"""Settings of GO-MCTS."""

from dataclasses import dataclass

from cluster.validation import at_least, one_of, require, within


@dataclass
class GoMctsConfig:
    """GO-MCTS (paper 001, Algorithm 3; the defaults are section 9.3's for Hearts)."""

    num_runs: int = 100
    """Simulations of every decision: the paper's N_runs."""
    num_steps: int = 2
    """Own moves of a rollout before the value is taken from the model, N_steps."""
    exploration: float = 0.4
    """C of UCT, in units of the utility."""
    threshold: float = 0.05
    """The least probability, normalised over the legal actions, of an action that becomes a child."""
    illegal_penalty: float = 0.01
    """Mu: what a simulation that ended in an impossible history takes from every node on its path."""
    lanes: int = 1
    """Simulations of a search in flight at once that see each other; 1 is Algorithm 3 itself, more fill the batch of a
    lone search."""
    speculative: int = 0
    """With one lane, the most simulations of a search in flight at once: all but the first on a guess, and rolled back
    where it was wrong, so that the tree does not depend on it. 1 for none; 0 for what fills a pass, at most 16."""
    virtual_loss: float = 0.0
    """What a simulation in flight lowers the expectation of its path by, in units of the utility, with more than one
    lane."""
    mask_impossible: bool = False
    """Whether tokens after which a history could not have happened are never sampled: beyond the paper."""
    prune_impossible: bool = False
    """Whether a simulation ends as soon as its history could not have happened, not only at its end: beyond the
    paper."""
    selection: str = "uct"
    """``uct`` (the paper), or ``puct``: exploration in proportion to the policy's prior."""
    seconds: float = 0.0
    """Wall time after which the searches of a batch begin no further simulations; 0 for no limit. Results then depend
    on the machine."""
    keep_subtree: bool = False
    """Whether a search starts from what the seat's search before it found out about what has happened since: beyond the
    paper."""
    utility: str = ""
    """Name of the outcome utility v(o) that is maximised; empty for the game's default."""

    def __post_init__(self) -> None:
        at_least("go_mcts", self, 1, "num_runs", "lanes")
        non_negative = ("num_steps", "speculative", "seconds", "virtual_loss", "exploration", "illegal_penalty")
        at_least("go_mcts", self, 0, *non_negative)
        one_of("go_mcts", self, ("uct", "puct"), "selection")
        sees = self.virtual_loss == 0 or self.lanes > 1
        require(sees, "go_mcts", self, "virtual_loss", "0 with go_mcts.lanes=1, as simulations do not see each other")
        guesses = self.speculative <= 1 or self.lanes == 1
        require(guesses, "go_mcts", self, "speculative", f"0 with go_mcts.lanes={self.lanes}, which takes its place")
        within("go_mcts", self, 0, 1, "threshold")
