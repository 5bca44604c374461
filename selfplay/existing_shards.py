"""Shards that exist already as the games of iteration 0 (``selfplay.initial.shards``), such as converted records."""

from functools import cache

from cluster.errors import UserError
from games.game import Game
from games.shards import ShardError, count_deals, find_shards, shard_info
from learner.network_kind import NetworkKind
from selfplay.config import TrainConfig
from selfplay.run_directory import RunDirectory


def existing(directory: str, game: Game | None = None) -> list[tuple[str, int]]:
    """The shards in a directory by name, each with its number of deals. ``UserError`` where there are none, or one is
    no shard, or not of ``game``."""
    try:
        paths = find_shards(directory)
        for path in paths if game else ():
            shard_info(path, game)
        return [(path, _count_deals(path)) for path in paths]
    except ShardError as error:
        raise UserError(f"selfplay.initial.shards={directory}: {error}") from error


@cache
def _count_deals(path: str) -> int:
    return count_deals(path)


def check(config: TrainConfig, game: Game, kind: NetworkKind) -> list[str]:
    """A note for the user where a run has such shards. ``UserError`` for one that is not of its game; once iteration 0
    is trained they are not looked at."""
    directory = config.selfplay.initial.shards
    if not directory or config.selfplay.first_network:
        return []
    if not RunDirectory(config.run.dir).trained(0):
        existing(directory, game)
    unread = "the rest of selfplay.initial, initial_games, labels and branches of iteration 0"
    return [f"iteration 0 learns from the shards in {directory}: what says how its games are played has no effect "
            f"({unread})"]  # fmt: skip
