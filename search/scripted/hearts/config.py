"""Settings of the scripted Hearts players."""

from dataclasses import dataclass


@dataclass
class HeartsComplexConfig:
    """The rule-based Hearts player of paper 002."""

    cheat: bool = False
    """Whether its rules look at the true hidden cards."""
