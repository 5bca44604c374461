"""Settings of the player with the networks of paper 004."""

from dataclasses import dataclass

from cluster.validation import above, at_least_below, one_of, require, within

METHODS = ("di_m", "di_s", "ab", "mv", "mlv", "skat_rules")
CARDS = ("net", "skat_rules", "pimc")
PIMC_WORLDS = 160
"""Kermit's (paper 004, section VI)."""


@dataclass
class SkatPoliciesPlayerConfig:
    """Skat by networks that learned from records (paper 004, sections III to V)."""

    method: str = "mlv"
    """Before card play. ``di_m``: the most probable action; ``di_s``: drawn; ``ab``: the most probable one, but bids up
    to a percentile of the limits (equation 1); ``mv``: as ``ab``, but the game of the highest value (equation 4);
    ``mlv``: of the highest value among the likely ones (equation 5); ``skat_rules``: that player."""
    a: float = 0.85
    """A of equation 1: it bids up to the smallest limit whose cumulative probability reaches this. Higher is bolder.
    The paper's best of three."""
    threshold: float = 0.1
    """Probability among the legal games from which ``mlv`` believes a value (equation 6)."""
    cards: str = "net"
    """Card play: ``net``, the most probable legal card (C of the paper); ``skat_rules``; ``pimc``: 160 worlds that the
    solver judges."""
    candidates: int = 0
    """With ``cards=pimc``: deals to draw its worlds from, by how likely the networks find what the others did; 0 for
    equally likely worlds."""

    def __post_init__(self) -> None:
        one_of("skat_policies", self, METHODS, "method")
        one_of("skat_policies", self, CARDS, "cards")
        above("skat_policies", self, 0, "a")
        within("skat_policies", self, 0, 1, "a")
        at_least_below("skat_policies", self, 0, 1, "threshold")
        fits = self.candidates == 0 or (self.candidates >= PIMC_WORLDS and self.cards == "pimc")
        wanted = f"0, or at least {PIMC_WORLDS} with skat_policies.cards=pimc"
        require(fits, "skat_policies", self, "candidates", wanted)
        network = "net with skat_policies.method=skat_rules, which leaves only the cards to a network"
        require(self.method != "skat_rules" or self.cards == "net", "skat_policies", self, "cards", network)
