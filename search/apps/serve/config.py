"""The configuration of ``kibitz serve``."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from omegaconf import MISSING

from cluster.validation import at_least, require, within
from games.config import GameConfig
from learner.config import EngineConfig
from search.apps.serve.names import LOOPBACK, place_of
from search.config import SearchConfig

KEY_VARIABLE = "KIBITZ_KEY"


@dataclass
class ServeConfig:
    """Tables in a browser, and answers for other programs, for one game."""

    game: GameConfig = MISSING
    player: str = ""
    """Who answers questions, reviews and hints, and is the first level: any player that values actions, such as
    ``argmax_val@DIR`` or ``pimc``; empty for the network that ships for the game, as it plays best without a search."""
    host: str = "127.0.0.1"
    """Address to listen on; others than loopback need ``key``."""
    port: int = 8600
    """0 for any that is free."""
    names: list[str] = field(default_factory=list)
    """What a proxy in front of the server is called, such as ``play.example.org``, with its port where that is an
    unusual one: its pages may ask."""
    key: str = ""
    """Secret without which nobody opens a table or asks the engine; part of the printed link. Others of this machine
    can read it in a command line, but not in ``key_file`` or in ``KIBITZ_KEY`` in the environment."""
    key_file: str = ""
    """File whose first line is the key."""
    seed: int | None = None
    """Seed of the tables' deals, counted on from table to table; null draws one for each."""
    tables: int = 32
    """Most tables at once; one that people left an hour ago makes room, and where all are taken one that nobody sat at
    within a minute; with ``out`` they come back with whoever has their link."""
    pace: float = 1.0
    """Times the least seconds that a level takes from decision to decision (docs/serve.md), so that people cannot learn
    from its time whether a player had a choice; 0 to have them as fast as they come."""
    waiting: int = 256
    """Most questions of other programs that wait; more are refused for now."""
    out: str = ""
    """Directory, path or URI, where tables are kept, with the secrets of their links, so that they outlive the server;
    empty to keep none."""
    search: SearchConfig = field(default_factory=SearchConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)

    def __post_init__(self) -> None:
        within("", self, 0, 65535, "port")
        at_least("", self, 1, "tables", "waiting")
        at_least("", self, 0, "pace")
        if self.seed is not None:
            at_least("", self, 0, "seed")
        for name in self.names:
            if place_of(name) is None:
                raise ValueError(
                    f"names: {name!r} is no name of a host; write play.example.org, or with :PORT behind it"
                )
        self._find_key()
        if not all("!" <= letter <= "~" for letter in self.key):
            raise ValueError("key: must be of printable ASCII characters without spaces, as it is part of a link")
        safe = self.host in LOOPBACK or len(self.key) >= 12
        require(safe, "", self, "host", "loopback (127.0.0.1) unless key is a secret of 12 characters or more")

    def _find_key(self) -> None:
        require(not (self.key and self.key_file), "", self, "key_file", "left out where key is given")
        if self.key_file:
            try:
                with Path(self.key_file).expanduser().open(encoding="utf-8") as file:
                    self.key = file.readline(1 << 12).strip()
            except (OSError, ValueError) as error:
                raise ValueError(f"key_file={self.key_file}: cannot be read ({error})") from None
            require(bool(self.key), "", self, "key_file", "a file whose first line is the key")
        self.key = self.key or os.environ.get(KEY_VARIABLE, "")
