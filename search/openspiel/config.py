"""Settings of OpenSpiel's bots."""

from dataclasses import dataclass

from cluster.validation import at_least, one_of


@dataclass
class OpenSpielConfig:
    """An OpenSpiel bot."""

    bot: str = "is_mcts"
    """``is_mcts``: Information Set MCTS with random rollouts."""
    simulations: int = 500
    """Simulations of a decision."""
    exploration: float = 0.4
    """C of UCT, in units of the largest return."""

    def __post_init__(self) -> None:
        one_of("openspiel", self, ("is_mcts",), "bot")
        at_least("openspiel", self, 1, "simulations")
        at_least("openspiel", self, 0, "exploration")
