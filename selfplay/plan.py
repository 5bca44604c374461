"""The shards of each iteration: a pure function of the configuration, so that a resumed run plans the same shards.
(With ``games_per_shard=0`` their size is recorded: ``selfplay.shard_sizes``.)

Model-free players play iteration 0; ArgmaxVal* with the first network plays every seat of iteration 1. In later
iterations ArgmaxVal* with the newest network plays one seat, against imitations of uniformly drawn earlier networks; in
a cooperative game ArgmaxVal* keeps every seat (paper 001, sections 5.2, 6.1 and 6.3), also with
``selfplay.population=false``: "four AIs play 64 games against each other" (paper 002).

Beyond the paper: with ``selfplay.staleness`` the networks are older (``known_networks``).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from cluster.errors import UserError
from cluster.files import storage
from games.rng import derive, derive_many, mix
from games.shards import ShardError, shard_info
from selfplay.config import InitialConfig, SelfplayConfig
from selfplay.existing_shards import existing


class Seating(Enum):
    """How seats are filled: INITIAL -> EVERYBODY -> POPULATION over the iterations."""

    INITIAL = "initial"
    EVERYBODY = "everybody"
    POPULATION = "population"


@dataclass(frozen=True)
class Network:
    """A network that plays."""

    name: str
    """Its name in players and provenance, e.g. ``"003"``."""
    path: str
    """Directory of its checkpoint."""


@dataclass(frozen=True)
class ShardPlan:
    """The games of one shard. Two equal plans give byte-identical shards."""

    iteration: int
    """Iteration the shard belongs to."""
    shard: int
    """Number of the shard in its iteration."""
    num_games: int
    """Deals in it."""
    seating: Seating
    """How its seats are filled."""
    initial: InitialConfig
    """The players of iteration 0."""
    networks: tuple[Network, ...]
    """The networks that play, oldest first; the newest plays ArgmaxVal*."""
    run_seed: int
    """The run's seed."""
    source: str = ""
    """Path of a shard that exists already (``selfplay.initial.shards``); empty for one that the run plays."""

    @property
    def number(self) -> tuple[int, int]:
        """Its iteration and its number there, which no other shard of the run has."""
        return self.iteration, self.shard

    @property
    def name(self) -> str:
        """File name of the shard."""
        return f"{self.shard:05d}.parquet"

    def deal_seeds(self) -> np.ndarray:
        """``uint64[num_games]``: the seed of every deal."""
        return derive_many(derive(self.run_seed, "deal", self.iteration, self.shard), self.num_games)

    def seat_bits(self, num_players: int) -> np.ndarray:
        """``uint64[num_games, num_players]``: random bits that seat the players, independent of the deals' bits."""
        seeds = derive_many(derive(self.run_seed, "seating", self.iteration, self.shard), self.num_games)
        return mix(seeds[:, None], np.arange(num_players, dtype=np.uint64)[None])


def seating_of(iteration: int, cooperative: bool, population: bool = True) -> Seating:
    """How the seats of an iteration are filled; ``population``: see ``SelfplayConfig``."""
    if iteration == 0:
        return Seating.INITIAL
    if iteration == 1 or cooperative or not population:
        return Seating.EVERYBODY
    return Seating.POPULATION


def known_networks(iteration: int, staleness: int) -> int:
    """Number of first iterations whose networks (and gate results) the plan of this iteration may use: all before it
    but the last ``staleness``, which may still train; but iteration 1 waits for the first network."""
    return max(iteration - staleness, min(iteration, 1))


def plan_shards(
    config: SelfplayConfig,
    iteration: int,
    run_seed: int,
    cooperative: bool,
    checkpoint_of: Callable[[int], str],
    accepted: Sequence[int] | None = None,
) -> list[ShardPlan]:
    """Every shard of an iteration; the last one may be smaller, and with ``games_per_shard=0`` all deals are in one
    (``selfplay.shard_sizes`` says how many). Iteration 0 has none with ``selfplay.first_network``, and those of
    ``selfplay.initial.shards`` where they are given.

    Args:
        checkpoint_of: iteration -> its checkpoint.
        accepted: the earlier iterations whose networks play, oldest first; None for all.
    """
    total, size = config.games_per_iteration, config.games_per_shard
    if iteration == 0:
        total, size = config.first_games, config.initial_games_per_shard or size
    seating = seating_of(iteration, cooperative, config.population)
    pool = list(range(iteration) if accepted is None else accepted)
    newest = {Seating.INITIAL: 0, Seating.EVERYBODY: 1}.get(seating, config.pool_size or len(pool))
    networks = tuple(Network(f"{i:03d}", checkpoint_of(i)) for i in pool[max(0, len(pool) - newest) :])
    pattern = ShardPlan(iteration, 0, 0, seating, config.initial, networks, run_seed)
    if iteration == 0 and config.initial.shards and not config.first_network:
        found = enumerate(existing(config.initial.shards))
        return [replace(pattern, shard=i, num_games=deals, source=path) for i, (path, deals) in found]
    return split(total, size, pattern)


