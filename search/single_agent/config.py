"""Settings of the players in games of one seat. Where paper 003 leaves something open, the setting says so."""

from dataclasses import dataclass

from cluster.validation import at_least, one_of, within

ROLLOUTS = ("uniform", "tabu")


@dataclass
class TreeConfig:
    """What MCTS and MCTransformer have in common: a tree that is kept from move to move."""

    simulations: int = 16
    """Simulations of a decision, the first among them: the paper's x16 takes 16 for every move (Table 2). Those of
    earlier decisions that went through the position are kept besides."""
    exploration: float = 1.0
    """c_uct of equation 1, or c_puct of equation 3; values lie between -1 and 1. The paper gives neither."""
    equal: float = 1.0
    """Value by equation 4 where all actions tried have the same mean, and it divides 0 by 0. 1, the value of an untried
    action, is as optimistic about these."""
    final: str = "best"
    """The move is that of the highest score seen (``best``, sections 3.2 and 3.6) or of the highest mean (``mean``)."""
    seconds: float = 0.0
    """Wall time of a decision, after which the searches of a batch begin no further simulations; 0 for no limit.
    Results then depend on the machine."""

    def check(self, name: str) -> None:
        """``ValueError`` for settings that mean nothing; ``name``: the player's."""
        at_least(name, self, 1, "simulations")
        at_least(name, self, 0, "exploration", "seconds")
        within(name, self, -1, 1, "equal")
        one_of(name, self, ("best", "mean"), "final")


@dataclass
class MctsConfig(TreeConfig):
    """Plain MCTS (paper 003, section 3.2, equations 1 and 4)."""

    decay: float = 1.0
    """Factor of ``simulations`` from one move to the next, at least one is left: section 4.1's "simulation decay",
    whose size the paper does not give. 1 for none, as its Table 2 counts equally many for every move."""
    rollout: str = "uniform"
    """``uniform``: any legal move, as the paper does not say; ``tabu``: spares the commonest colour (SameGame only)."""

    def __post_init__(self) -> None:
        self.check("mcts")
        within("mcts", self, 0, 1, "decay")
        one_of("mcts", self, ROLLOUTS, "rollout")


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
        at_least("sp_mcts", self, 1, "simulations", "restarts")
        at_least("sp_mcts", self, 0, "exploration", "deviation", "seconds")
        one_of("sp_mcts", self, ROLLOUTS, "rollout")


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
class McTransformerConfig(TreeConfig):
    """MCTransformer (paper 003, section 3.5)."""

    def __post_init__(self) -> None:
        self.check("mctransformer")
