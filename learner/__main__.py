"""Training alone: ``python -m learner data=DIR_OF_SHARDS out=DIR [game=hearts] [model=demo] [init_from=DIR]``."""

from pathlib import Path

from cluster import cli
from cluster.errors import UserError
from cluster.progress import Progress
from games.registry import make_game
from games.shards import find_shards
from learner.config import LearnConfig
from learner.training.train import train

SHOWN = ("step", "observation_loss", "outcome_loss", "tokens_per_second", "matmul_share")
"""Metrics that the progress line shows."""


def main(config: LearnConfig) -> None:
    """Train with a progress bar and print the final metrics. ``UserError`` for input that does not fit."""
    finished = Path(config.out).exists()
    try:
        game = make_game(config.game.name, config.game.options)
        shards = find_shards(config.data)
        with Progress("training", 1, "") as progress:
            metrics = train(
                game,
                config.model,
                config.learner,
                shards,
                config.out,
                init_from=config.init_from,
                seed=config.seed,
                on_progress=lambda now: progress.update(
                    now["step"] / now["num_steps"], {key: now[key] for key in SHOWN}
                ),
            )
    except ValueError as error:
        raise UserError(str(error)) from error
    print(f"{config.out}: {'already finished' if finished else 'finished'}")
    for key, value in metrics.items():
        print(f"  {key:28} {value:.6g}")


if __name__ == "__main__":
    cli.run("learn", LearnConfig, main, output_key="out")