def split(num_games: int, games_per_shard: int, pattern: ShardPlan) -> list[ShardPlan]:
    """``num_games`` as shards like ``pattern``, numbered from 0 on."""
    games_per_shard = games_per_shard or max(num_games, 1)
    firsts = range(0, num_games, games_per_shard)
    sizes = (min(games_per_shard, num_games - first) for first in firsts)
    return [replace(pattern, shard=shard, num_games=size) for shard, size in enumerate(sizes)]


def replayed(config: SelfplayConfig, iteration: int, plans_of: Callable[[int], Sequence[ShardPlan]]) -> list[ShardPlan]:
    """The shards that train the network of ``iteration``, oldest first: its own, preceded by the last shards of earlier
    ones, from ``replay_from`` on, until ``replay_games`` deals are reached. ``plans_of``: iteration -> its shards."""
    newest_first = list(reversed(plans_of(iteration)))
    num_games = sum(plan.num_games for plan in newest_first)
    for earlier in range(iteration - 1, config.replay_from - 1, -1):
        if num_games >= config.replay_games:
            break
        for plan in reversed(plans_of(earlier)):
            if num_games >= config.replay_games:
                return newest_first[::-1]
            newest_first.append(plan)
            num_games += plan.num_games
    return newest_first[::-1]


def check_shard(plan: ShardPlan, path: str) -> None:
    """``UserError`` naming a file that is damaged or holds another shard."""
    anew = "remove the file, and the same command makes it anew"
    try:
        found = shard_info(path).provenance
    except ShardError as error:
        raise UserError(f"{error}; {'selfplay.initial.shards names it' if plan.source else anew}") from error
    if plan.source:
        return
    for key, wanted in (("run_seed", plan.run_seed), ("iteration", plan.iteration), ("shard", plan.shard)):
        if found.get(key) != str(wanted):
            raise UserError(f"{path}: its {key} is {found.get(key)}, and {wanted} belongs there; {anew}")


def check_shards(plans: Iterable[tuple[ShardPlan, str]]) -> None:
    """``check_shard`` of each, with its path."""
    for _ in storage.of_each(lambda planned: check_shard(*planned), plans):
        pass


def seats(plan: ShardPlan, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Seat the players of ``G`` games with ``P`` seats, drawn by ``bits`` (``uint64[G, P]``).

    Players are numbered: those of ``initial.players`` in their order; else 0 has the newest network, and 1, 2, ... are
    the imitations of ``networks``.

    Returns:
        ``int64[G, P]`` the player of each seat, and ``bool[G, P]`` whether its sequence is kept.
    """
    if plan.seating is Seating.INITIAL:
        names = plan.initial.players
        weights = np.array(plan.initial.weights or np.ones(len(names)))
        seating = draw(bits, weights / weights.sum())
        return seating, np.isin(seating, [names.index(name) for name in plan.initial.keep or names])
    if plan.seating is Seating.EVERYBODY:
        return np.zeros(bits.shape, np.int64), np.ones(bits.shape, bool)
    newest_seat = (bits[:, 0] % np.uint64(bits.shape[1])).astype(np.int64)
    imitations = 1 + draw(bits, np.full(len(plan.networks), 1 / len(plan.networks)))
    keep = np.arange(bits.shape[1]) == newest_seat[:, None]
    return np.where(keep, 0, imitations), keep


def draw(bits: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``int64``, shaped as ``bits``: index drawn from ``weights`` (summing to 1) by each 64 random bits."""
    uniform = (bits >> np.uint64(11)).astype(np.float64) / 2**53
    return np.minimum(np.searchsorted(np.cumsum(weights), uniform, side="right"), len(weights) - 1)
