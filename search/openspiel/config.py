"""Settings of OpenSpiel's bots."""

from dataclasses import dataclass

from cluster.validation import at_least, one_of


@dataclass
class OpenSpielConfig:
    """An OpenSpiel bot."""

    bot: str = "is_mcts"
    """``is_mcts``: Information Set MCTS with random rollouts; ``xinxin``: the Hearts program, where pyspiel was built
    with it."""
    simulations: int = 500
    """Simulations of a decision; for xinxin, in each of its ``worlds``."""
    worlds: int = 20
    """Deals that xinxin samples for a decision; paper 001 plays it with 50, and 2,000 simulations in each."""
    exploration: float = 0.4
    """C of UCT; for ``is_mcts`` in units of the largest return."""

    def __post_init__(self) -> None:
        one_of("openspiel", self, ("is_mcts", "xinxin"), "bot")
        at_least("openspiel", self, 1, "simulations", "worlds")
        at_least("openspiel", self, 0, "exploration")
