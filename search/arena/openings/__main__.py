"""A Q-network's values of every first action: ``kibitz openings game=hearts_no_pass checkpoint=DIR``."""

from dataclasses import asdict, replace

from cluster import cli
from cluster.errors import blaming_input
from cluster.files import storage
from games.registry import make_game
from search.arena.openings.config import OpeningsConfig
from search.arena.openings.measure import by_action, first_values
from search.arena.openings.report import OpeningsResult, charts, render
from search.arena.recorded import check_out
from search.arena.tournament.report import wide_console
from search.roster.engines import Engines
from search.roster.registry import settled


def main(config: OpeningsConfig) -> None:
    """Measure, print the table, write it and its picture."""
    out = config.out.rstrip("/")
    path = out and f"{out}/openings.json"
    with blaming_input():
        config = settled(config)
        game = make_game(config.game.name, config.game.options)
        check_out(path)
        engines = Engines(game, config.engine)
        model = engines.reading("states", config.checkpoint)
        checkpoint = {"path": config.checkpoint, "id": engines.checkpoint_id(config.checkpoint)}
    empty = OpeningsResult(
        game=game.name,
        game_options=dict(game.options),
        deals=config.deals,
        seed=config.seed,
        actions=(),
        settings={"checkpoint": checkpoint, "engine": asdict(config.engine)},
    )
    result = OpeningsResult.stored(path, empty.depends_on)
    if result is None:
        points, legal = first_values(game, model, config.deals, config.seed)
        result = replace(empty, actions=tuple(by_action(game.vocabulary.names, points, legal)))
        if out:
            result.write(path)
    else:
        print(f"{path}: asked before")
    wide_console().print(render(result))
    if out:
        storage.write_bytes_atomic(f"{out}/openings.png", charts(result))  # it may be missing beside an old result
        print(f"result: {path}, openings.png")


if __name__ == "__main__":
    cli.run("openings", OpeningsConfig, main, output_key="out")
