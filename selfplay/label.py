"""Label shards that exist: ``python -m selfplay.label data=SHARDS player=PLAYER out=DIR``.

Each shard is written to ``out`` under its name, with labels by the player in place of those it had
(``selfplay.labels``). The same command again labels the shards that are missing.
"""

from collections.abc import Mapping
from dataclasses import replace

from cluster import cli
from cluster.errors import UserError, blaming_input
from cluster.files import storage
from cluster.watching.progress import Progress
from games.game import Game
from games.registry import make_game
from games.rng import derive
from games.shards import find_shards, read_shard, shard_info, write_shard
from search.roster.engines import Engines
from search.roster.registry import Entrant, check_networks, seat_players
from selfplay.config import LabelConfig
from selfplay.labels import label, labeller


def main(config: LabelConfig) -> None:
    """Label the shards that are missing in ``out``."""
    with blaming_input():
        game = make_game(config.game.name, config.game.options)
        entrant = labeller(config.player, "player", game, config.search)
        check_networks([entrant], game)
        shards = {path: f"{config.out}/{_name(path)}" for path in find_shards(config.data)}
    if storage.resolve(config.out) == storage.resolve(config.data):
        raise UserError(f"out={config.out}: holds the shards to label; name another directory")
    storage.check_writable(config.out)
    missing = {path: out for path, out in shards.items() if not _labelled(out, path, config)}
    if missing:
        _label(missing, entrant, game, config)
    print(f"{config.out}: {len(shards)} shards labelled by {config.player}, {len(missing)} of them now")


def _label(missing: Mapping[str, str], entrant: Entrant, game: Game, config: LabelConfig) -> None:
    """Write the shards ``missing`` (path -> path in ``out``)."""
    engines, done = Engines(game, config.engine), 0
    with Progress("labelling", len(missing), "shards") as progress, blaming_input():
        for path, out in missing.items():
            sequences, seed = read_shard(path, game), derive(config.seed, "labels", _name(path))
            (player,) = seat_players([entrant], [config.player], game, engines)
            labels = label(game, sequences, player, config.share, seed)
            write_shard(out, replace(sequences, labels=labels), game, _provenance(path, config))
            done += 1
            progress.update(done, {})


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _labelled(out: str, path: str, config: LabelConfig) -> bool:
    """Whether ``out`` is what this command makes of the shard at ``path``; ``UserError`` where it is another."""
    if not storage.exists(out):
        return False
    with blaming_input():
        theirs, ours = shard_info(out).provenance, _provenance(path, config)
    for key in sorted(theirs.keys() | ours.keys()):
        if theirs.get(key) != ours.get(key):
            raise UserError(
                f"{out}: its {key} is {theirs.get(key)!r}, and this command's {ours.get(key)!r}; take another out"
            )
    return True


def _provenance(path: str, config: LabelConfig) -> Mapping[str, str]:
    """That of the shard, and how it is labelled."""
    ours = {"labels": config.player, "label_share": str(config.share), "label_seed": str(config.seed)}
    return {**shard_info(path).provenance, **ours}


if __name__ == "__main__":
    cli.run("label", LabelConfig, main, output_key="out")
