"""Random hands of Hearts a second on one core: ``python -m benchmarks.rules [--full]``.

Ours: deal and play out a fresh batch with all four seats' token histories written. Theirs: OpenSpiel's Hearts driven
from Python, in the same process, without any histories. Repetitions alternate, the median counts. Time is processor
time of this process, one thread on either side, so that neighbours on the machine do not count.
"""

import argparse
import time
from statistics import median

import numpy as np
import pyspiel

from benchmarks.report import Case, report
from games.hearts.game import HeartsGame
from games.rng import derive_many

SETTINGS: dict[str, dict[str, bool]] = {"defaults": {}, "no passing": {"pass_cards": False}}


def ours(game: HeartsGame, seed: int, hands: int) -> float:
    """Processor seconds for ``hands`` hands in batches of 4,096."""
    batch = 4096
    started = time.process_time()
    for first in range(0, hands, batch):
        size = min(batch, hands - first)
        states = game.deal(derive_many(seed, size, first))
        game.playout(states, derive_many(seed + 1, size, first))
    return time.process_time() - started


def theirs(game: pyspiel.Game, seed: int, hands: int) -> float:
    """Processor seconds for ``hands`` hands, chance and actions drawn uniformly from the legal ones.

    Chance in Hearts is uniform too, so no probabilities are asked for: as fast as it goes from Python.
    """
    draws = np.random.default_rng(seed).random((hands, 128)).tolist()
    started = time.process_time()
    for row in draws:
        state, i = game.new_initial_state(), 0
        while not state.is_terminal():
            legal = state.legal_actions()
            state.apply_action(legal[int(row[i] * len(legal))])
            i += 1
        state.returns()
    return time.process_time() - started


def measure(name: str, options: dict[str, bool], repetitions: int, our_hands: int, their_hands: int) -> Case:
    """The medians of alternating repetitions, after one of each to warm up."""
    our_game, their_game = HeartsGame(**options), pyspiel.load_game("hearts", options)
    our_seconds, their_seconds = [], []
    for seed in range(repetitions + 1):
        our_seconds.append(ours(our_game, seed, our_hands))
        their_seconds.append(theirs(their_game, seed, their_hands))
    our_rate, their_rate = our_hands / median(our_seconds[1:]), their_hands / median(their_seconds[1:])
    return Case("rules", f"hearts, random hands, {name}", our_rate, their_rate, "hands/s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="ten times as many hands, for steadier numbers")
    scale = 10 if parser.parse_args().full else 1
    report([measure(name, options, 7, 200_000 * scale, 2_000 * scale) for name, options in SETTINGS.items()])


if __name__ == "__main__":
    main()
