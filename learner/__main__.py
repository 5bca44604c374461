"""Training alone: ``python -m learner data=DIR_OF_SHARDS out=DIR [game=hearts] [model=demo] [init_from=DIR]``.

``model=fc`` trains a Q-network (docs/learner.md) in place of the transformer.
"""

import sys

from cluster import cli
from cluster.errors import UserError
from cluster.files import storage
from cluster.watching.progress import Progress
from games.registry import make_game
from games.shards import find_shards
from learner import kinds
from learner.config import LearnConfig


def main(config: LearnConfig) -> None:
    """Train with a progress bar and print the final metrics. ``UserError`` for input that does not fit."""
    from learner.model.network import device_of  # torch: not before the command line is checked and threads are set
    from learner.task import SHOWN, TrainingTask, check_size, cut_short, run_task

    storage.check_writable(config.out)
    finished = storage.is_published(config.out)
    try:
        device_of(config.learner.device, "learner.device")
        shards = tuple(find_shards(config.data))
        game = make_game(config.game.name, config.game.options)
        check_size(game, config.model)
        kind = kinds.find(config.model.kind)
        print(kind.note(), *kind.without_effect(config.learner), sep="\n", file=sys.stderr)
        with Progress("training", 1, "") as progress:
            metrics = run_task(
                TrainingTask(
                    game=config.game,
                    model=config.model,
                    learner=config.learner,
                    shards=shards,
                    out=config.out,
                    init_from=config.init_from,
                    seed=config.seed,
                ),
                lambda now: progress.update(
                    now["step"] / now["num_steps"], {key: now[key] for key in ("step", *SHOWN) if key in now}
                ),
            )
    except ValueError as error:
        raise UserError(str(error)) from error
    print(f"{config.out}: {'already finished' if finished else 'finished'}")
    for key, value in metrics.items():
        print(f"  {key:28} {value:.6g}")
    if few := cut_short(metrics):
        print(few, file=sys.stderr)


if __name__ == "__main__":
    cli.run("learn", LearnConfig, main, output_key="out")
