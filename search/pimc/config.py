"""Settings of PIMC."""

from dataclasses import dataclass

from cluster.validation import at_least, at_least_below, one_of, require


@dataclass
class PimcConfig:
    """PIMC (paper 001, Algorithm 2; the defaults are those of its baseline in Hearts, section 6.1)."""

    worlds: int = 50
    """Sampled deals consistent with the seat's history, n of Algorithm 2."""
    candidates: int = 0
    """Number of deals to draw the worlds from, in proportion to the likelihood of the others' actions; 0 for equally
    likely worlds."""
    beliefs: str = "network"
    """Policy by which the others' actions are likely: ``network``, or ``scripted`` for the game's scripted player."""
    evaluator: str = "uct"
    """Evaluation of actions in a world, PerfectInfoVal of Algorithm 2. ``uct``: a search with all cards open;
    ``playouts``: a playout by the game's scripted player after each action; ``network``: a playout by a network's
    policy, each seat seeing its own cards; ``value``: the same until the seat is to act again, then the network's
    V(h); ``solver``, in Skat only: whether each card wins under perfect play, scripted playouts before the first
    card."""
    runs: int = 2000
    """Runs of UCT in every world."""
    exploration: float = 0.4
    """C of UCT, where the utility goes from 0 for the worst outcome to 1 for the best."""
    seconds: float = 0.0
    """Wall time for each decision, after which its worlds begin no further runs of UCT; drawing and weighing them
    counts. 0 for no limit. Results then depend on the machine."""
    temperature: float = 1.0
    """Temperature of a network's playouts, as ``imitation.temperature``; near 0 it plays its favourites."""
    blueprint: str = "scripted"
    """Whose action is played unless another is surely better: the game's ``scripted`` player's, or the ``network``'s
    favourite."""
    confidence: float = 0.0
    """Standard errors over the worlds by which an action must be better than the blueprint's to be played in its place
    (SPARTA); of several the highest lower bound. 0 plays the highest sum, as in the paper."""
    threshold: float = 0.0
    """Share of the policy that an action needs to be considered, with ``blueprint=network``; 0 considers all."""
    cheat: bool = False
    """Whether all worlds are the true deal: an upper bound for real players. With ``solver`` all worlds get the same
    values, so one is enough."""
    utility: str = ""
    """Name of the outcome utility v(o) that every seat maximises; empty for the game's default."""

    def __post_init__(self) -> None:
        at_least("pimc", self, 1, "worlds", "runs")
        at_least("pimc", self, 0, "exploration", "seconds", "confidence")
        one_of("pimc", self, ("network", "scripted"), "beliefs")
        # Who gives a limit of time, a blueprint or a threshold measures for hours as if it were in force.
        timed = self.evaluator == "uct" or not self.seconds
        require(timed, "pimc", self, "seconds", f"0.0 with pimc.evaluator={self.evaluator}; it is of uct alone")
        require(0 < self.temperature <= 100, "pimc", self, "temperature", "above 0 and at most 100")
        one_of("pimc", self, ("scripted", "network"), "blueprint")
        by_network = self.blueprint == "network"
        used = not by_network or self.confidence > 0 or self.threshold > 0
        require(used, "pimc", self, "blueprint", "scripted without pimc.confidence and pimc.threshold")
        at_least_below("pimc", self, 0, 1, "threshold")
        judged = by_network or not self.threshold
        require(judged, "pimc", self, "threshold", "0.0 with pimc.blueprint=scripted, which has no policy")
        spares = self.evaluator != "uct" or not self.threshold
        require(spares, "pimc", self, "threshold", "0.0 with pimc.evaluator=uct, which searches all actions")
        fits = self.candidates == 0 or (self.candidates >= self.worlds and not self.cheat)
        wanted = f"0, or at least pimc.worlds={self.worlds} with pimc.cheat=false"
        require(fits, "pimc", self, "candidates", wanted)
        has_error = self.worlds > 1 or self.cheat or not self.confidence
        require(has_error, "pimc", self, "worlds", "2 at least with pimc.confidence, which needs their spread")

    @property
    def needs_model(self) -> bool:
        """Whether these settings use a network."""
        weighs = self.candidates > 0 and self.beliefs == "network"
        return weighs or self.evaluator in ("network", "value") or self.blueprint == "network"
