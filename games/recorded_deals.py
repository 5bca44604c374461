"""Deals that were played, whatever file they are in."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from cluster.foreign import LONGEST_NAME, printable, shown
from games.game import Game
from games.registry import recorded_game
from games.shards import Sequences, find_shards, read_shard, shard_info


@dataclass(frozen=True)
class RecordedDeals:
    """Deals of one game, of each the histories of some seats or all."""

    game: Game
    sequences: Sequences
    """``N`` rows, deal by deal; the column ``game`` counts the deals from 0."""
    titles: tuple[str, ...]
    """One for each deal."""
    left_out: tuple[str, ...] = ()
    """Notes about what was left out."""

    def __post_init__(self) -> None:
        names = [shown(name) for name in self.sequences.player]  # files come from anywhere
        object.__setattr__(self, "sequences", replace(self.sequences, player=np.array(names, object)))
        object.__setattr__(self, "titles", tuple(shown(title, 2 * LONGEST_NAME) for title in self.titles))
        object.__setattr__(self, "left_out", tuple(map(printable, self.left_out)))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out; then what is to be known of the others."""
        broken = len(np.unique(self.sequences.game[~self.complete]))
        kept = f"{broken} of {len(self.titles)} deals break off, and are kept as far as they go"
        return (*self.left_out, kept) if broken else self.left_out

    @cached_property
    def lengths(self) -> np.ndarray:
        """``int64[N]``: tokens of each history, without ``eos``."""
        return np.asarray((self.sequences.tokens != self.game.vocabulary.eos).sum(axis=1))

    @cached_property
    def complete(self) -> np.ndarray:
        """``bool[N]``: whether the deal was played to its end."""
        views = self.game.views(self.sequences.tokens, self.lengths)
        return np.asarray(self.game.view_outcome(views) >= 0)


class Reader(Protocol):
    """Reads a file of records: ``path``, and how many deals of it, 0 for all. ``ValueError``, one line, for a file
    without any."""

    def __call__(self, path: Path, most: int = 0) -> RecordedDeals:
        """See above."""


def joined(parts: Mapping[str, RecordedDeals]) -> RecordedDeals:
    """The deals of several files, by the files' names; ``ValueError`` where they are of different games."""
    names, deals = [*parts], [*parts.values()]
    if len(deals) == 1:
        return deals[0]
    game, columns, before = deals[0].game, list[Sequences](), 0
    for name, part in parts.items():
        if (part.game.name, part.game.options) != (game.name, game.options):
            theirs, ours = f"{part.game.name} {dict(part.game.options)}", f"{game.name} {dict(game.options)}"
            raise ValueError(f"{name}: is of {theirs}, {names[0]} of {ours}; give files of one game")
        columns.append(replace(part.sequences, game=part.sequences.game + before))
        before += len(part.titles)
    titles = [f"{shown(name)}: {title}" for name, part in parts.items() for title in part.titles]
    notes = [f"{shown(name)}: {note}" for name, part in parts.items() for note in part.left_out]
    return RecordedDeals(game, Sequences.concat(columns), tuple(titles), tuple(notes))


def read_deals(path: str, most: int = 0, own: str = "") -> RecordedDeals:
    """The deals of a shard, or of all shards in a directory, which are of one game.

    Args:
        most: deals to read; 0 for all.
        own: a game of the user's own that the shards are of, as ``module:attribute``.

    Raises:
        ValueError: no shard, a damaged one, or two of different games.
    """
    paths = [path] if path.endswith(".parquet") else find_shards(path)
    first = shard_info(paths[0])
    game, parts, titles = recorded_game(paths[0], first.game, first.options, own), list[Sequences](), list[str]()
    for shard in paths:
        part = read_shard(shard, game)
        deal = np.cumsum(np.diff(part.game, prepend=part.game[:1]) != 0)
        kept = deal < (most - len(titles) if most else len(part))
        columns = part.tokens[kept], part.outcome[kept], part.seat[kept], part.player[kept], part.deal_seed[kept]
        parts.append(Sequences(*columns, len(titles) + deal[kept]))
        rows = np.flatnonzero(np.diff(deal[kept], prepend=-1))
        titles += [f"{shown(shard.rpartition('/')[2])}, row {row}" for row in rows]
        if len(titles) == most:
            break
    return RecordedDeals(game, Sequences.concat(parts), tuple(titles))
