"""GO-MCTS decisions a second: ``python -m benchmarks.search [--full]``.

Paper-size model, Hearts, the paper's search parameters (section 9.3). Ours against the reference implementation of the
tests on transformers' GPT2Model, one query at a time with the whole history each time, float32, in the same process.
The plain version does a tenth of the runs (all of them with ``--full``), and its time is scaled up; the first runs of a
tree are its cheapest, so that flatters it. As fresh weights know no cards, both sample only tokens that are possible
(``mask_impossible``): runs then are as long as a trained network's.

* ``one_game_exact``: one search at a time, ``lanes=1``: Algorithm 3 itself; float32.
* ``one_game``: one search at a time, ``lanes=16``; bfloat16.
* ``games_32``: 32 searches side by side, ``lanes=1``, per decision; bfloat16.
"""

import argparse
import time
from dataclasses import replace

import numpy as np

from benchmarks.plain import PAPER, PlainModel, hearts_turns, history_of, network
from benchmarks.report import Case, report
from games.hearts.game import HeartsGame
from learner.trunk import PolicyValueNet
from search.config import EngineConfig, GoMctsConfig
from search.go_mcts import GoMcts
from search.player import Turns
from search.registry import make_model
from tests.search.reference_go_mcts import ReferenceGoMcts

GAME = HeartsGame()
CONFIG = GoMctsConfig(mask_impossible=True)


def ours(net: PolicyValueNet, turns: Turns, batches: list[np.ndarray], lanes: int, precision: str) -> float:
    """Decisions a second over ``batches`` of turns, each searched side by side."""
    engine = make_model(net, GAME.outcomes.utility(""), EngineConfig(precision=precision))
    player = GoMcts(engine, replace(CONFIG, lanes=lanes))
    player.start(GAME, len(turns.game))
    player.search(turns, batches[0])
    player.start(GAME, len(turns.game))
    began = time.perf_counter()
    for rows in batches:
        player.search(turns, rows)
    return sum(map(len, batches)) / (time.perf_counter() - began)


def theirs(net: PolicyValueNet, turns: Turns, rows: np.ndarray, share: float) -> float:
    """Decisions a second, from ``share`` of the runs of each."""
    model = PlainModel(net, GAME.outcomes.utility(""))
    config = replace(CONFIG, num_runs=round(CONFIG.num_runs * share))
    model(history_of(turns, 0))
    began = time.perf_counter()
    for row in rows:
        ReferenceGoMcts(GAME, model, config, int(turns.seeds[row])).search(history_of(turns, row))
    return len(rows) * share / (time.perf_counter() - began)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all runs of the plain version too: some minutes")
    full = parser.parse_args().full
    net, turns = network(GAME, PAPER), hearts_turns(32, seed=1)
    some = np.arange(4, 32, 8)
    plain = theirs(net, turns, some, share=1.0 if full else 0.1)
    alone = [np.array([row]) for row in some]
    cases = {
        "one_game_exact": ours(net, turns, alone, 1, "fp32"),
        "one_game": ours(net, turns, alone, 16, "bf16"),
        "games_32": ours(net, turns, [np.arange(32)], 1, "bf16"),
    }
    report([Case("search", name, rate, plain, "decisions/s") for name, rate in cases.items()])


if __name__ == "__main__":
    main()
