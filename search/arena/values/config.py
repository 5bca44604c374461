"""The configuration of ``python -m search.arena.values``."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from cluster.validation import at_least, require
from games.config import GameConfig
from learner.config import EngineConfig
from search.config import SearchConfig


@dataclass
class ValuesConfig:
    """One measurement of a network's values."""

    game: GameConfig = MISSING
    checkpoint: str = MISSING
    """Checkpoint directory of the network; players that need one and name none use it too."""
    decisions: int = 1000
    """Number of decisions, one from each deal."""
    worlds: int = 100
    """Deals sampled for every decision, an even number; each is played out after every legal action."""
    player: str = ""
    """Player of the deals, in every seat; empty for the game's scripted player with ``explore=0.08``, else
    ``random``."""
    playouts: str = ""
    """Player of the playouts, in every seat; empty for the game's scripted player, else ``random``."""
    players: list[str] = field(default_factory=list)
    """Players whose choices at these decisions are judged too, such as ``go_mcts:num_runs=50`` or
    ``argmax_val@OTHER``."""
    thresholds: list[float] = field(default_factory=list)
    """Thresholds of ArgmaxVal* to evaluate, with every policy weight; empty for ``search.argmax_val.threshold``
    alone."""
    policy_weights: list[float] = field(default_factory=list)
    """Policy weights of ArgmaxVal*; empty for ``search.argmax_val.policy_weight`` alone."""
    seed: int = 1
    """Seed of the deals, the worlds and all random numbers."""
    out: str = ""
    """JSON file of the result; empty to print only."""
    table_size: int = 512
    """Worlds played out side by side; with a network, memory for keys and values grows with it."""
    search: SearchConfig = field(default_factory=SearchConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)

    def __post_init__(self) -> None:
        at_least("", self, 3, "decisions")
        at_least("", self, 2, "worlds")
        require(self.worlds % 2 == 0, "", self, "worlds", "even, because the worlds are halved")
        at_least("", self, 1, "table_size")
        at_least("", self, 0, "seed")
        probabilities = all(0 <= threshold <= 1 for threshold in self.thresholds)
        require(probabilities, "", self, "thresholds", "numbers between 0 and 1")
        own = self.search.argmax_val.bidding == "own"
        named = "own: it is of play alone; players=[argmax_val:bidding=percentile] judges one that bids so"
        require(own, "search.argmax_val", self.search.argmax_val, "bidding", named)
        weights = all(0 <= weight <= 100 for weight in self.policy_weights)
        require(weights, "", self, "policy_weights", "numbers between 0 and 100")
