"""Named token groups of a game (paper 001, Table 1) and the token that ends every sequence."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of a game: groups in order, ids counted through from 0, ``eos`` last.

    Example: ``Vocabulary({"Cards": ("2C", ...), "Positions": ("self", ...)})`` gives ids 0..51 to the cards and
    52..55 to the positions.
    """

    groups: Mapping[str, Sequence[str]]
    """Group name -> names of its tokens; names are unique over the whole vocabulary."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", {name: tuple(tokens) for name, tokens in self.groups.items()})
        if len(set(self.names)) < len(self.names):
            twice = sorted({name for name in self.names if self.names.count(name) > 1})
            raise ValueError(f"token names must be unique within a vocabulary; these appear twice: {', '.join(twice)}")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of every token id, ``"eos"`` last."""
        return (*(name for tokens in self.groups.values() for name in tokens), "eos")

    @property
    def size(self) -> int:
        """Number of tokens, ``eos`` included."""
        return len(self.names)

    @property
    def eos(self) -> int:
        """Id of the token that ends every sequence; also what pads a batch behind it."""
        return self.size - 1

    @property
    def dtype(self) -> np.dtype:
        """``uint8`` up to 256 tokens, else ``uint16``: the type of every token array and shard."""
        return np.dtype(np.uint8 if self.size <= 256 else np.uint16)

    def first(self, group: str) -> int:
        """Id of the first token of a group."""
        before = 0
        for name, tokens in self.groups.items():
            if name == group:
                return before
            before += len(tokens)
        raise KeyError(f"no token group {group!r}; the groups are {', '.join(self.groups)}")

    def name(self, token: int) -> str:
        """Name of a token by its id."""
        return self.names[int(token)]

    @cached_property
    def fingerprint(self) -> str:
        """16 hex digits that change whenever a group, a token or their order changes."""
        text = json.dumps([[name, list(tokens)] for name, tokens in self.groups.items()], separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
