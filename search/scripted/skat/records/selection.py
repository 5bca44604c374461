"""Which records a conversion takes."""

import re
from dataclasses import dataclass
from datetime import date

from cluster.errors import UserError
from games.skat.records.iss import Record

BOTS = ("bernie", "kermit", "thecount", "xskat", "zoot")
"""Programs that play on the International Skat Server, in small letters; ``kermit:2`` is a second ``kermit``."""


@dataclass(frozen=True)
class Filter:
    """Which records are taken."""

    records: int = 0
    """Stop after so many; 0 for all."""
    min_rating: float = 0.0
    """All three players have at least this rating; 0 takes players without one too."""
    no_bots: bool = False
    """Only games without a program among the players."""
    since: str = ""
    """Only games of this day (``YYYY-MM-DD``) and later; empty for all, those without a date too."""
    drop_duplicates: bool = False
    """The same deal with the same actions once."""
    partial: bool = False
    """Games that end early too, up to where they were played."""

    def __post_init__(self) -> None:
        if self.records < 0:
            raise UserError(f"--records {self.records}: give a number of records, or 0 for all")
        if not self.min_rating >= 0:  # nan too
            raise UserError(f"--min-rating {self.min_rating}: give a rating, or 0 for anybody")
        if self.since and not is_date(self.since):
            raise UserError(f"--since {self.since}: give a day as YYYY-MM-DD")

    def refuses(self, record: Record) -> str:
        """Why what a record says of players and day speaks against it; empty if nothing does."""
        if self.min_rating > 0 and (not record.ratings or min(record.ratings) < self.min_rating):
            return "rated too low"
        if self.no_bots and any(is_bot(name) for name in record.names):
            return "a bot plays"
        if self.since and not is_date(record.day):
            return "no readable date"
        return "too old" if record.day < self.since else ""


def is_bot(name: str) -> bool:
    """Whether a player's name is that of a program, with or without a number behind it."""
    return re.sub(r":\d+$", "", name.strip()).lower() in BOTS


def is_date(text: str) -> bool:
    """Whether a text is a day as ``YYYY-MM-DD``."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
