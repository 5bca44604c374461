"""The configuration of ``python -m search.arena.rating``."""

from collections import Counter
from dataclasses import dataclass

from omegaconf import MISSING

from cluster.validation import require
from search.arena.tournament.config import TournamentConfig


@dataclass
class RatingConfig(TournamentConfig):
    """A round robin: a tournament for every pair of players."""

    players: list[str] = MISSING
    """Players to rate, two or more, e.g. ``[random,hearts_rules,argmax_val@DIR]``. Pairs with a result in ``out`` do
    not play again."""
    anchor: str = ""
    """The player whose rating is 0; empty for a mean of 0."""
    leads_of: str = ""
    """The player whose leads over the others are drawn in ``leads.png``; empty for the best."""
    out: str = MISSING
    """Directory of the results: a JSON file for each pair, and the table over all of them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(not self.keep, "", self, "keep", "empty: a round robin is many tournaments")
        twice = [player for player, times in Counter(self.players).items() if times > 1]
        require(not twice, "", self, "players", f"players of different names ({', '.join(twice)} is there twice)")
        require(len(self.players) > 1, "", self, "players", "two players or more")
        require(self.anchor in ("", *self.players), "", self, "anchor", f"one of {', '.join(self.players)}")
        require(self.leads_of in ("", *self.players), "", self, "leads_of", f"one of {', '.join(self.players)}")
