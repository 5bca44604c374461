"""Rare successes: count them by kind of deal, and play more deals until a shard holds enough of each kind.

Paper 001, section 6.3, plays more games of The Crew's hard missions until there are more successful examples. Here each
shard of iteration 0 does so by itself: it depends on no other shard and is reproduced byte for byte.

Letters: ``G`` deals, ``P`` seats, ``V`` kinds of deal (``Game.scenarios``; 1 for a game without).
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from cluster.files import storage
from cluster.foreign import parse_json
from games.game import Game
from games.rng import derive_many
from games.shards import shard_info

_ROUND = 20_000
"""Deals drawn at a time."""
_BARREN_ROUNDS = 10
"""Stop after so many rounds without a deal of the missing kinds: they are never dealt, such as missions left out."""
_PLANNED, _MORE = "successes", "more_successes"


@dataclass(frozen=True)
class Played:
    """Finished deals."""

    seeds: np.ndarray
    """``uint64[G]``"""
    states: np.ndarray
    """``[G]``, final."""
    labels: np.ndarray
    """``int32[G, P]``"""
    seating: np.ndarray
    """``int64[G, P]``: player of each seat."""
    keep: np.ndarray
    """``bool[G, P]``: whether a seat's sequence is kept."""
    decisions: int
    probabilities: np.ndarray | None = None
    """``float32[G, P, L]`` as ``TableResult.probabilities``; None where they are not kept, as of all initial deals."""

    def take(self, rows: np.ndarray) -> "Played":
        """The deals of some rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _COLUMNS})

    @staticmethod
    def concat(parts: "list[Played]") -> "Played":
        """All of ``parts``, in order."""
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
        return Played(**columns, decisions=sum(part.decisions for part in parts))


_COLUMNS = ("seeds", "states", "labels", "seating", "keep")


@dataclass(frozen=True)
class Successes:
    """Numbers of played deals of every kind, and of those in which every seat got the best outcome."""

    names: tuple[str, ...]
    games: np.ndarray
    """``int64[V]``"""
    wins: np.ndarray
    """``int64[V]``"""

    @staticmethod
    def of(game: Game, states: np.ndarray, labels: np.ndarray) -> "Successes":
        """Count finished deals ``[G]`` with their labels ``int32[G, P]``."""
        names = game.scenarios or ("",)
        kind = game.scenario(states).astype(np.int64)
        games = np.bincount(kind, minlength=len(names))
        return Successes(names, games, np.bincount(kind[succeeded(game, labels)], minlength=len(names)))

    def __add__(self, other: "Successes") -> "Successes":
        return Successes(self.names, self.games + other.games, self.wins + other.wins)

    def to_json(self) -> str:
        """JSON for a shard's metadata: ``{kind: [games, successes]}``."""
        rows = zip(self.names, self.games.tolist(), self.wins.tolist(), strict=True)
        return json.dumps({name: [games, wins] for name, games, wins in rows})


def success_metadata(planned: Successes, more: Successes | None) -> dict[str, str]:
    """Metadata of a shard: successes of its planned and of its added deals; empty for a game without kinds of deal."""
    counts = {_PLANNED: planned, **({_MORE: more} if more else {})}
    return {key: count.to_json() for key, count in counts.items() if count.names != ("",)}


def counted(shards: Iterable[str]) -> dict[str, dict[str, list[int]]]:
    """Sums over the metadata of shards, for planned and for added deals: kind -> [deals, successes]."""
    total: dict[str, dict[str, list[int]]] = {}
    for info in storage.of_each(shard_info, shards):
        provenance = info.provenance
        for key in (_PLANNED, _MORE):
            for kind, counts in parse_json(provenance.get(key, "{}")).items():
                before = total.setdefault(key, {}).get(kind, [0, 0])
                total[key][kind] = [before[0] + counts[0], before[1] + counts[1]]
    return total


def read_successes(path: str) -> dict[str, tuple[int, int]]:
    """Kind -> (planned deals, successes), from a file with the result of ``counted``. ``ValueError`` for other
    content."""
    try:
        found = storage.read_json(path)[_PLANNED]
        return {str(kind): (int(games), int(wins)) for kind, (games, wins) in found.items()}
    except FileNotFoundError as error:
        raise ValueError(f"{path}: is missing") from error
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: holds no successes by kind of deal ({error!r})") from error


def succeeded(game: Game, labels: np.ndarray) -> np.ndarray:
    """``bool[G]``: whether every seat got its highest possible utility."""
    worth = game.outcomes.utility()
    return np.asarray((worth[labels] == worth.max()).all(axis=1))


def play_on(
    game: Game, first: Played, play: Callable[[np.ndarray], Played], wins: int, most_games: int, seed: int
) -> tuple[Played, Successes]:
    """Play more deals of every kind with fewer than ``wins`` successes, until it has them or ``most_games`` were added.

    Args:
        first: the deals played so far.
        play: plays the deals of these seeds (``uint64[G]``).
        seed: of the deals to come.

    Returns:
        (kept, extra). ``kept``: ``first``, the missing successes among the added deals, and equally many failures of
        each kind. ``extra``: how many deals were added, and how many of them succeeded.
    """
    missing = wins - Successes.of(game, first.states, first.labels).wins
    parts, counts = [first], Successes.of(game, first.states[:0], first.labels[:0])
    drawn, left, barren = 0, most_games, 0
    while left > 0 and barren < _BARREN_ROUNDS and (missing > 0).any():
        seeds = derive_many(seed, _ROUND, drawn)
        drawn += _ROUND
        seeds = seeds[(missing > 0)[game.scenario(game.deal(seeds))]][:left]
        barren = 0 if len(seeds) else barren + 1
        if barren:
            continue
        more = play(seeds)
        left -= len(seeds)
        counts += Successes.of(game, more.states, more.labels)
        rows = _wanted(game, more, missing)
        parts.append(more.take(rows))
        missing = missing - Successes.of(game, more.states[rows], more.labels[rows]).wins
    return Played.concat(parts), counts


def _wanted(game: Game, more: Played, missing: np.ndarray) -> np.ndarray:
    """Rows, in order: the first ``missing`` successes of every kind, and as many failures."""
    kind, won = game.scenario(more.states).astype(np.int64), succeeded(game, more.labels)
    rows = []
    for number in np.flatnonzero(missing > 0):
        successes = np.flatnonzero((kind == number) & won)[: missing[number]]
        rows += [successes, np.flatnonzero((kind == number) & ~won)[: len(successes)]]
    return np.sort(np.concatenate(rows))
