"""Settings of the players of paper 002."""

from dataclasses import dataclass

from cluster.validation import at_least, one_of, require
from search.players.config import check_candidates


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
    """Wall time for each decision, after which its worlds begin no further iterations; drawing and weighing them
    counts. 0 for no limit. Results then depend on the machine."""
    selection: str = "uct"
    """``uct`` (the paper), or ``puct``: exploration in proportion to softmax(q), untried actions included; plays the
    action with most visits."""
    variance_penalty: float = 0.0
    """Subtracted from an action's mean over the worlds, times the standard deviation over them; 0 is the paper's rule.
    Beyond the paper: avoids actions that are good in few worlds."""
    candidates: int = 0
    """Number of deals to draw the worlds from, in proportion to the likelihood of the others' actions under the network
    ``beliefs`` ("Further Work", Specific Sampling); 0 for equally likely worlds, as in the paper."""
    beliefs: str = ""
    """Checkpoint of the network that weighs the candidates by histories: directory, URI or ``kibitz:NAME``; empty
    without candidates."""

    def __post_init__(self) -> None:
        at_least("alphahearts", self, 1, "worlds", "iterations")
        at_least("alphahearts", self, 0, "exploration", "seconds", "variance_penalty")
        one_of("alphahearts", self, ("uct", "puct"), "selection")
        varies = self.variance_penalty == 0 or self.worlds_searched > 1
        require(varies, "alphahearts", self, "variance_penalty", "0 where one world is searched")
        by_value = self.variance_penalty == 0 or self.selection == "uct"
        require(by_value, "alphahearts", self, "variance_penalty", "0 with selection=puct, which decides by visits")
        _check_cheat("alphahearts", self)
        check_candidates("alphahearts", self)
        _check_beliefs("alphahearts", self)

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
    candidates: int = 0
    """See ``alphahearts``."""
    beliefs: str = ""
    """See ``alphahearts``."""

    def __post_init__(self) -> None:
        at_least("q_values", self, 1, "worlds")
        _check_cheat("q_values", self)
        check_candidates("q_values", self)
        _check_beliefs("q_values", self)


def _check_cheat(group: str, config: AlphaHeartsConfig | QValuesConfig) -> None:
    counts = not config.cheat or config.worlds in (1, type(config).worlds)
    require(counts, group, config, "worlds", f"1 with {group}.cheat=true, which looks at the true deal once")


def _check_beliefs(group: str, config: AlphaHeartsConfig | QValuesConfig) -> None:
    if config.candidates:
        wanted = f"the checkpoint of the network that weighs {group}.candidates={config.candidates}"
        require(bool(config.beliefs), group, config, "beliefs", wanted)
    else:
        wanted = f"empty with {group}.candidates=0, as there is nothing to weigh"
        require(not config.beliefs, group, config, "beliefs", wanted)
