"""Export a checkpoint: ``python -m learner.export CHECKPOINT... OUT`` writes only its weights, in bfloat16.

For several checkpoints of one training it writes the mean of their weights, which is often better than each (Izmailov
et al., 2018, arXiv 1803.05407). With ``--onnx`` it writes an ONNX graph, for programs that run no torch.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from cluster.errors import say
from cluster.reader import check_lasts, end_with_reader
from games.game import Game
from games.registry import recorded_game
from learner import kinds
from learner.model.checkpoint import Network, find, read_config, read_players, save_weights
from learner.model.network import PolicyValueNet
from learner.network_kind import NetworkKind


def main(arguments: list[str] | None = None) -> int:
    """Entry point; 0 when written, 2 after one line on what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m learner.export", description=__doc__)
    parser.add_argument("checkpoints", nargs="+", metavar="checkpoint", help="directory, URI, run, or kibitz:NAME")
    parser.add_argument("out", help="directory to make")
    parser.add_argument("--onnx", action="store_true", help="write OUT as an ONNX graph, and OUT.json about it")
    parser.add_argument("--game", default="", help="a game of your own that they play, as module:attribute")
    given = parser.parse_args(arguments)
    try:
        check_lasts(given.out)
        first = given.checkpoints[0]
        kind = kinds.of_checkpoint(first)
        config = read_config(find(first), first, kind.model_type)
        game = recorded_game(first, config.get("game"), config.get("game_options"), given.game)
        net = mean(kind, game, given.checkpoints)
        if given.onnx:
            _write_graph(net, game, given.out)
        else:
            save_weights(given.out, net, game, torch.bfloat16, read_players(first))
    except ValueError as error:
        return say(error)
    print(f"network: {given.out}")
    return 0


def _write_graph(net: Network, game: Game, out: str) -> None:
    """``ValueError`` for a network that does not read histories, or a place that cannot be written to."""
    from learner.model.onnx import export_onnx

    if not isinstance(net, PolicyValueNet):
        raise ValueError("--onnx: networks that read histories are exported, not those of states or single decisions")
    path = Path(out)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ValueError(f"{out}: name a file in a directory that exists, such as net.onnx")
    if path.exists():
        raise ValueError(f"{out}: is there already; name a new file")
    export_onnx(net, game, path)


def mean(kind: NetworkKind, game: Game, checkpoints: Sequence[str]) -> Network:
    """A network with the mean of the weights of checkpoints. ``ValueError`` where their shapes differ or
    one is given twice."""
    if twice := {name for name in checkpoints if checkpoints.count(name) > 1}:
        raise ValueError(f"{', '.join(sorted(twice))}: given twice; each counts once in a mean")
    net = kind.load(checkpoints[0], game)
    weights = dict(net.state_dict())
    for checkpoint in checkpoints[1:]:
        other = kind.load(checkpoint, game)
        if other.arch != net.arch:
            raise ValueError(f"{checkpoint}: is of another shape than {checkpoints[0]}; their mean would mean nothing")
        for name, part in other.state_dict().items():
            weights[name].add_(part)  # in the network itself
    for part in weights.values():
        part.div_(len(checkpoints))
    return net


if __name__ == "__main__":
    end_with_reader()
    sys.exit(main())
