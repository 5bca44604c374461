"""Play a tournament: ``python -m search.tournament game=hearts players=[argmax_val,random] checkpoint=DIR``."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from cluster import cli
from cluster.errors import blaming_input
from games.registry import make_game
from search.registry import checkpoint_record, make_players
from search.tournament.config import TournamentConfig
from search.tournament.matches import seatings
from search.tournament.report import render
from search.tournament.result import write_json
from search.tournament.tournament import run_tournament


def main(config: TournamentConfig) -> None:
    """Play, print the table, write the JSON."""
    with blaming_input():
        game = make_game(config.game.name, config.game.options)
        seatings(len(config.players), game.num_players)
        players = make_players(config.players, game, config.search, config.checkpoint, config.engine)
        settings = _settings(config)
    with _progress() as progress:
        task = progress.add_task(" against ".join(config.players), total=config.deals)
        result = run_tournament(
            game,
            players,
            config.deals,
            config.seed,
            config.table_size,
            settings=settings,
            on_progress=lambda deals: progress.advance(task, deals),
        )
    Console().print(render(result))
    if config.out:
        write_json(result, config.out)
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


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("deals"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        transient=True,
        console=Console(stderr=True),
    )


if __name__ == "__main__":
    cli.run("tournament", TournamentConfig, main, output_key="out")
