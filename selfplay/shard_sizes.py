"""Deals of a shard: as configured, or for as many generators as there are when an iteration begins.

An iteration's size is recorded in its directory, so that a command with more or fewer generators plays the shards that
are missing, and cuts the next iteration for its own. Deals follow from the number of a shard, so with
``games_per_shard=0`` another number of generators plays other deals.
"""

from dataclasses import replace

from cluster.errors import UserError
from cluster.files import storage
from selfplay.config import SelfplayConfig
from selfplay.run_directory import RunDirectory

_MOST, _EACH = 10_000, 4
"""Most deals of a shard, which a dying actor loses; and shards for each generator, so that the last ones, which others
wait for, are small."""
_RESTORE = "restore it, or remove the iteration's directory to have it played and trained again"


def shard_size(games: int, generators: int, table: int) -> int:
    """Deals of a shard for so many generators: equal shares, as many a generator as fill tables of ``table`` deals."""
    each = -(-games // generators)
    return min(_MOST, -(-each // min(_EACH, max(1, each // table))))


def idle_generators(games: int, games_per_shard: int, generators: int) -> int:
    """Generators that ``games`` in shards of a fixed size leave without work; 0 where sizes are not fixed."""
    return max(0, generators - -(-games // games_per_shard)) if games_per_shard else 0


def sized(selfplay: SelfplayConfig, run: RunDirectory, iteration: int, generators: int = 0) -> SelfplayConfig:
    """The settings with the size of an iteration's shards in place of ``games_per_shard=0``: as recorded, else for so
    many generators, and recorded. Nothing is recorded without generators, or where nothing is played. ``UserError``
    where the record is damaged, or missing beside shards."""
    if selfplay.games_per_shard:
        return selfplay
    path = run.shard_size(iteration)
    if storage.exists(path):
        return replace(selfplay, games_per_shard=read_shard_size(path))
    if storage.list_names(f"{run.iteration(iteration)}/shards"):
        raise UserError(f"{path}: is missing, and says how many deals the shards beside it have; {_RESTORE}")
    games = selfplay.games_per_iteration if iteration else selfplay.first_games
    if not generators or not games:
        return replace(selfplay, games_per_shard=_MOST)
    size = shard_size(games, generators, selfplay.games_per_table)
    storage.write_json_atomic(path, {"games_per_shard": size})
    return replace(selfplay, games_per_shard=size)


def read_shard_size(path: str) -> int:
    """Deals of an iteration's shards, as recorded; ``UserError`` for other content."""
    try:
        found = storage.read_json(path)["games_per_shard"]
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path}: is damaged ({type(error).__name__}); {_RESTORE}") from error
    if type(found) is not int or found < 1:
        raise UserError(f"{path}: is damaged (games_per_shard={found!r}); {_RESTORE}")
    return found
