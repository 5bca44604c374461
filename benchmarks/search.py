"""GO-MCTS decisions a second: ``python -m benchmarks.search [--full]``.

Paper-size model, Hearts, the paper's search parameters (section 9.3). Ours against ``search.go_mcts.plain`` on
transformers' GPT2Model, one query at a time with the whole history each time, float32, in the same process.
The plain version does a quarter of the simulations (all of them with ``--full``), and its time is scaled up; the first
ones of a tree are its cheapest, so that flatters it. As fresh weights know no cards, both sample only tokens that are
possible (``mask_impossible``): simulations then are as long as a trained network's.

* ``one_game_exact``: exact, float32. One search at a time: Algorithm 3 itself, with speculative simulations
  (``speculative``, its default), which leave the tree as it is.
* ``games_32``: not exact, bfloat16. 32 searches side by side: Algorithm 3 in rounded arithmetic, which decides
  otherwise now and then (``benchmarks.fidelity``); per decision.
"""

import argparse
import time
from dataclasses import replace

import numpy as np

from benchmarks.plain import PAPER, PlainModel, hearts_turns, history_of, network
from benchmarks.report import Case, report
from games.hearts.game import HeartsGame
from learner.config import EngineConfig
from learner.inference.engine import QueryEngine
from learner.model.network import PolicyValueNet
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.plain import PlainGoMcts
from search.go_mcts.player import GoMcts
from search.players.player import Turns

GAME = HeartsGame()
CONFIG = GoMctsConfig(mask_impossible=True)


class Ours:
    """One way to search the turns, and the time it took."""

    def __init__(self, net: PolicyValueNet, turns: Turns, precision: str, warm_up: np.ndarray) -> None:
        engine = QueryEngine(net, GAME.outcomes.utility(""), EngineConfig(precision=precision))
        self._turns, self._player = turns, GoMcts(engine, CONFIG)
        self.decisions, self.seconds = 0, 0.0
        self.search(warm_up)
        self.decisions, self.seconds = 0, 0.0

    def search(self, rows: np.ndarray) -> None:
        """Search some turns side by side, as if their games had just come up."""
        self._player.start(GAME, len(self._turns.game))
        began = time.perf_counter()
        self._player.search(self._turns.take(rows))
        self.seconds += time.perf_counter() - began
        self.decisions += len(rows)


class Theirs:
    """The plain version, which does ``share`` of the simulations of each search."""

    def __init__(self, net: PolicyValueNet, turns: Turns, share: float) -> None:
        self._model, self._turns, self._share = PlainModel(net, GAME.outcomes.utility("")), turns, share
        self.decisions, self.seconds = 0.0, 0.0
        self._model(history_of(turns, 0))

    def search(self, row: int) -> None:
        """Search one turn."""
        config = replace(CONFIG, num_runs=round(CONFIG.num_runs * self._share))
        search = PlainGoMcts(GAME, self._model, config, int(self._turns.seeds[row]))
        began = time.perf_counter()
        search.search(history_of(self._turns, row))
        self.seconds += time.perf_counter() - began
        self.decisions += self._share


def main() -> None:
    """Measure, one after the other on each of some turns, so that all meet the same machine, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all plain simulations too, on twice the turns")
    full = parser.parse_args().full
    net, turns = network(GAME, PAPER), hearts_turns(32, seed=1)
    plain = Theirs(net, turns, share=1.0 if full else 0.25)
    one, all_turns = np.array([12]), np.arange(32)
    exact, games = Ours(net, turns, "fp32", one), Ours(net, turns, "bf16", all_turns)
    for number, row in enumerate(range(4, 32, 4 if full else 8)):
        plain.search(row)
        exact.search(np.array([row]))
        if number % 2 == 0:
            games.search(all_turns)
    report(
        [
            Case("search", name, ours.decisions / ours.seconds, plain.decisions / plain.seconds, "decisions/s")
            for name, ours in (("one_game_exact", exact), ("games_32", games))
        ]
    )


if __name__ == "__main__":
    main()
