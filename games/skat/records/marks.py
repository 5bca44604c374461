"""How records and shards say that something of a game is unknown: its auction, or its end.

A shard holds games of one kind alone, which its metadata names (``auction=filled``, ``partial=true``); the column
``player`` says it of every row.
"""

ISS = "iss"
"""What every player of a record is called in the shards: names of people are not kept."""
XSKAT = "xskat"
"""The same where the auction is filled in: such games come from XSkat's logs, which have the last bid alone."""
PARTIAL = ":partial"
"""Behind these names where the game was not played to its end: there is no outcome, and its label means nothing."""
EVENT = "auction filled in"
"""Of a record, as its property ``EV``: nothing can be learned from its calls."""


def player_of(filled: bool, partial: bool) -> str:
    """What the players of a game are called."""
    return (XSKAT if filled else ISS) + (PARTIAL if partial else "")


def is_partial(player: str) -> bool:
    """Whether a row of this player has no outcome."""
    return player.endswith(PARTIAL)


def is_filled(player: str) -> bool:
    """Whether the calls of a row of this player were made up."""
    return player.removesuffix(PARTIAL) == XSKAT
