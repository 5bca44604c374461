"""What a Q-network thinks of every first action: ``python -m search.openings game=hearts_no_pass checkpoint=DIR``."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console

from cluster import cli
from cluster.errors import UserError, blaming_input
from cluster.files import storage
from games.registry import make_game
from search.openings.config import OpeningsConfig
from search.openings.measure import by_action, first_values
from search.openings.pictures import charts
from search.openings.report import OpeningsResult, from_record, render
from search.players.engines import Engines
from search.tournament.stored import check_out


def main(config: OpeningsConfig) -> None:
    """Ask, print the table, write it and its picture."""
    out = config.out.rstrip("/")
    with blaming_input():
        game = make_game(config.game.name, config.game.options)
        check_out(out and f"{out}/openings.json")
        engines = Engines(game, config.engine)
        model = engines.state_model(config.checkpoint)
        checkpoint = {"path": config.checkpoint, "id": engines.checkpoint_id(config.checkpoint)}
        asked = {"game": game.name, "game_options": dict(game.options), "deals": config.deals, "seed": config.seed}
        asked |= {"checkpoint": checkpoint["id"], "engine.precision": config.engine.precision}
        there = _stored(out and f"{out}/openings.json", asked)
    if there is not None:
        Console().print(render(there))
        storage.write_bytes_atomic(f"{out}/openings.png", charts(there))  # it may be missing
        print(f"{out}/openings.json: asked before")
        return
    points, legal = first_values(game, model, config.deals, config.seed)
    result = OpeningsResult(
        game=game.name,
        game_options=dict(game.options),
        deals=config.deals,
        seed=config.seed,
        actions=tuple(by_action(game.vocabulary.names, points, legal)),
        settings={"checkpoint": checkpoint, "engine": asdict(config.engine)},
    )
    Console().print(render(result))
    if out:
        storage.write_json_atomic(f"{out}/openings.json", result.record())
        storage.write_bytes_atomic(f"{out}/openings.png", charts(result))
        print(f"result: {out}/openings.json, openings.png")


def _stored(path: str, asked: Mapping[str, Any]) -> OpeningsResult | None:
    """What the file holds, None where there is none. ``UserError`` where it was asked with other settings."""
    if not path or not storage.exists(path):
        return None
    try:
        record = storage.read_json(path)
        settings = record["settings"]
        there = {**record, "checkpoint": settings["checkpoint"]["id"]}
        there["engine.precision"] = settings["engine"]["precision"]
        different = {key: there[key] for key, value in asked.items() if there[key] != value}
        found = from_record(record)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: holds no openings ({error}); remove it, or give another out") from error
    for key, before in different.items():
        raise UserError(
            f"{path}: holds openings with {key}={before}, and {key}={asked[key]} is asked for; remove it, or "
            "give another out"
        )
    return found


if __name__ == "__main__":
    cli.run("openings", OpeningsConfig, main, output_key="out")
