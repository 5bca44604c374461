"""Sampled worlds a second on one core: ``python -m benchmarks.worlds [--full]``.

Decisions all over hands of Hearts. Ours: ``Game.determinize``, which is exactly uniform over the deals that agree with
what the seat has seen, every seat's token histories written. Theirs: OpenSpiel's ``resample_from_infostate`` on the
same positions of its hearts. Repetitions alternate, the median counts. Time is processor time of this process.
"""

import argparse
import random
import time
from statistics import median

import numpy as np

from benchmarks.plain import hearts_turns
from benchmarks.report import Case, report
from benchmarks.uct import GAME, peer
from games.rng import derive_many

OURS, THEIRS = 500, 20
"""Worlds of every decision, at a time."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="more repetitions, for steadier numbers")
    repetitions = 30 if parser.parse_args().full else 7
    turns = hearts_turns(32, seed=1)
    views = np.repeat(GAME.views(turns.tokens, turns.lengths), OURS)
    peers = [peer(world) for world in GAME.determinize(views[::OURS], turns.seeds)[0]]
    our_rates, their_rates = [], []
    for seed in range(repetitions + 1):
        began = time.process_time()
        GAME.determinize(views, derive_many(seed, len(views)))
        our_rates.append(len(views) / (time.process_time() - began))
        draw, began = random.Random(seed).random, time.process_time()
        for state in peers:
            for _ in range(THEIRS):
                state.resample_from_infostate(state.current_player(), draw)
        their_rates.append(THEIRS * len(peers) / (time.process_time() - began))
    report([Case("worlds", "hearts, sampled", median(our_rates[1:]), median(their_rates[1:]), "worlds/s")])


if __name__ == "__main__":
    main()
