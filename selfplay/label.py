"""Label shards that exist: ``python -m selfplay.label data=SHARDS player=PLAYER out=DIR``.

Each shard is written to ``out`` under its name, with labels by the player in place of those it had
(``selfplay.labels``). The same command again labels the shards that are missing.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace

from cluster import cli
from cluster.errors import UserError, blaming_code, blaming_input
from cluster.files import storage, uris
from cluster.watching.progress import Progress
from games.game import Game
from games.registry import make_game
from games.rng import derive
from games.shards import find_shards, read_shard, shard_info, write_shard
from search.roster.engines import Engines, check_cache
from search.roster.registry import Entrant, check_decisions, check_networks, seat_players, settled
from selfplay.config import LabelConfig
from selfplay.labels import label, labeller, labels_by

_AT_ONCE = 2048
"""Sequences labelled side by side, of which a network keeps keys and values."""


def main(config: LabelConfig) -> None:
    """Label the shards that are missing in ``out``."""
    with blaming_input():
        config = settled(config)
        game = make_game(config.game.name, config.game.options)
        entrant = labeller(config.player, "player", game, config.search)
        for kind, arch in check_networks([entrant], game):
            check_cache(kind, arch, config.engine, _AT_ONCE, f"player={config.player}, {_AT_ONCE} sequences at once")
        check_decisions([entrant], game)
        engines = Engines(game, config.engine)
        shards = {path: f"{config.out}/{_name(path)}" for path in find_shards(config.data)}
    if uris.resolve(config.out) == uris.resolve(config.data):
        raise UserError(f"out={config.out}: holds the shards to label; name another directory")
    storage.check_writable(config.out)
    settings = {
        "labels": labels_by(entrant, engines),
        "label_share": str(config.share),
        "label_seed": str(config.seed),
        "label_settings": json.dumps(asdict(entrant.settings) if entrant.settings else {}, sort_keys=True),
    }
    missing = {path: out for path, out in shards.items() if not _is_there(out, path, settings)}
    if missing:
        _write(missing, entrant, game, engines, config, settings)
    print(f"{config.out}: {len(shards)} shards labelled by {config.player}, {len(missing)} of them now")


def _write(
    missing: Mapping[str, str],
    entrant: Entrant,
    game: Game,
    engines: Engines,
    config: LabelConfig,
    settings: Mapping[str, str],
) -> None:
    """Write the shards ``missing`` (path -> path in ``out``)."""
    with Progress("labelling", len(missing), "shards") as progress, blaming_input():
        (player,) = seat_players([entrant], [config.player], game, engines)
        for done, (path, out) in enumerate(missing.items(), 1):
            sequences, seed = read_shard(path, game), derive(config.seed, "labels", _name(path))
            with blaming_code(f"{config.player} fails at {path}"):
                labels = label(game, sequences, player, config.share, seed, _AT_ONCE)
            provenance = {**shard_info(path).provenance, **settings}
            write_shard(out, replace(sequences, labels=labels), game, provenance)
            progress.update(done, {})


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _is_there(out: str, path: str, settings: Mapping[str, str]) -> bool:
    """Whether ``out`` is what this command makes of the shard at ``path``; ``UserError`` where it is another."""
    if not storage.exists(out):
        return False
    with blaming_input():
        theirs, ours = shard_info(out).provenance, {**shard_info(path).provenance, **settings}
    for key in sorted(theirs.keys() | ours.keys()):
        if theirs.get(key) != ours.get(key):
            raise UserError(
                f"{out}: its {key} is {theirs.get(key)!r}, and this command's {ours.get(key)!r}; take another out"
            )
    return True


if __name__ == "__main__":
    cli.run("label", LabelConfig, main, output_key="out")
