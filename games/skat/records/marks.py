"""How shards say that the end of a game is unknown: their metadata (``partial=true``), and ``player`` of every row."""

ISS = "iss"
"""What every player of a record is called in the shards: names of people are not kept."""
PARTIAL = ":partial"
"""Behind this name where the game was not played to its end: there is no outcome, and its label means nothing."""


def is_partial(player: str) -> bool:
    """Whether a row of this player has no outcome."""
    return player.endswith(PARTIAL)
