"""Export a checkpoint: ``python -m learner.export CHECKPOINT OUT`` writes only its weights, in bfloat16."""

import argparse
import sys

import torch

from cluster.reader import end_with_reader
from games.registry import recorded_game
from learner import kinds
from learner.model.checkpoint import find, read_config, save_weights


def main(arguments: list[str] | None = None) -> int:
    """Entry point; 0 when written, 2 after one line on what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m learner.export", description=__doc__)
    parser.add_argument("checkpoint", help="directory, URI, or kibitz:NAME")
    parser.add_argument("out", help="directory to make")
    parser.add_argument("--game", default="", help="a game of your own that it plays, as module:attribute")
    given = parser.parse_args(arguments)
    try:
        kind = kinds.of_checkpoint(given.checkpoint)
        config = read_config(find(given.checkpoint), given.checkpoint, kind.model_type)
        game = recorded_game(given.checkpoint, config.get("game"), config.get("game_options"), given.game)
        save_weights(given.out, kind.load(given.checkpoint, game), game, torch.bfloat16)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"network: {given.out}")
    return 0


if __name__ == "__main__":
    end_with_reader()
    sys.exit(main())
