"""How often GO-MCTS imagines what cannot be: ``python -m benchmarks.illegal CHECKPOINT``.

Not a timing: the share of simulations that end as illegal on 32 decisions of random hands of Hearts, with the paper's
search parameters. Plain, where only a history that reaches its end is judged, and with ``prune_impossible``, where a
simulation ends at its first impossible token. One is what Algorithm 3 does, the other how many impossible tokens the
network gives.
"""

import argparse
import json

from benchmarks.plain import hearts_turns
from games.hearts.game import HeartsGame
from learner.config import EngineConfig
from search.config import SearchConfig
from search.go_mcts.player import GoMcts
from search.roster.registry import make_players


def main() -> None:
    """Search and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="directory of the network")
    checkpoint = parser.parse_args().checkpoint
    game, turns, lines = HeartsGame(), hearts_turns(32, seed=3), []
    for spec in ("go_mcts", "go_mcts:prune_impossible=true"):
        (player,) = make_players([spec], game, SearchConfig(), checkpoint, EngineConfig(device="cpu"))
        assert isinstance(player, GoMcts)
        player.start(game, len(turns.game))
        done = player.search(turns).statistics
        print(f"{spec}: {done.illegal:,} of {done.simulations:,} simulations end as illegal")
        lines.append({"benchmark": "illegal", "case": spec, "illegal": done.illegal, "simulations": done.simulations})
    print(json.dumps(lines))


if __name__ == "__main__":
    main()
