"""Settings of the players in games of one seat. Where paper 003 leaves something open, the setting says so."""

from dataclasses import dataclass

from cluster.validation import at_least, one_of, within

ROLLOUTS = ("uniform", "tabu")


@dataclass
class MctsConfig:
    """Plain MCTS (paper 003, section 3.2, equations 1 and 4)."""

    simulations: int = 16
    """Simulations of a decision; those of earlier decisions that went through the position are kept besides."""
    decay: float = 1.0
    """Factor of ``simulations`` from one move to the next, at least one is left: section 4.1's "simulation decay",
    whose size the paper does not give. 1 for none, as its Table 2 counts equally many for every move."""
    exploration: float = 1.0
    """c_uct of equation 1; values lie between -1 and 1. The paper does not give it."""
    equal: float = 1.0
    """Value by equation 4 where all actions tried have the same mean, and it divides 0 by 0. 1, the value of an untried
    action, is as optimistic about these."""
    rollout: str = "uniform"
    """``uniform``: any legal move, as the paper does not say; ``tabu``: spares the commonest colour (SameGame only)."""
    final: str = "best"
    """The move is that of the highest score seen (``best``, section 3.2) or of the highest mean (``mean``)."""
    seconds: float = 0.0
    """Wall time of a decision, after which the searches of a batch begin no further simulations; 0 for no limit.
    Results then depend on the machine."""

    def __post_init__(self) -> None:
        _check("mcts", self)
        within("mcts", self, 0, 1, "decay")
        within("mcts", self, -1, 1, "equal")
        one_of("mcts", self, ("best", "mean"), "final")


@dataclass
class SpMctsConfig:
    """SP-MCTS (Schadd et al. 2008): a search from the first position, begun again several times, whose best game is
    played."""

    simulations: int = 10_000
    """Simulations of each search."""
    restarts: int = 10
    """Searches, each with a tree of its own."""
    exploration: float = 4.31
    """C, in points."""
    deviation: float = 96.67
    """D: makes the third term large for actions that were tried seldom."""
    rollout: str = "tabu"
    """As ``mcts.rollout``; Schadd et al. call ``tabu`` TabuColorRandom."""
    seconds: float = 0.0
    """Wall time of all searches of a game, which they share equally; 0 for no limit. Results then depend on the
    machine."""

    def __post_init__(self) -> None:
        _check("sp_mcts", self)
        at_least("sp_mcts", self, 1, "restarts")
        at_least("sp_mcts", self, 0, "deviation")


@dataclass
class NrpaConfig:
    """Nested rollout policy adaptation (Rosin 2011)."""

    level: int = 2
    """Depth of the nesting; a search of level n makes ``iterations`` ** n rollouts."""
    iterations: int = 100
    """Searches of the level below in each search (Rosin's N)."""
    alpha: float = 1.0
    """Step of the weights."""
    restarts: int = 1
    """Searches of the highest level, each with weights of its own."""
    rollout: str = "uniform"
    """As ``mcts.rollout``; its moves are what the weights choose among."""
    seconds: float = 0.0
    """Wall time of a game, after which no further search begins above level 1; 0 for no limit. Results then depend on
    the machine."""

    def __post_init__(self) -> None:
        at_least("nrpa", self, 1, "level", "iterations", "restarts")
        at_least("nrpa", self, 0, "alpha", "seconds")
        one_of("nrpa", self, ROLLOUTS, "rollout")


@dataclass
class PolicyConfig:
    """The network's most probable move (paper 003, section 4.3)."""

    history: bool = True
    """False: the network sees the position alone, without attention to earlier ones (Table 6)."""


@dataclass
class McTransformerConfig:
    """MCTransformer (paper 003, section 3.5)."""

    simulations: int = 16
    """Simulations of a decision, the first among them: the paper's x16 takes 16 for every move (Table 2)."""
    exploration: float = 1.0
    """c_puct of equation 3; values lie between -1 and 1. The paper does not give it."""
    equal: float = 1.0
    """As ``mcts.equal``."""
    final: str = "best"
    """The move is that of the highest score seen (``best``, section 3.6) or of the highest mean (``mean``)."""
    seconds: float = 0.0
    """As ``mcts.seconds``."""

    def __post_init__(self) -> None:
        at_least("mctransformer", self, 1, "simulations")
        at_least("mctransformer", self, 0, "exploration", "seconds")
        within("mctransformer", self, -1, 1, "equal")
        one_of("mctransformer", self, ("best", "mean"), "final")


def _check(name: str, config: MctsConfig | SpMctsConfig) -> None:
    at_least(name, config, 1, "simulations")
    at_least(name, config, 0, "exploration", "seconds")
    one_of(name, config, ROLLOUTS, "rollout")
