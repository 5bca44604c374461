"""Settings of IS-MCTS."""

from dataclasses import dataclass

from cluster.validation import at_least, one_of


@dataclass
class IsMctsConfig:
    """Information Set MCTS (Cowling, Powley and Whitehouse 2012)."""

    runs: int = 2000
    """Simulations of every decision."""
    exploration: float = 0.7
    """C of UCT; rewards lie between 0, the worst outcome of the game, and 1."""
    observers: str = "single"
    """``single``: one tree of the deciding seat's observations (SO-ISMCTS); ``multiple``: one for every seat
    (MO-ISMCTS); ``private``: as multiple, the others' nodes also split by their hidden cards (as OpenSpiel's)."""
    seconds: float = 0.0
    """Wall time after which the searches of a batch begin no further simulations; 0 for no limit. Results then depend
    on the machine."""
    utility: str = ""
    """Name of the outcome utility v(o) that is maximised; empty for the game's default."""

    def __post_init__(self) -> None:
        at_least("is_mcts", self, 1, "runs")
        at_least("is_mcts", self, 0, "exploration", "seconds")
        one_of("is_mcts", self, ("single", "multiple", "private"), "observers")
