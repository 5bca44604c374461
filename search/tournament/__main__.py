"""Play a tournament: ``python -m search.tournament game=hearts players=[argmax_val,random] checkpoint=DIR``."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from cluster import cli
from cluster.errors import blaming_input
from cluster.progress import Progress
from cluster.storage import write_json_atomic
from games.registry import make_game
from search.players.registry import checkpoint_record, make_players
from search.tournament.config import TournamentConfig
from search.tournament.matches import seatings
from search.tournament.report import render
from search.tournament.tournament import run_tournament


def main(config: TournamentConfig) -> None:
    """Play, print the table, write the JSON."""
    with blaming_input():
        game = make_game(config.game.name, config.game.options)
        seatings(len(config.players), game.num_players)
        players = make_players(config.players, game, config.search, config.checkpoint, config.engine)
        settings = _settings(config)
        if config.engine.device == "cuda":  # asked for, so it must be there even if nobody has a network
            from learner.model.network import device_of

            device_of("cuda")
    with Progress(" against ".join(config.players), config.deals, "deals") as progress:
        deals = decisions = 0

        def show(ended: int, decided: int) -> None:
            nonlocal deals, decisions
            deals, decisions = deals + ended, decisions + decided
            progress.update(deals, {"decisions": decisions})

        result = run_tournament(
            game,
            players,
            config.deals,
            config.seed,
            config.table_size,
            settings=settings,
            on_progress=show,
        )
    Console().print(render(result))
    if config.out:
        write_json_atomic(config.out, result.record())
        print(f"result: {config.out}")


def _settings(config: TournamentConfig) -> dict[str, Any]:
    """What belongs on record besides the figures; ``ValueError`` where ``out`` cannot be written."""
    if config.out and Path(config.out).is_dir():
        raise ValueError(f"out={config.out}: is a directory; name the JSON file to write")
    return {
        "checkpoints": checkpoint_record(config.players, config.checkpoint),
        "search": asdict(config.search),
        "engine": asdict(config.engine),
        "table_size": config.table_size,
    }


if __name__ == "__main__":
    cli.run("tournament", TournamentConfig, main, output_key="out")
