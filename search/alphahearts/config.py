"""Settings of the players of paper 002."""

from dataclasses import dataclass

from cluster.validation import at_least


@dataclass
class AlphaHeartsConfig:
    """AlphaHearts Zero (paper 002, "Monte Carlo Tree Search"; the defaults are those of "Experimental Details")."""

    worlds: int = 10
    """Sampled deals consistent with the seat's history, each searched separately: the paper's determinizations."""
    iterations: int = 200
    """Iterations of the search in every world."""
    exploration: float = 1.0
    """K of UCB, where the utility goes from 0 for the worst outcome to 1 for the best."""
    cheat: bool = False
    """Whether to search the true deal, once, instead of sampled ones: an upper bound for real players."""
    utility: str = "own"
    """Name of the outcome utility that every seat maximises; ``own`` is the paper's share of points avoided, empty is
    the game's default."""
    seconds: float = 0.0
    """Wall time for each decision, after which its worlds begin no further iterations; drawing them counts. 0 for no
    limit. Results then depend on the machine."""

    def __post_init__(self) -> None:
        at_least("alphahearts", self, 1, "worlds", "iterations")
        at_least("alphahearts", self, 0, "exploration", "seconds")

    @property
    def worlds_searched(self) -> int:
        """Number of deals that a decision searches."""
        return 1 if self.cheat else self.worlds


@dataclass
class QValuesConfig:
    """The highest q without a search (paper 002, "Multi-agent Reinforcement Learning")."""

    worlds: int = 10
    """Sampled deals consistent with the seat's history, whose q are averaged."""
    cheat: bool = False
    """Whether to evaluate the true deal instead of sampled ones: the paper's rule Perfect Information."""

    def __post_init__(self) -> None:
        at_least("q_values", self, 1, "worlds")
